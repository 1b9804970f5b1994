// The backend for AMD GPUs: what it describes and refuses, and what code objects say.
#include "compiler/targets/amdgcn/Amdgcn.h"
#include "compiler/Compiler.h"
#include "compiler/dsl/TracedKernel.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/LoopModel.h"
#include "sectile/Tile.h"
#include "sectile/Trace.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace sectile;
using Catch::Matchers::Contains;

namespace {

constexpr const char *processors[] = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};

std::string refusal(llvm::Error error) { return llvm::toString(std::move(error)); }

TracedKernel twice(const Schedule &schedule) {
  return trace("twice",
               [](Trace &t) {
                 const tile::View x = t.input("x", Type::f32, 1), y = t.output("y", Type::f32, 1);
                 const tile::Tile i = t.program(0) * 128;
                 y.store({i}, x.load({i}, {128}) * 2);
               },
               schedule, {{true, true}, {true, true}});
}

int64_t resource(const Artifact &artifact, std::string_view name) {
  for (const auto &[key, value] : artifact.resources)
    if (key == name)
      return value;
  return -1;
}

/// A loop with so many products and other vector instructions.
std::string loopOf(int products, int vectors) {
  std::string text = ".LBB0_1:\n";
  for (int i = 0; i < products; ++i)
    text += "\tv_mfma_f32_32x32x8_f16 v[0:15], v[100:101], v[102:103], v[0:15]\n";
  for (int i = 0; i < vectors; ++i)
    text += "\tv_add_f32_e32 v" + std::to_string(200 + i % 8) + ", v120, v121\n";
  return text + "\ts_cbranch_scc1 .LBB0_1\n\ts_endpgm\n";
}

} // namespace

TEST_CASE("AMD processors are known by name, others refused with the list") {
  for (const char *name : processors) {
    const Target target = valueOrThrow(resolveTarget(std::string("amdgcn:") + name));
    CHECK(target.name() == std::string("amdgcn:") + name);
    CHECK(target.amd.lanes == (target.amd.isCdna() ? 64 : 32));
  }
  const std::string list = "legal: amdgcn:gfx90a, amdgcn:gfx942, amdgcn:gfx950, amdgcn:gfx1100, amdgcn:gfx1201";
  CHECK(refusal(resolveTarget("amdgcn:gfx906").takeError()) ==
        "target 'amdgcn:gfx906': there is no such processor; " + list);
  CHECK(refusal(resolveTarget("amdgcn").takeError()) == "target 'amdgcn' lacks a processor; " + list);
}

TEST_CASE("schedule fields that AMD GPUs do not have, or not so") {
  const Target target = valueOrThrow(resolveTarget("amdgcn:gfx942"));
  CHECK_THAT(refusal(completeSchedule({.specialize = Specialize::producer}, target).takeError()),
             Contains("'specialize'") && Contains("its fields: blockM, blockN, order, warps, stages"));
  CHECK_THAT(refusal(completeSchedule({.warps = 32}, target).takeError()),
             Contains("'warps' is 32") && Contains("from 1 to 16"));
  CHECK_THAT(refusal(completeSchedule({.warps = 3}, target).takeError()), Contains("a power of two"));
  CHECK_THAT(refusal(completeSchedule({.stages = 3}, target).takeError()), Contains("'stages' is 3"));
}

TEST_CASE("a kernel becomes a code object that says what it takes") {
  for (const char *name : processors) {
    INFO(name);
    const Target target = valueOrThrow(resolveTarget(std::string("amdgcn:") + name));
    const Schedule schedule = valueOrThrow(completeSchedule({}, target));
    const Artifact artifact = valueOrThrow(compile(twice(schedule), target, schedule, nullptr));
    CHECK(artifact.entry == "twice");
    CHECK(llvm::equal(llvm::map_range(artifact.stages, [](const Stage &stage) { return stage.name; }),
                      std::vector<std::string>{"tile", "block", "llvm", "amdgcn", "hsaco"}));
    CHECK(artifact.binary().starts_with("\x7f"
                                        "ELF"));
    CHECK(resource(artifact, "threads") == 4 * target.amd.lanes);
    CHECK(resource(artifact, "scratch_bytes_per_lane") == 0);
    CHECK(resource(artifact, "vgprs") > 0);
    CHECK(resource(artifact, "occupancy_groups") > 0);
    CHECK(resource(artifact, "kernarg_bytes") >= (2 * 3 + 3) * 8);
  }
}

TEST_CASE("kernels are linked by several threads at a time") {
  const Target target = valueOrThrow(resolveTarget("amdgcn:gfx90a"));
  const Schedule schedule = valueOrThrow(completeSchedule({}, target));
  const std::string expected = valueOrThrow(compile(twice(schedule), target, schedule, nullptr)).binary();
  std::vector<std::string> objects(4);
  std::vector<std::thread> threads;
  for (std::string &object : objects)
    threads.emplace_back([&] { object = valueOrThrow(compile(twice(schedule), target, schedule, nullptr)).binary(); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &object : objects)
    CHECK(object == expected);
}

TEST_CASE("what does not assemble or link is told in the tool's words") {
  const Target target = valueOrThrow(resolveTarget("amdgcn:gfx942"));
  CHECK_THAT(refusal(amdgcn::assemble("\tv_no_such v0, v1\n", target).takeError()),
             Contains("does not assemble for gfx942") && Contains("v_no_such"));
  CHECK_THAT(refusal(amdgcn::link("no object").takeError()), Contains("LLD cannot link"));
  CHECK_THAT(refusal(amdgcn::readUsage("no ELF", "k").takeError()), Contains("is no ELF file"));
}

TEST_CASE("how many groups a unit holds") {
  const Target cdna = valueOrThrow(resolveTarget("amdgcn:gfx942")),
               rdna = valueOrThrow(resolveTarget("amdgcn:gfx1100"));
  const auto groups = [](const Target &target, int64_t registers, int64_t lds) {
    return amdgcn::occupancy({.threads = 4 * target.amd.lanes, .sharedBytes = lds, .vectorRegisters = registers},
                             target);
  };
  CHECK(groups(cdna, 512, 0) == 1);
  CHECK(groups(cdna, 257, 0) == 1);
  CHECK(groups(cdna, 256, 0) == 2);
  CHECK(groups(cdna, 128, 0) == 4);
  CHECK(groups(cdna, 32, 0) == 8);
  CHECK(groups(cdna, 32, 32768) == 2);
  CHECK(groups(cdna, 32, 40000) == 1);
  CHECK(groups(rdna, 256, 0) == 5); // 264 registers each, of 1536
  CHECK(groups(rdna, 96, 65536) == 2);
}

TEST_CASE("the model of the main loop") {
  // One wave: 4 products of 32 clocks and 8 additions, which run beside the last product.
  const auto alone = amdgcn::modelMainLoop(loopOf(4, 4), 1, 1);
  REQUIRE(alone);
  CHECK(alone->matrix == 4);
  CHECK(alone->vector == 4);
  CHECK(alone->matrixClocks == 4 * 32);
  CHECK(alone->clocks == 4 * 32);
  // Additions that take as long as the products: a second wave runs its products meanwhile.
  const auto one = amdgcn::modelMainLoop(loopOf(4, 32), 1, 1), two = amdgcn::modelMainLoop(loopOf(4, 32), 2, 1);
  CHECK(one->matrixShare() < 0.6);
  CHECK(two->matrixShare() > 0.85);
  CHECK_FALSE(amdgcn::modelMainLoop("\ts_endpgm\n", 1, 1));
}
