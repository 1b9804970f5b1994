// What the emulator reports of kernels that are wrong, and that it reports nothing of their right twins.
#include "tests/emulate/amd/CodeObjects.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;
using Catch::Contains;
using Catch::Equals;

namespace {

/// Runs a gfx942 kernel over one array of `count` floats; its pointer is the only argument.
struct Run {
  AssemblyKernel kernel;
  unsigned threads = 64;
  std::string processor = "gfx942";
  uint64_t budget = 1 << 20;
  uint64_t seed = 0;
  std::vector<float> data = std::vector<float>(64, 1.0f);

  std::string operator()() {
    auto code = assemble(processor, kernel);
    const std::vector<int64_t> arguments{addressOf(data)};
    const std::vector<emulate::MemoryRange> memory{rangeOf(data, true, "data")};
    emulate::Launch launch;
    launch.threads = threads, launch.kernarg = arguments, launch.memory = memory;
    launch.budget = budget, launch.seed = seed;
    return failureOf(*code, "k", launch);
  }
};

const std::string loadPointer = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_waitcnt lgkmcnt(0)\n";
const std::string offset = "v_lshlrev_b32_e32 v1, 2, v0\n";
/// One wave writes what the other one reads.
const std::string writeLds = offset + "ds_write_b32 v1, v0\n";
const std::string readNeighbour =
    "v_xor_b32_e32 v2, 0x100, v1\ns_waitcnt lgkmcnt(0)\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\n";

} // namespace

TEST_CASE("a race in LDS names both instructions") {
  Run run{{writeLds + readNeighbour, 512}, 128};
  CHECK_THAT(run(), Contains("a race in LDS at byte 256: this wave writes what wave 0 read") &&
                        Contains("kernel 'k'") && Contains("'ds_write_b32 v1, v0' at +0x4") &&
                        Contains("'ds_read_b32 v3, v2' at +0x18") && Contains("wave 1, lane 0"));
  run.seed = 1; // the order of the waves decides who is first, not whether it is found
  CHECK_THAT(run(), Contains("a race in LDS"));
  run.kernel.body = writeLds + "s_waitcnt lgkmcnt(0)\ns_barrier\n" + readNeighbour;
  CHECK_THAT(run(), Equals("no failure"));
  // Atomic accesses do not race with each other; with others they do.
  run.kernel.body =
      offset + "v_mov_b32_e32 v4, 0\nds_write_b32 v1, v4\ns_waitcnt lgkmcnt(0)\ns_barrier\nds_add_u32 v4, v0\n";
  CHECK_THAT(run(), Equals("no failure"));
  run.kernel.body += "ds_read_b32 v3, v4\n";
  CHECK_THAT(run(), Contains("a race in LDS at byte 0"));
  // Neighbouring bytes are not the same byte.
  run.kernel.body = "v_lshlrev_b32_e32 v1, 1, v0\nv_lshrrev_b32_e32 v2, 6, v0\nv_and_b32_e32 v3, 63, v0\n"
                    "v_lshl_or_b32 v1, v3, 1, v2\nds_write_b8 v1, v0\n";
  CHECK_THAT(run(), Equals("no failure"));
}

TEST_CASE("accesses outside of memory and LDS") {
  Run run{{loadPointer + offset + "v_mov_b32_e32 v2, 1.0\nglobal_store_dword v1, v2, s[4:5] offset:4\n"}};
  CHECK_THAT(run(), Contains("lane 63") && Contains("a store of 4 bytes at 0x") && Contains("0 bytes behind 'data'"));
  run.kernel.body = loadPointer + offset + "global_load_dword v2, v1, s[4:5] offset:-16\n";
  CHECK_THAT(run(), Contains("lane 0") && Contains("a load of 4 bytes") && Contains("16 bytes before 'data'"));
  run.kernel.body = offset + "ds_write_b32 v1, v0 offset:16\n";
  run.kernel.ldsSize = 256;
  CHECK_THAT(run(), Contains("LDS address 256 (4 bytes) is outside of the 256 bytes"));
  run.kernel.body = "s_load_dwordx2 s[4:5], s[0:1], 0x108\n";
  CHECK_THAT(run(), Contains("behind 'the kernel's arguments'"));
  run.kernel.body = "v_mov_b32_e32 v1, 2\nv_mov_b32_e32 v2, 0\nds_add_u32 v1, v2\n";
  CHECK_THAT(run(), Contains("which is not a multiple of 4"));
}

TEST_CASE("writing to read-only memory") {
  auto code = assemble("gfx942", {loadPointer + offset + "global_store_dword v1, v0, s[4:5]\n"});
  std::vector<float> data(64);
  const std::vector<int64_t> arguments{addressOf(data)};
  std::vector<emulate::MemoryRange> memory{rangeOf(data, false, "data")};
  emulate::Launch launch;
  launch.kernarg = arguments, launch.memory = memory;
  CHECK_THAT(failureOf(*code, "k", launch), Contains("in 'data' at [0x") && Contains("which is read-only"));
}

