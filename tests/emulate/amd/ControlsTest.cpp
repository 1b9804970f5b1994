// Negative controls: kernels of ours with a fault planted in one of their stages, which the emulator or the numbers
// must tell. The same kernel without it passes.
#include "compiler/Compiler.h"
#include "compiler/dsl/TracedKernel.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/support/StageSink.h"
#include "kernels/reference/Numbers.h"
#include "runtime/EmulatedKernel.h"
#include "sectile/Tile.h"
#include "sectile/Trace.h"
#include "tests/support/Arguments.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <map>

using namespace sectile;
using Catch::Matchers::Contains;

namespace {

constexpr int64_t rows = 64, columns = 64, depth = 96;

/// c = a b, through shared memory.
TracedKernel product(const Schedule &schedule) {
  const auto body = [](Trace &t) {
    const tile::View a = t.input("a", Type::f16, 2), b = t.input("b", Type::f16, 2), c = t.output("c", Type::f32, 2);
    tile::Var sum = t.full(0, {64, 64});
    for (const tile::Tile p : t.range(0, a.dim(1), 32))
      sum = tile::dot(a.load({0, p}, {64, 32}), b.load({p, 0}, {32, 64}), sum);
    c.store({0, 0}, sum);
  };
  const ArgumentFacts facts{.unitStride = true, .aligned16 = true};
  return trace("product", body, schedule, {facts, facts, facts});
}

/// Keeps stages, and puts edited ones in their places.
class Editor final : public StageSink {
public:
  std::map<std::string, std::string> seen, edits; ///< by file
  void produced(const Stage &stage) override { seen[stage.file] = stage.text; }
  std::optional<std::string> replacement(const std::string &file) override {
    const auto edit = edits.find(file);
    return edit == edits.end() ? std::nullopt : std::optional(edit->second);
  }
};

/// What running the kernel finds, with one stage edited: the emulator's error, else the largest relative error.
struct Finding {
  std::string error;
  double worst = 0;
};

Finding run(const std::string &processor, const std::string &file, const std::function<void(std::string &)> &edit) {
  const Target target = valueOrThrow(resolveTarget("amdgcn:" + processor));
  const Schedule schedule = valueOrThrow(completeSchedule({.warps = 4}, target));
  const TracedKernel traced = product(schedule);
  Editor editor;
  Artifact artifact = valueOrThrow(compile(traced, target, schedule, &editor));
  if (edit) {
    std::string text = editor.seen.at(file);
    edit(text);
    REQUIRE(text != editor.seen.at(file));
    editor.edits[file] = text;
    artifact = valueOrThrow(compile(traced, target, schedule, &editor));
  }
  std::vector<uint16_t> a(rows * depth), b(depth * columns);
  std::vector<float> c(rows * columns, NAN);
  // 1 to 2.x in f16, different for every place.
  for (size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<uint16_t>(0x3c00 + i * 7 % 1024);
  for (size_t i = 0; i < b.size(); ++i)
    b[i] = static_cast<uint16_t>(0x3c00 + i * 13 % 1024);
  const ArrayView x(a.data(), Type::f16, {rows, depth}), y(b.data(), Type::f16, {depth, columns}),
      z(c.data(), Type::f32, {rows, columns});
  const std::vector<Argument> arguments{x, y, z};
  const auto kernel = valueOrThrow(EmulatedKernel::load(artifact));
  llvm::Expected<emulate::Counters> counters = kernel->run(test::packArguments(arguments).data(), {1, 1, 1}, 1);
  if (!counters)
    return {llvm::toString(counters.takeError()), 0};
  Finding finding;
  const auto value = [](uint16_t bits) { return 1 + (bits - 0x3c00) / 1024.0; };
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < depth; ++p)
        sum += value(a[i * depth + p]) * value(b[p * columns + j]);
      const double error = std::fabs(c[i * columns + j] - sum) / sum;
      finding.worst = std::max(finding.worst, std::isnan(error) ? INFINITY : error);
    }
  return finding;
}

/// Removes line `which` of those that contain `text`.
void removeLine(std::string &text, llvm::StringRef wanted, size_t which) {
  size_t at = 0;
  for (size_t found = 0;; ++found) {
    at = text.find(wanted.str(), at);
    REQUIRE(at != std::string::npos);
    if (found == which)
      break;
    ++at;
  }
  const size_t begin = text.rfind('\n', at) + 1, end = text.find('\n', at);
  text.erase(begin, end + 1 - begin);
}

} // namespace

TEST_CASE("the kernel as it is", "[controls]") {
  for (const char *processor : {"gfx942", "gfx1100"}) {
    const Finding finding = run(processor, "", nullptr);
    CHECK(finding.error == "");
    CHECK(finding.worst < 1e-5);
  }
}

TEST_CASE("a barrier that is missing is a race, named with both instructions", "[controls]") {
  for (const char *processor : {"gfx942", "gfx1100"})
    for (const size_t which : {0, 1}) {
      INFO(processor << ", barrier " << which);
      const Finding finding =
          run(processor, "block.mlir", [&](std::string &text) { removeLine(text, "block.barrier", which); });
      CHECK_THAT(finding.error, Contains("a race in LDS at byte"));
      CHECK(llvm::StringRef(finding.error).count(" at +0x") == 2);
    }
}

TEST_CASE("operands in each other's places give wrong numbers", "[controls]") {
  const Finding finding = run("gfx942", "kernel.s", [](std::string &text) {
    // v_mfma_f32_32x32x8_f16 D, A, B, C
    const size_t at = text.find("v_mfma_f32_32x32x8_f16");
    REQUIRE(at != std::string::npos);
    const size_t first = text.find(", ", at) + 2, second = text.find(", ", first) + 2, third = text.find(", ", second);
    const std::string a = text.substr(first, second - 2 - first), b = text.substr(second, third - second);
    text.replace(first, third - first, b + ", " + a);
  });
  CHECK(finding.error == "");
  CHECK(finding.worst > 1e-3);
}

TEST_CASE("a store outside of the array is reported with its address and instruction", "[controls]") {
  const Finding finding = run("gfx942", "kernel.s", [](std::string &text) {
    // All of them: those of the last rows leave the array.
    for (size_t at = 0; (at = text.find("global_store_dword", at)) != std::string::npos;) {
      const size_t place = text.find(", off", at) + 5, end = text.find('\n', at);
      text.replace(place, end - place, " offset:4080");
      at = place;
    }
  });
  CHECK_THAT(finding.error, Contains("global_store_dword") && Contains("behind 'c'"));
}

TEST_CASE("a wait that is missing is reported with the load", "[controls]") {
  const Finding finding = run("gfx942", "kernel.s", [](std::string &text) {
    // All waits for LDS: some of them is needed.
    for (size_t at; (at = text.find("lgkmcnt(0)")) != std::string::npos;)
      text.replace(at, 10, "lgkmcnt(9)");
  });
  CHECK_THAT(finding.error, Contains("before the wait"));
}
