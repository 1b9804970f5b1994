// compile() and contentKey(): stages from a tile kernel to an object, edited tile stages, what keys depend on.
#include "compiler/Compiler.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/host/HostCode.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <cctype>
#include <cstdlib>

using namespace sectile;
using Catch::Contains;

namespace {

void addOne(Trace &t) {
  tile::View x = t.input("x", Type::f32, 1), y = t.output("y", Type::f32, 1);
  tile::Tile start = t.program(0) * 64;
  y.store({start}, x.load({start}, {64}) + 1.0);
}

void addTwo(Trace &t) {
  tile::View x = t.input("x", Type::f32, 1), y = t.output("y", Type::f32, 1);
  tile::Tile start = t.program(0) * 64;
  y.store({start}, x.load({start}, {64}) + 2.0);
}

void oneMoreArgument(Trace &t) {
  t.input("z", Type::f32, 1);
  addOne(t);
}

Target target(const char *name) { return valueOrThrow(resolveTarget(name)); }

TracedKernel traced(void (*body)(Trace &), const char *name = "add") {
  return trace(name, body, valueOrThrow(completeSchedule({}, target("cpu"))), {{true}, {true}});
}

Artifact compiled(const TracedKernel &kernel, const Target &target, StageSink *sink = nullptr) {
  return valueOrThrow(compile(kernel, target, valueOrThrow(completeSchedule({}, target)), sink));
}

struct EditedTile : StageSink {
  std::string text;
  explicit EditedTile(std::string text) : text(std::move(text)) {}
  void produced(const Stage &) override {}
  std::optional<std::string> replacement(const std::string &file) override {
    return file == "tile.mlir" ? std::optional(text) : std::nullopt;
  }
};

/// The artifact's value for x = 0, 1, … at `index`.
float run(const Artifact &artifact, int64_t index) {
  auto code = valueOrThrow(HostCode::load(artifact.binary(), artifact.entry));
  int64_t scratchBytes = 0;
  for (const auto &[name, value] : artifact.resources)
    if (name == "scratch_bytes")
      scratchBytes = value;
  std::unique_ptr<void, void (*)(void *)> scratch(
      std::aligned_alloc(64, static_cast<size_t>((scratchBytes + 127) / 64 * 64)), std::free);
  std::vector<float> x(64), y(64);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  const int64_t arguments[] = {reinterpret_cast<int64_t>(x.data()), 64, 1, reinterpret_cast<int64_t>(y.data()), 64, 1};
  code->entry()(arguments, 0, 0, 0, scratch.get());
  return y[static_cast<size_t>(index)];
}

std::string names(const Artifact &artifact) {
  std::string text;
  for (const Stage &stage : artifact.stages)
    text += stage.name + "=" + stage.file + " ";
  return text;
}

} // namespace

TEST_CASE("a kernel is compiled into stages and runs") {
  TracedKernel kernel = traced(addOne);
  std::string before = kernel.text(false);
  Artifact artifact = compiled(kernel, target("cpu"));
  CHECK(names(artifact) == "tile=tile.mlir vector=vector.mlir llvm=llvm.mlir object=kernel.o ");
  CHECK(artifact.stages[0].text == before);
  CHECK(artifact.entry == "add");
  CHECK(artifact.parameters == kernel.parameters());
  CHECK(run(artifact, 5) == 6.0f);
  CHECK(kernel.text(false) == before); // compiling works on a copy
  CHECK(compiled(kernel, target("cpu")).binary() == artifact.binary());
}

TEST_CASE("the interpreter runs the tile stage") {
  Artifact artifact = compiled(traced(addOne), target("interpret"));
  CHECK(names(artifact) == "tile=tile.mlir ");
}

TEST_CASE("an edited tile stage is compiled, when it declares the same arguments") {
  EditedTile two(traced(addTwo).text(false));
  CHECK(run(compiled(traced(addOne), target("cpu"), &two), 5) == 7.0f);

  EditedTile other(traced(oneMoreArgument).text(false));
  CHECK_THROWS_AS(compiled(traced(addOne), target("cpu"), &other), UserError);
  CHECK_THROWS_WITH(compiled(traced(addOne), target("cpu"), &other), Contains("declares another kernel"));
  EditedTile empty("module {}");
  CHECK_THROWS_WITH(compiled(traced(addOne), target("cpu"), &empty), Contains("one tile.kernel and nothing else"));
  EditedTile malformed("tile.kernel @add( {");
  CHECK_THROWS_AS(compiled(traced(addOne), target("cpu"), &malformed), UserError);
  CHECK_THROWS_WITH(compiled(traced(addOne), target("interpret"), &malformed), Contains("tile.mlir:1"));
}

TEST_CASE("keys hold what shapes the code, and nothing else") {
  const Target cpu = target("cpu:znver4");
  const Schedule schedule = valueOrThrow(completeSchedule({}, cpu));
  const TracedKernel kernel = traced(addOne);
  const std::string key = contentKey(kernel, cpu, schedule);
  CHECK(key.size() == 32);
  for (char c : key)
    CHECK((std::isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f')));
  CHECK(contentKey(traced(addOne), cpu, schedule) == key);

  Schedule other = schedule;
  other.blockM = 32;
  CHECK(contentKey(kernel, cpu, other) != key);
  other = schedule;
  other.threads = 3; // does not shape the code
  CHECK(contentKey(kernel, cpu, other) == key);
  CHECK(contentKey(kernel, target("cpu:haswell"), schedule) != key);
  CHECK(contentKey(kernel, target("interpret"), schedule) != key);
  CHECK(contentKey(traced(addTwo), cpu, schedule) != key);
  CHECK(contentKey(traced(addOne, "another"), cpu, schedule) != key);
  Target fewerFeatures = cpu;
  fewerFeatures.features += ",-avx512bf16";
  CHECK(contentKey(kernel, fewerFeatures, schedule) != key);
}

TEST_CASE("the build id names versions and sources") {
  CHECK_THAT(buildId(), Contains("sectile 0.") && Contains("LLVM 22."));
  CHECK(buildId().size() > 64);
}