TEST_CASE("values that nobody wrote") {
  Run run{{loadPointer + offset + "global_store_dword v1, v2, s[4:5]\n"}};
  CHECK_THAT(run(), Contains("the value stored to ") && Contains("nobody wrote: register v2"));
  // through arithmetic, with the instruction where it came from
  run.kernel.body =
      loadPointer + offset + "v_add_f32_e32 v3, 1.0, v2\nv_mul_f32_e32 v4, v3, v3\nglobal_store_dword v1, v4, s[4:5]\n";
  CHECK_THAT(run(), Contains("it comes from 'v_add_f32_e32 v3, 1.0, v2'"));
  run.kernel.body = loadPointer + "global_load_dword v3, v2, s[4:5]\n";
  CHECK_THAT(run(), Contains("the address depends on a value that nobody wrote: register v2"));
  run.kernel.body = "v_cmp_gt_f32_e32 vcc, 1.0, v2\ns_and_saveexec_b64 s[4:5], vcc\n";
  CHECK_THAT(run(), Contains("EXEC depends on a value that nobody wrote"));
  run.kernel.body = "s_cmp_eq_u32 s20, 0\ns_cbranch_scc1 1\ns_nop 0\n";
  CHECK_THAT(run(), Contains("the branch depends on"));
  run.kernel.body =
      loadPointer + offset + "ds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[4:5]\n";
  run.kernel.ldsSize = 256;
  CHECK_THAT(run(), Contains("it comes from 'ds_read_b32 v2, v1'"));
  run.kernel.body = loadPointer + offset + "v_accvgpr_read_b32 v2, a3\ns_nop 1\nglobal_store_dword v1, v2, s[4:5]\n";
  CHECK_THAT(run(), Contains("the value stored to"));
  // What is legal: moves, halves that are thrown away, lanes that are off.
  run.kernel.body = loadPointer + offset +
                    "v_mov_b32_e32 v3, v2\nv_mov_b32_e32 v4, v3\nv_and_b32_e32 v5, 0xffff0000, v0\n"
                    "v_lshl_or_b32 v6, v0, 16, v5\nglobal_store_dword v1, v6, s[4:5]\n";
  CHECK_THAT(run(), Equals("no failure"));
  run.kernel.body = loadPointer + offset +
                    "v_cmp_gt_u32_e32 vcc, 32, v0\ns_and_saveexec_b64 s[6:7], vcc\nv_mov_b32_e32 v2, 0\n"
                    "global_store_dword v1, v2, s[4:5]\n";
  CHECK_THAT(run(), Equals("no failure"));
  run.kernel.body = loadPointer + offset +
                    "global_load_short_d16 v2, v1, s[4:5]\ns_waitcnt vmcnt(0)\nglobal_store_short v1, v2, s[4:5]\n";
  CHECK_THAT(run(), Equals("no failure"));
}

TEST_CASE("a wave that misses a barrier") {
  Run run{{"v_readfirstlane_b32 s4, v0\ns_cmp_eq_u32 s4, 0\ns_cbranch_scc1 1\ns_barrier\n"}, 128};
  CHECK_THAT(run(), Contains("wave 1 waits at a barrier that wave 0, which has ended, never reaches") &&
                        Contains("'s_barrier' at +0xc"));
  run.kernel.body = "s_barrier\n";
  CHECK_THAT(run(), Equals("no failure"));
}

TEST_CASE("a loop without an end") {
  Run run{{"s_branch -1\n"}};
  run.budget = 1000;
  CHECK_THAT(run(), Contains("does not end: it has executed 1000 instructions"));
}

TEST_CASE("what the emulator lacks") {
  Run run{{"v_cubeid_f32 v1, v0, v0, v0\n"}};
  CHECK_THAT(run(), Contains("the emulator lacks the instruction 'v_cubeid_f32 v1, v0, v0, v0' (at +0x0)"));
  run.kernel.body = ".long 0xffffffff\n";
  CHECK_THAT(run(), Contains("no instruction of this processor (at +0x0)"));
  run.kernel.body = "s_branch 0x1000\n";
  CHECK_THAT(run(), Contains("there is no code at this address"));
}

