// The attention forward kernel: one source for every target.
#pragma once

#include "kernels/attention/Mask.h"
#include "kernels/attention/Problem.h"

#include <array>
#include <span>
#include <string_view>
#include <type_traits>

namespace sectile::attention {

/// What the kernel is specialized for: an option that is off leaves no trace in it. Everything else is read at run
/// time.
struct ForwardConfig {
  ScoreModifier scoreModifier;
  MaskPredicate maskPredicate;
  int64_t scalars;           ///< how many numbers those two read
  int32_t headDim, headDimV; ///< rounded up to `headDimStep`; what lies past the real ones reads as zero
  Type type;                 ///< of q, k and v
  Type outType, biasType;
  bool queryScale, keyScale, valueScale;
  bool bias, alibi, sink, softcap, dropout, lse;
  bool keyLengths;
  bool left, right; ///< bounds of the band (Mask.h)
  bool keyTail;     ///< the last block of keys reaches past seqlenK
  bool positiveScale;
  bool longestFirst;          ///< of the last heads; the grid has one dimension
  bool paired;                ///< the longest block, the shortest, the second longest …
  std::array<bool, 5> unused; ///< for a size without padding

  static constexpr int64_t headDimStep = 16;

  /// Of weights and values when they are multiplied. With f8 values it is f16, which holds them exactly: weights in f8
  /// would have about three times the error of a computation in bf16, and two are allowed.
  Type weightType() const { return isStorageOnly(type) ? Type::f16 : type; }
};
static_assert(std::has_unique_object_representations_v<ForwardConfig>, "padding would make keys differ at random");

/// out = softmax(mask(modify(scale q k^T))) v, one program per (block of query rows, head, batch), in the grid that
/// ForwardCall says.
void forward(Trace &t, const ForwardConfig &c);

inline constexpr Kernel<ForwardConfig> forwardKernel{"attention_forward", forward};

/// Everything that Session::launch() needs. Made anew for each call: no allocation.
struct ForwardCall {
  ForwardConfig config{};
  Grid grid;
  Schedule schedule;
  std::span<const Argument> arguments() const { return {storage.data(), count}; }

  ForwardCall(const ForwardProblem &problem, const ForwardArrays &arrays, const AttentionOptions &options,
              const Schedule &schedule);

private:
  template <class Value> void bind(const Value &value) { storage[count++].emplace<Value>(value); }
  std::array<Argument, 23 + AttentionOptions::maxScalars> storage; // as many as forward() declares at most
  size_t count = 0;
};

/// The fields of `asked` that are 0, from the table of known good tile sizes, for a grid shared by `threads`.
Schedule completeForwardSchedule(const Schedule &asked, const ForwardProblem &problem, const Band &band,
                                 std::string_view target, int threads);

} // namespace sectile::attention
