// From a vector stage to running machine code: stages, overrides and what is refused.
#include "tests/unit/VectorKernel.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>
#include <map>

using namespace sectile;
using namespace sectile::test;
using Catch::Contains;

namespace {

const std::string doubling = elementwise("f32", "f32", 8, "%r = arith.addf %v, %v : !in");

/// Replaces stages by what a test says.
struct Edits : StageSink {
  std::map<std::string, std::string> files;
  std::vector<std::string> seen;
  void produced(const Stage &stage) override { seen.push_back(stage.name); }
  std::optional<std::string> replacement(const std::string &file) override {
    auto found = files.find(file);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  }
};

CompiledText compiled(const std::string &text, StageSink *sink = nullptr) {
  return valueOrThrow(compileVectorStage(text, valueOrThrow(resolveTarget("cpu")), sink));
}

} // namespace

TEST_CASE("stages are recorded in order, the object runs") {
  Edits sink;
  CompiledText result = compiled(doubling, &sink);
  CHECK(sink.seen == std::vector<std::string>{"vector", "llvm", "object"});
  CHECK(result.kernel.entry == "kernel");
  CHECK(result.kernel.resources[0] == std::pair<std::string, int64_t>("scratch_bytes", 0));
  CHECK(result.kernel.resources[1].second > 0);
  std::vector<float> in{1, 2, 3, 4, 5, 6, 7, 8}, out(8);
  ElementwiseKernel(doubling, valueOrThrow(resolveTarget("cpu")))(in.data(), out.data(), 8);
  CHECK(out == std::vector<float>{2, 4, 6, 8, 10, 12, 14, 16});
}

TEST_CASE("compilation is deterministic") {
  CHECK(compiled(doubling).stages.back().text == compiled(doubling).stages.back().text);
}

TEST_CASE("an edited stage is compiled further") {
  const std::string squaring = elementwise("f32", "f32", 8, "%r = arith.mulf %v, %v : !in");
  for (const char *stage : {"vector.mlir", "llvm.mlir", "kernel.o"}) {
    Edits edits;
    for (const Stage &original : compiled(squaring).stages)
      if (original.file == stage)
        edits.files[stage] = original.text;
    CompiledText result = compiled(doubling, &edits);
    auto code = valueOrThrow(HostCode::load(result.stages.back().text, "kernel"));
    std::vector<float> in(8, 3.0f), out(8);
    const int64_t arguments[] = {reinterpret_cast<int64_t>(in.data()),  8, 1,
                                 reinterpret_cast<int64_t>(out.data()), 8, 1};
    code->entry()(arguments, 0, 0, 0, nullptr);
    INFO(stage);
    CHECK(out[0] == 9.0f);
  }
}

TEST_CASE("a malformed edited stage is the user's error, with the parser's message") {
  Edits edits;
  edits.files["vector.mlir"] = "func.func @kernel( {";
  CHECK_THROWS_AS(compiled(doubling, &edits), UserError);
  CHECK_THROWS_WITH(compiled(doubling, &edits), Contains("'vector.mlir' does not parse") && Contains("vector.mlir:1"));
  edits.files = {{"kernel.o", "not an object"}};
  CHECK_THROWS_AS(compiled(doubling, &edits), UserError);
  CHECK_THROWS_WITH(compiled(doubling, &edits), Contains("no valid ELF object"));
}

TEST_CASE("a library call that remains is an internal error that names it") {
  const std::string sine = elementwise("f32", "f32", 8, "%r = math.sin %v : !in");
  CHECK_THROWS_AS(compiled(sine), InternalError);
  CHECK_THROWS_WITH(compiled(sine), Contains("'sinf'"));
}

TEST_CASE("loading checks the entry") {
  std::string object = compiled(doubling).stages.back().text;
  CHECK_THROWS_WITH(valueOrThrow(HostCode::load(object, "other")), Contains("'other'") && Contains("does not define"));
  CHECK_THROWS_AS(valueOrThrow(HostCode::load("junk", "kernel")), InternalError);
}

TEST_CASE("instances are independent, and freed") {
  std::string object = compiled(doubling).stages.back().text;
  auto first = valueOrThrow(HostCode::load(object, "kernel"));
  auto second = valueOrThrow(HostCode::load(object, "kernel"));
  CHECK(first->entry() != second->entry());
  first.reset();
  std::vector<float> in(8, 1.0f), out(8);
  const int64_t arguments[] = {reinterpret_cast<int64_t>(in.data()), 8, 1, reinterpret_cast<int64_t>(out.data()), 8, 1};
  second->entry()(arguments, 0, 0, 0, nullptr);
  CHECK(out[7] == 2.0f);
  for (int i = 0; i < 2000; ++i)
    valueOrThrow(HostCode::load(object, "kernel"));
}

TEST_CASE("time to compile and to load", "[.benchmark]") {
  auto milliseconds = [](auto &&body) {
    auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  };
  std::string object = compiled(doubling).stages.back().text;
  std::printf("compile %.2f ms, load %.3f ms\n", milliseconds([&] { compiled(doubling); }),
              milliseconds([&] { valueOrThrow(HostCode::load(object, "kernel")); }));
}
