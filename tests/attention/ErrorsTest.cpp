// Bad calls are refused before anything is written, and the message says what, why and what would be legal.
#include "sectile/Error.h"
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>

using namespace sectile;
using namespace sectile::test;

namespace {

/// A call whose views a test may spoil.
struct Call {
  Trial trial{{.batch = 2, .seqlenQ = 6, .seqlenK = 10, .heads = 4, .headsKv = 2, .headDim = 16, .headDimV = 8}};
  Tensor slopes{Type::f32, {2, 4}}, bias{Type::f32, {2, 4, 6, 10}}, sink{Type::f32, {4}}, lengths{Type::i32, {2}};
  ArrayView q = trial.q, k = trial.k, v = trial.v, out = trial.out;
  std::optional<ArrayView> lse = trial.lse.view();
  AttentionOptions options;
  Schedule schedule;

  Call() {
    slopes.fill(0);
    bias.fill(0);
    sink.fill(0);
    lengths.fill(10);
    options.alibiSlopes = slopes;
    options.bias = bias;
    options.sink = sink;
    options.keyLengths = lengths;
  }
  /// With the arrays as they are: a bad one must be refused before anyone looks at its memory.
  void run() { attend(session(), q, k, v, out, lse, options, schedule); }
};

void makeF8(Call &c) { c.q.type = c.k.type = c.v.type = Type::f8e5m2; }

struct Mistake {
  void (*make)(Call &);
  const char *message;
};

constexpr float notANumber = std::numeric_limits<float>::quiet_NaN();

const Mistake mistakes[] = {
    // shapes
    {[](Call &c) { c.q.rank = 3; }, "q has rank 3: it must have rank 4, (batch, seqlenQ, headsQ, headDim)"},
    {[](Call &c) { c.out.rank = 2; }, "out has rank 2"},
    {[](Call &c) { c.k.sizes[0] = 3; }, "k's batch (dimension 0) is 3: it must be 2, as in q"},
    {[](Call &c) { c.v.sizes[0] = 1; }, "v's batch (dimension 0) is 1: it must be 2, as in q"},
    {[](Call &c) { c.v.sizes[1] = 9; }, "v's seqlenK (dimension 1) is 9: it must be 10, as in k"},
    {[](Call &c) { c.out.sizes[1] = 7; }, "out's seqlenQ (dimension 1) is 7: it must be 6, as in q"},
    {[](Call &c) { c.v.sizes[2] = 1; }, "v's headsKv (dimension 2) is 1: it must be 2, as in k"},
    {[](Call &c) { c.out.sizes[2] = 2; }, "out's headsQ (dimension 2) is 2: it must be 4, as in q"},
    {[](Call &c) { c.k.sizes[3] = 8; }, "k's headDim (dimension 3) is 8: it must be 16, as in q"},
    {[](Call &c) { c.out.sizes[3] = 16; }, "out's headDimV (dimension 3) is 16: it must be 8, as in v"},
    {[](Call &c) { c.k.sizes[2] = c.v.sizes[2] = 3; },
     "Number of heads in key/value must divide number of heads in query: k has 3, q has 4"},
    {[](Call &c) { c.k.sizes[2] = c.v.sizes[2] = 0; }, "k has 0, q has 4"},
    {[](Call &c) { c.q.sizes[3] = c.k.sizes[3] = 577; }, "q's headDim (dimension 3) is 577: legal are 1 to 576"},
    {[](Call &c) { c.v.sizes[3] = c.out.sizes[3] = 0; }, "v's headDimV (dimension 3) is 0: legal are 1 to 576"},
    {[](Call &c) { c.q.sizes[1] = -1; }, "q's seqlenQ (dimension 1) is -1: legal are 0 to"},
    {[](Call &c) { c.k.sizes[1] = int64_t{1} << 31; }, "k's seqlenK (dimension 1) is 2147483648"},
    {[](Call &c) { c.k.sizes[1] = c.v.sizes[1] = ArrayView::maxSize; }, "seqlenQ + seqlenK is"},
    {[](Call &c) { c.q.strides[1] = int64_t{1} << 62; }, "q's seqlenQ (dimension 1) has stride 4611686018427387904"},
    {[](Call &c) { c.lse->rank = 2; }, "lse has rank 2: it must have rank 3, (batch, headsQ, seqlenQ)"},
    {[](Call &c) { std::swap(c.lse->sizes[1], c.lse->sizes[2]); }, "lse's headsQ (dimension 1) is 6"},
    // types
    {[](Call &c) { c.q.type = Type::i32; }, "q has type i32: legal are f32, f16, bf16, f8e4m3 and f8e5m2"},
    {[](Call &c) { c.q.type = c.k.type = c.v.type = c.out.type = Type::f8e4m3; },
     "out has type f8e4m3: legal for q of type f8e4m3 are f32, f16 and bf16"},
    {[](Call &c) { c.q.type = Type::f8e4m3; }, "query and key must have the same dtype: q is f8e4m3, k is f32"},
    {[](Call &c) { c.k.type = Type::f16; }, "query and key must have the same dtype: q is f32, k is f16"},
    {[](Call &c) { c.v.type = Type::bf16; }, "query and value must have the same dtype: q is f32, v is bf16"},
    {[](Call &c) { c.out.type = Type::bf16; }, "out has type bf16: it must be f32, as q"},
    {[](Call &c) { c.lse->type = Type::f16; }, "lse has type f16: it must be f32"},
    // memory
    {[](Call &c) { c.v.data = nullptr; }, "v's data pointer is null"},
    {[](Call &c) { c.out.data = nullptr; }, "out's data pointer is null"},
    {[](Call &c) { c.k.data = static_cast<char *>(c.k.data) + 2; }, "is not a multiple of 4"},
    {[](Call &c) { c.out.strides[0] = 0; }, "out's batch (dimension 0) has stride 0, so that elements overlap"},
    {[](Call &c) { c.out.strides[1] -= 1; }, "out's seqlenQ (dimension 1) has stride 31"},
    {[](Call &c) { c.lse->strides[1] = 1; }, "lse's"},
    {[](Call &c) { c.out.data = c.q.data; }, "out begins at the same address as q"},
    {[](Call &c) { c.lse->data = c.out.data; }, "lse begins at the same address as out"},
    // numbers
    {[](Call &c) { c.options.scale = notANumber; }, "scale is nan: it must be a finite number"},
    {[](Call &c) { c.options.softcap = -1; }, "softcap is -1: legal are finite numbers above 0, and 0 for none"},
    {[](Call &c) { c.options.softcap = notANumber; }, "softcap is nan"},
    {[](Call &c) { c.options.dropout = 1; }, "dropout is 1: it is a probability p with 0 <= p < 1"},
    {[](Call &c) { c.options.dropout = -0.1f; }, "dropout is -0.1"},
    {[](Call &c) { c.options.dropout = notANumber; }, "dropout is nan"},
    {[](Call &c) { c.options.windowLeft = -2; }, "windowLeft is -2: legal are 0 and more, and -1 for unbounded"},
    {[](Call &c) { c.options.windowRight = -3; }, "windowRight is -3"},
    {[](Call &c) { c.options.causal = true, c.options.windowRight = 5; }, "windowRight is 5 with causal set"},
    {[](Call &c) { c.options.scalars = {1, 2}; }, "scalars has 2 numbers that nothing reads"},
    {[](Call &c) { c.options.scalars.resize(9); }, "scalars has 9 numbers: legal are up to 8"},
    {[](Call &c) { c.options.maskPredicate = [](const ScorePosition &at) { return at.scalar(0) > 0; }; },
     "reads scalar 0: AttentionOptions::scalars has 0"},
    {[](Call &c) {
       c.options.scalars = {1, 2};
       c.options.maskPredicate = [](const ScorePosition &at) { return at.scalar(2) > 0; };
     },
     "reads scalar 2: AttentionOptions::scalars has 2; legal are 0 to 1"},
    {[](Call &c) { c.schedule.blockM = -16; }, "blockM"},
    // arrays among the options
    {[](Call &c) { c.options.alibiSlopes->rank = 3; }, "alibiSlopes has rank 3"},
    {[](Call &c) { c.options.alibiSlopes->sizes[1] = 2; }, "alibiSlopes's headsQ (dimension 1) is 2: it must be 4"},
    {[](Call &c) { c.options.alibiSlopes->type = Type::f16; }, "alibiSlopes has type f16: it must be f32"},
    {[](Call &c) { c.options.bias->sizes[0] = 1; }, "to broadcast give it that size and stride 0"},
    {[](Call &c) { c.options.bias->type = Type::f16; }, "bias has type f16: it must be f32, as out, or f32"},
    {[](Call &c) { c.options.bias->data = nullptr; }, "bias's data pointer is null"},
    {[](Call &c) { c.options.sink->sizes[0] = 2; }, "sink's headsQ (dimension 0) is 2: it must be 4, as in q"},
    {[](Call &c) { c.options.keyScale = c.options.sink; },
     "keyScale is given for q of type f32: it is for f8e4m3 and f8e5m2"},
    {[](Call &c) { makeF8(c), c.options.valueScale = c.options.sink; },
     "valueScale has rank 1 and 4 elements: legal are 1, or rank 2, (batch, headsKv)"},
    {[](Call &c) { makeF8(c), c.options.queryScale = c.options.alibiSlopes; },
     "queryScale's headsKv (dimension 1) is 4: it must be 2, as in k"},
    {[](Call &c) { c.options.keyLengths->type = Type::f32; }, "keyLengths has type f32: it must be i32"},
    {[](Call &c) { c.options.keyLengths->sizes[0] = 3; }, "keyLengths's batch (dimension 0) is 3: it must be 2"},
};

} // namespace

TEST_CASE("every mistake is named") {
  for (const Mistake &mistake : mistakes) {
    INFO("expected: " << mistake.message);
    Call call;
    mistake.make(call);
    try {
      call.run();
      FAIL_CHECK("no error");
    } catch (const UserError &error) {
      CHECK_THAT(error.what(), Catch::StartsWith("attention: ") && Catch::Contains(mistake.message));
    }
    const auto isPoison = [](std::byte byte) { return byte == std::byte{0xff}; };
    CHECK(std::ranges::all_of(call.trial.out.bytes(), isPoison));
    CHECK(std::ranges::all_of(call.trial.lse.bytes(), isPoison));
  }
  Call good;
  CHECK_NOTHROW(runAttention(session(), good.q, good.k, good.v, good.out, good.lse, good.options, good.schedule));
}
