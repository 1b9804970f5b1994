// The forward kernel before and after the passes that take the maximum out of its loop, by the interpreter: for all
// options, and for scores that the passes could get wrong.
#include "compiler/dsl/TracedKernel.h"
#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/support/Float.h"
#include "compiler/transforms/Passes.h"
#include "kernels/attention/Forward.h"
#include "tests/attention/Tensor.h"
#include "tests/support/Arguments.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Form {
  bool deferred, peeled, stale;
};
constexpr Form exact{false, false, false};

/// A forward call, which the interpreter runs in several forms.
class Call {
public:
  Call(Type type, int64_t rows, int64_t keys, const Schedule &schedule, int64_t headDim = 16)
      : type(type), q(type, {1, rows, 1, headDim}), k(type, {1, keys, 1, headDim}), v(type, {1, keys, 1, 16}),
        out(isStorageOnly(type) ? Type::bf16 : type, {1, rows, 1, 16}), lse(Type::f32, {1, 1, rows}),
        schedule(schedule) {
    options.scale = 1;
  }

  /// The results: out, then lse. `remarks` counts what a pass refused.
  std::vector<double> run(Form form) {
    out.poison();
    lse.poison();
    const attention::ForwardArrays arrays{q, k, v, out, &lse.view()};
    const attention::ForwardProblem problem = attention::checkForward(arrays, options, attention::Use::run);
    const attention::ForwardCall call(problem, arrays, options, schedule);
    const TracedKernel kernel =
        trace("attention_forward", [&](Trace &t) { attention::forward(t, call.config); }, schedule, {});
    mlir::PassManager passes(&kernel.context());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(createFuseAccumulator());
    if (form.deferred)
      passes.addPass(createDeferSums());
    if (form.peeled)
      passes.addPass(createPeelFirst());
    if (form.stale)
      passes.addPass(createStaleMaximum());
    passes.addPass(createGuardMasks());
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    remarks.clear();
    const mlir::ScopedDiagnosticHandler handler(&kernel.context(), [&](mlir::Diagnostic &diagnostic) {
      remarks += diagnostic.str() + "\n";
      return mlir::success();
    });
    if (failed(passes.run(kernel.module())))
      throw std::runtime_error(remarks);
    isStale = kernel.text(false).find("tile.any") != std::string::npos;
    const std::vector<int64_t> words = packArguments(call.arguments());
    for (int32_t z = 0; z < call.grid.z; ++z)
      for (int32_t y = 0; y < call.grid.y; ++y)
        for (int32_t x = 0; x < call.grid.x; ++x)
          if (llvm::Error error = interpret(kernel, words.data(), x, y, z))
            throwError(std::move(error));
    std::vector<double> results;
    for (const Tensor *tensor : {&out, &lse}) {
      const std::vector<std::byte> bytes = tensor->bytes();
      const Type element = tensor->view().type;
      for (size_t i = 0; i < bytes.size(); i += typeBytes(element))
        results.push_back(numberAt(element, bytes.data() + i));
    }
    return results;
  }

  /// Compares a form with the exact one.
  void check(Form form) {
    const std::vector<double> expected = run(exact), actual = run(form);
    CHECK(isStale == form.stale);
    CHECK(remarks.empty());
    const Type outType = out.view().type;
    const double precision = outType == Type::f32 ? 0x1p-19 : outType == Type::f16 ? 0x1p-8 : 0x1p-6;
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) ? std::isnan(actual[i]) : expected[i] == actual[i])
        continue;
      if (std::abs(expected[i] - actual[i]) <= precision * std::max(1.0, std::abs(expected[i])))
        continue;
      if (wrong++ == 0)
        UNSCOPED_INFO("element " << i << " of " << expected.size() << ": " << actual[i] << ", exactly " << expected[i]);
    }
    CHECK(wrong == 0);
  }

  static double numberAt(Type element, const std::byte *bytes) {
    if (element == Type::f32) {
      float number;
      std::memcpy(&number, bytes, 4);
      return number;
    }
    uint16_t bits;
    std::memcpy(&bits, bytes, 2);
    return element == Type::f16 ? decode<f16>(bits) : decode<bf16>(bits);
  }

  Type type;
  Tensor q, k, v, out, lse;
  AttentionOptions options;
  Schedule schedule;
  std::string remarks;
  bool isStale = false;
};

