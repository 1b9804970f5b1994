// One attention call of a test: its tensors, its run and its judgement by the fp64 reference.
#pragma once

#include "kernels/reference/Attention.h"
#include "tests/attention/Tensor.h"

#include <string>

namespace sectile::test {

/// The session of the test program: on the target under test, other options from the environment.
Session &session();
/// Where the target under test runs launches.
Stream stream();
/// Whether the target is slow, so that tests run a part of their cases.
bool reduced();

/// attentionForward() on the target under test, with arrays that it can read.
void attend(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v, const ArrayView &out,
            const std::optional<ArrayView> &lse, const AttentionOptions &options = {}, const Schedule &schedule = {});

/// Runs a call whose arrays, those among the options too, are in host memory with guard bytes around (Tensor.h): on a
/// device it runs on copies of them. Returns when the results are in the host arrays.
void runAttention(Session &session, const ArrayView &q, const ArrayView &k, const ArrayView &v, const ArrayView &out,
                  const std::optional<ArrayView> &lse, const AttentionOptions &options, const Schedule &schedule = {});

/// The sizes of a call, and how its tensors lie.
struct Shape {
  Type type = Type::f32;
  int64_t batch = 1, seqlenQ = 1, seqlenK = 1, heads = 1, headsKv = 1, headDim = 64, headDimV = 64;
  Layout q = {}, k = {}, v = {}, out = {}, lse = {};
  Type outType = Type::bf16; ///< of f8 inputs; others have their own
};

struct Trial {
  Tensor q, k, v, out, lse;
  AttentionOptions options;
  Schedule schedule;
  reference::ScoreFunctions functions; ///< the twins of the options' functions

  /// Inputs are N(0, deviation^2), results poisoned.
  explicit Trial(const Shape &shape, uint64_t seed = 1, double deviation = 1);

  /// Poisons the results and computes them.
  void run();
  reference::Verdict judge() const;
  /// run(), then checks the results against the reference, and the guard bytes.
  void check();
  /// That tiles come by TMA: a kernel for arrays that are not aligned, say, takes the general path.
  void checkMaps() const;

  double outAt(int64_t batch, int64_t query, int64_t head, int64_t column) const;
  double lseAt(int64_t batch, int64_t head, int64_t query) const;
};

std::string describe(const Shape &shape, const AttentionOptions &options, const Schedule &schedule);

} // namespace sectile::test
