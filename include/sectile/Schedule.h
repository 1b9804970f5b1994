// How a kernel is run. A schedule never changes what is computed beyond rounding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sectile {

/// A field left at 0 is chosen by the target; a target refuses fields that it does not have, by name. A kernel reads
/// the tile sizes through `Trace::schedule()`.
struct Schedule {
  int32_t blockM = 0;  ///< rows of a program's tile (query rows in attention)
  int32_t blockN = 0;  ///< columns of one step (keys in attention)
  int32_t warps = 0;   ///< GPU: warps that compute a program together: 1, 2, 4 … 32
  int32_t stages = 0;  ///< GPU: buffers of a loop's loads; 1: a step's load begins when the one before has been used
  int32_t threads = 0; ///< host threads that share the grid; 0: all of the session
  int32_t vectorWidth = 0; ///< 32-bit lanes of a host vector: 4, 8 or 16; 0: the widest of the target

  bool operator==(const Schedule &) const = default;
};

/// "blockM=64,blockN=128": the fields that are set, in the order above; "" when none is.
std::string toString(const Schedule &schedule);

/// Reads what toString() writes. Throws UserError naming the field that is unknown or out of range.
Schedule parseSchedule(std::string_view text);

} // namespace sectile
