// What a kernel is compiled for: a plain description with the limits that passes and schedules read.
#pragma once

#include "sectile/Schedule.h"

#include "llvm/Support/Error.h"

#include <string>

namespace sectile {

struct Target {
  enum class Kind { cpu, interpret } kind = Kind::cpu;
  /// cpu: an LLVM processor name and its feature string ("+avx2,+fma,…", sorted, complete).
  std::string processor, features;
  int vectorBits = 0;      ///< width of a vector register
  int vectorRegisters = 0; ///< how many there are
  bool hasFma = false, hasF16c = false, hasAvx512Bf16 = false, hasAmxBf16 = false;
  int64_t l1Bytes = 0, l2Bytes = 0; ///< data caches of a core

  /// "cpu:znver4:+avx512f,…" or "interpret": goes into cache keys.
  std::string key() const;
  /// "cpu:znver4" or "interpret": for people.
  std::string name() const;
};

/// From "cpu", "cpu:<processor>" (any x86-64 with at least AVX2 and FMA), "interpret", or "" (cpu). A user error names
/// what is unknown and what exists.
llvm::Expected<Target> resolveTarget(llvm::StringRef name);

/// Fills the fields of a schedule that are 0, and refuses what the target cannot do, by field.
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);

} // namespace sectile