Schedule blocks(int32_t m, int32_t n) {
  Schedule schedule;
  schedule.blockM = m;
  schedule.blockN = n;
  return schedule;
}

constexpr Form allForms[] = {{true, false, false}, {false, true, false}, {false, false, true},
                             {true, false, true},  {false, true, true},  {true, true, true}};

/// Scores are what `score(row, key)` says, times log2 e in the kernel: queries are (1, row's index …) in an orthogonal
/// basis only when there are few rows, so rows share a score of the key plus their own factor.
void setScores(Call &call, const std::function<double(int64_t)> &key, const std::function<double(int64_t)> &row) {
  int64_t i = 0;
  call.q.generate([&] {
    const int64_t at = i++;
    return at % 16 == 0 ? row(at / 16) : 0.0;
  });
  i = 0;
  call.k.generate([&] {
    const int64_t at = i++;
    return at % 16 == 0 ? key(at / 16) : 0.0;
  });
}

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("every option of attention runs with a stale maximum") {
  Random random(3);
  const Type type = GENERATE(Type::f32, Type::f16, Type::bf16, Type::f8e4m3);
  struct Option {
    const char *name;
    void (*turnOn)(AttentionOptions &);
  };
  static constexpr Option switches[] = {
      {"plain", [](AttentionOptions &) {}},
      {"causal", [](AttentionOptions &o) { o.causal = true; }},
      {"window", [](AttentionOptions &o) { o.windowLeft = 7, o.windowRight = 3; }},
      {"softcap", [](AttentionOptions &o) { o.softcap = 3; }},
      {"negative scale", [](AttentionOptions &o) { o.scale = -0.3f; }},
      {"dropout", [](AttentionOptions &o) { o.dropout = 0.3f; }},
      {"modifier",
       [](AttentionOptions &o) {
         o.scoreModifier = [](const tile::Tile &s, const ScorePosition &at) {
           return select((at.key & 1) == 0, s, s * 0.5f);
         };
       }},
      {"predicate",
       [](AttentionOptions &o) { o.maskPredicate = [](const ScorePosition &at) { return (at.key & 3) != 1; }; }},
  };
  for (const Option &option : switches)
    for (const bool more : {false, true}) { // tensors among the options, too
      Call call(type, 37, 75, blocks(32, 16));
      Tensor bias(Type::f32, {1, 1, 37, 75}), slopes(Type::f32, {1}), sink(Type::f32, {1}), lengths(Type::i32, {1}),
          scale(Type::f32, {1});
      for (Tensor *tensor : {&call.q, &call.k, &call.v, &bias})
        tensor->randomize(random);
      option.turnOn(call.options);
      if (more) {
        slopes.fill(0.25);
        sink.fill(1.5);
        lengths.fill(61);
        scale.fill(0.5);
        call.options.bias = bias;
        call.options.alibiSlopes = slopes;
        call.options.sink = sink;
        call.options.keyLengths = lengths;
        if (isStorageOnly(type))
          call.options.queryScale = call.options.valueScale = scale;
      }
      INFO(typeName(type) << ", " << option.name << (more ? ", bias, slopes, sink, lengths" : ""));
      for (const Form form : allForms) {
        INFO("deferred " << form.deferred << ", peeled " << form.peeled << ", stale " << form.stale);
        call.check(form);
      }
    }
}