TEST_CASE("a load that is used before its wait") {
  Run run{{loadPointer + offset + "global_load_dword v2, v1, s[4:5]\nv_add_f32_e32 v3, v2, v2\n"}};
  CHECK_THAT(run(), Contains("register v2 is used before the wait for 'global_load_dword v2, v1, s[4:5]' at +0x10"));
  run.kernel.body = loadPointer + offset + "global_load_dword v2, v1, s[4:5]\nv_mov_b32_e32 v2, 0\n"; // overwritten
  CHECK_THAT(run(), Contains("register v2 is used before the wait"));
  run.kernel.body = "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_add_u32 s4, s4, 4\n";
  CHECK_THAT(run(), Contains("register s4 is used before the wait for 's_load_dwordx2"));
  // Loads return in order: vmcnt(1) is enough for the first one.
  const std::string two =
      loadPointer + offset + "global_load_dword v2, v1, s[4:5]\nglobal_load_dword v3, v1, s[4:5]\ns_waitcnt vmcnt(1)\n";
  run.kernel.body = two + "v_add_f32_e32 v4, v2, v2\n";
  CHECK_THAT(run(), Equals("no failure"));
  run.kernel.body = two + "v_add_f32_e32 v4, v3, v3\n";
  CHECK_THAT(run(), Contains("register v3 is used before the wait"));
  // Scalar loads return in any order: only 0 is enough.
  run.kernel.body =
      "s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x4\ns_waitcnt lgkmcnt(1)\ns_add_u32 s6, s4, 0\n";
  CHECK_THAT(run(), Contains("register s4 is used before the wait"));
}

TEST_CASE("a load into LDS that is not waited for") {
  const std::string load = loadPointer + offset + "s_mov_b32 m0, 0\nglobal_load_lds_dword v1, s[4:5]\n";
  Run run{{load + "s_barrier\nds_read_b32 v2, v1\n", 256}};
  CHECK_THAT(run(), Contains("is read while a load that goes there directly is not waited for"));
  run.kernel.body =
      load +
      "s_waitcnt vmcnt(0)\ns_barrier\nds_read_b32 v2, v1\ns_waitcnt lgkmcnt(0)\nglobal_store_dword v1, v2, s[4:5]\n";
  CHECK_THAT(run(), Equals("no failure"));
}

TEST_CASE("waits of gfx12") {
  const std::string load =
      "s_load_b64 s[4:5], s[0:1], 0x0\ns_wait_kmcnt 0x0\nv_and_b32_e32 v0, 0x3ff, v0\nv_lshlrev_b32_e32 v1, 2, v0\n"
      "global_load_b32 v2, v1, s[4:5]\n";
  Run run{{load + "s_wait_dscnt 0x0\nv_add_f32_e32 v3, v2, v2\n"}, 32, "gfx1201"};
  CHECK_THAT(run(), Contains("register v2 is used before the wait"));
  run.kernel.body = load + "s_wait_loadcnt 0x0\nv_add_f32_e32 v3, v2, v2\n";
  CHECK_THAT(run(), Equals("no failure"));
}

TEST_CASE("gfx11 wants the operands of WMMA twice") {
  const std::string fill =
      "v_mov_b32_e32 v8, 0\nv_mov_b32_e32 v9, 0\nv_mov_b32_e32 v10, 0\nv_mov_b32_e32 v11, 0\nv_mov_b32_e32 v12, 0\n"
      "v_mov_b32_e32 v13, 0\nv_mov_b32_e32 v14, 0\nv_mov_b32_e32 v15, ";
  const std::string multiply = "\nv_wmma_f32_16x16x16_f16 v[16:23], v[8:15], v[8:15], v[8:15]\n";
  Run run{{fill + "0" + multiply}, 32, "gfx1100"};
  CHECK_THAT(run(), Equals("no failure"));
  run.kernel.body = fill + "v0" + multiply;
  CHECK_THAT(run(), Contains("operand A of this processor is the same in lanes 0 and 16, but register v15 is not"));
}

TEST_CASE("bank conflicts and classes are counted") {
  // 64 lanes read with a stride of 32 dwords: 32 lanes share a bank in each half
  auto code = assemble("gfx942", {"v_lshlrev_b32_e32 v1, 7, v0\nds_write_b32 v1, v0\ns_nop 0\ns_barrier\n", 64 * 128});
  auto counters = emulate::run(*code, "k", {});
  REQUIRE(bool(counters));
  CHECK(counters->ldsBankConflictCycles == 2 * 31);
  CHECK(counters->ldsWrites == 1);
  CHECK(counters->valu == 1);
  CHECK(counters->barriers == 1);
  CHECK(counters->waveInstructions == 5);
}

TEST_CASE("a launch that does not fit is refused") {
  auto code = assemble("gfx942", {""});
  emulate::Launch launch;
  CHECK_THAT(failureOf(*code, "no", launch), Contains("no kernel 'no'; it has k"));
  launch.threads = 1025;
  CHECK_THAT(failureOf(*code, "k", launch), Contains("legal are 1 or more groups of 1 to 1024"));
  CHECK_THAT(toString(emulate::CodeObject::load("nonsense").takeError()), Contains("is no ELF file"));
}
