// The fields of a schedule, by name: one table, from which their text and their checks follow.
#pragma once

#include "sectile/Schedule.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstddef>
#include <optional>

namespace sectile {

struct ScheduleField {
  llvm::StringLiteral name;
  size_t offset; ///< in Schedule, of an int32_t or an enum over it
  int32_t most;
  llvm::StringLiteral values; ///< of an enum, from 1 on: "none, producer"; else empty

  int32_t of(const Schedule &schedule) const;
  void set(Schedule &schedule, int32_t value) const;
  /// "stale" or "64".
  std::string text(int32_t value) const;
  /// The inverse; nothing for what is not legal. 0 is, as the target's choice.
  std::optional<int32_t> parse(llvm::StringRef text) const;
  /// "exact or stale" or "1 to 8".
  std::string legal() const;
};

/// In the order of Schedule.
llvm::ArrayRef<ScheduleField> scheduleFields();

} // namespace sectile
