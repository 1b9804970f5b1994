// How a kernel is run. A schedule never changes what is computed beyond rounding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sectile {

/// Who copies a kernel's tiles: all warps as they go, or a group of warps that does nothing else (sm_90a: by TMA; the
/// others then multiply by wgmma).
enum class Specialize : int32_t { chosen, none, producer };
/// What runs beside a matrix product that is in flight (with a producer): nothing, or the exponentials of the next
/// step.
enum class Overlap : int32_t { chosen, none, softmax };
/// What exponents are taken relative to (with a producer): the running maximum, or one that may be stale, as long as
/// sums stay small; the maximum is found where they do not.
enum class Softmax : int32_t { chosen, exact, stale };

/// Which thread block runs a program (with a producer): each has its own, or as many as the GPU holds stay, and run one
/// after another, so that the next one's loads begin before this one ends.
enum class Persistent : int32_t { chosen, off, fixed };

/// In which order attention's programs start. `heads`: block after block of one head and then of the next, which read
/// the same keys. Below a diagonal blocks differ in length, and while a long one that started last runs, the rest of a
/// GPU is idle: `longest` is the same but for the last heads, the longest blocks of all of which come first. `paired`:
/// of each head the longest block, the shortest, the second longest and so on; blocks that stay (Persistent) take two
/// at a time, which take as long as any other two.
enum class Order : int32_t { chosen, heads, longest, paired };

/// A field left at 0 is chosen by the target; a target refuses fields that it does not have, by name. A kernel reads
/// the tile sizes through `Trace::schedule()`.
struct Schedule {
  int32_t blockM = 0; ///< rows of a program's tile (query rows in attention)
  int32_t blockN = 0; ///< columns of one step (keys in attention)
  Order order = Order::chosen;
  int32_t warps = 0;  ///< GPU: warps that compute a program together: 1, 2, 4 … 32; a producer's come on top
  int32_t stages = 0; ///< GPU: buffers of a loop's loads; 1: a step's load begins when the one before has been used
  Specialize specialize = Specialize::chosen; ///< sm_90a
  Overlap overlap = Overlap::chosen;          ///< sm_90a
  Softmax softmax = Softmax::chosen;          ///< sm_90a
  Persistent persistent = Persistent::chosen; ///< sm_90a
  int32_t registers = 0;   ///< sm_90a: of each thread that computes, with a producer: 24 to 240 in steps of 8
  int32_t threads = 0;     ///< host threads that share the grid; 0: all of the session
  int32_t vectorWidth = 0; ///< 32-bit lanes of a host vector: 4, 8 or 16; 0: the widest of the target

  bool operator==(const Schedule &) const = default;
};

/// "blockM=64,blockN=128,softmax=stale": the fields that are set, in the order above; "" when none is.
std::string toString(const Schedule &schedule);

/// Reads what toString() writes. Throws UserError naming the field that is unknown or out of range.
Schedule parseSchedule(std::string_view text);

} // namespace sectile