TEST_CASE("scores that grow, jump, are masked, infinite or NaN") {
  Random random(5);
  const Type type = GENERATE(Type::f32, Type::f16, Type::bf16);
  struct Scores {
    const char *name;
    double (*key)(int64_t);
    double (*row)(int64_t);
  };
  const auto one = [](int64_t) { return 1.0; };
  const auto some = [](int64_t row) { return (row % 5 - 2) * 0.5; }; // falling for some rows, rising for others
  const Scores all[] = {
      {"a ramp of 0.5 a block", [](int64_t key) { return std::floor(key / 16.0) * 0.5; }, one},
      {"a ramp of 4 a block", [](int64_t key) { return std::floor(key / 16.0) * 4; }, one},
      {"a ramp of 6.9 a block, up to the limit", [](int64_t key) { return std::floor(key / 16.0) * 6.9; }, one},
      {"a ramp of 60 a block", [](int64_t key) { return std::floor(key / 16.0) * 60; }, one},
      {"ramps up and down", [](int64_t key) { return key * 0.75; }, some},
      {"steep ramps up and down", [](int64_t key) { return key * 12.0; }, some},
      {"a jump by more than 2^128", [](int64_t key) { return key < 50 ? -100.0 : 200.0; }, one},
      {"a jump down by more than 2^128", [](int64_t key) { return key < 20 ? 200.0 : -100.0; }, one},
      {"a jump for one key", [](int64_t key) { return key == 53 ? 1000.0 : 0.0; }, some},
      {"far below 0", [](int64_t key) { return -2000.0 + (key % 7) * 0.3; }, one},
      {"plus infinity", [](int64_t key) { return key == 40 ? infinity : 0.0; }, one},
      {"plus infinity at first", [](int64_t key) { return key == 0 ? infinity : 0.5; }, one},
      {"minus infinity for ever", [](int64_t) { return -infinity; }, one},
      {"minus infinity at first", [](int64_t key) { return key < 33 ? -infinity : 0.25 * (key % 5); }, one},
      {"both infinities", [](int64_t key) { return key % 20 == 3 ? infinity : 0.0; }, some},
      {"a key that is NaN", [](int64_t key) { return key == 60 ? std::nan("") : 1.0; }, one},
      {"rows that are NaN", [](int64_t key) { return key * 0.1; },
       [](int64_t row) { return row % 9 == 4 ? std::nan("") : 1.0; }},
  };
  for (const Scores &scores : all)
    for (const bool causal : {false, true}) {
      Call call(type, 40, 90, blocks(32, 16));
      call.options.causal = causal;
      call.v.randomize(random);
      setScores(call, scores.key, scores.row);
      INFO(typeName(type) << ", " << scores.name << (causal ? ", causal" : ""));
      call.check({true, true, true});
      call.check({false, false, true});
    }
}

TEST_CASE("rows that see no key in the first blocks, or never") {
  Random random(7);
  for (const Type type : {Type::f32, Type::f16}) {
    Call call(type, 64, 64, blocks(32, 16));
    call.q.randomize(random);
    call.k.randomize(random);
    call.v.randomize(random);
    SECTION("a window that leaves the first blocks out") {
      call.options.windowLeft = 3;
      call.options.windowRight = 0;
    }
    SECTION("a predicate that leaves out even rows, and the first 40 keys for the others") {
      call.options.maskPredicate = [](const ScorePosition &at) { return ((at.query & 1) == 1) & (at.key >= 40); };
    }
    SECTION("more queries than keys") {
      Call wide(type, 100, 30, blocks(32, 16));
      wide.options.causal = true;
      for (Tensor *tensor : {&wide.q, &wide.k, &wide.v})
        tensor->randomize(random);
      wide.check({true, true, true});
    }
    call.check({true, true, true});
    call.check({false, false, true});
  }
}

TEST_CASE("random sizes and scores of any magnitude") {
  Random random(11);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 60; ++i) {
    const Type type = std::array{Type::f32, Type::f16, Type::bf16}[between(0, 2)];
    const auto m = static_cast<int32_t>(16 << between(0, 2)), n = static_cast<int32_t>(16 << between(0, 2));
    Call call(type, between(1, 70), between(0, 150), blocks(m, n));
    call.q.randomize(random, std::exp2(static_cast<double>(between(-3, 4))));
    call.k.randomize(random, std::exp2(static_cast<double>(between(-3, 3))));
    call.v.randomize(random);
    call.options.causal = between(0, 1) == 1;
    INFO(i << ": " << typeName(type) << ", blocks of " << m << " x " << n);
    call.check(allForms[between(0, 5)]);
  }
}
