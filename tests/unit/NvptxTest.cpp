// NVIDIA architectures as targets: their table, what schedules and kernels they refuse, what is read from a cubin.
#include "compiler/targets/nvptx/Nvptx.h"
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/LibraryFile.h"
#include "tests/support/Environment.h"

#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ObjectYAML/yaml2obj.h"
#include "llvm/Support/YAMLTraits.h"

#include <catch2/catch.hpp>

#include <dlfcn.h>

using namespace sectile;
using Catch::Contains;

namespace {

/// Without an assembler, so that nothing depends on the machine.
Target target(const std::string &name) { return valueOrThrow(resolveTarget(name, "none")); }

void check(llvm::Error error) {
  if (error)
    throwError(std::move(error));
}

} // namespace

//===-- the table -----------------------------------------------------------------------------------------------===//

TEST_CASE("architectures have the limits that NVIDIA documents") {
  struct Row {
    const char *name;
    int sm, sharedPerSm, sharedPerBlock, warpsPerSm, blocksPerSm;
  };
  for (const Row &row : {Row{"sm_75", 75, 65536, 65536, 32, 16}, Row{"sm_80", 80, 167936, 166912, 64, 32},
                         Row{"sm_86", 86, 102400, 101376, 48, 16}, Row{"sm_87", 87, 167936, 166912, 48, 16},
                         Row{"sm_89", 89, 102400, 101376, 48, 24}, Row{"sm_90", 90, 233472, 232448, 64, 32},
                         Row{"sm_90a", 90, 233472, 232448, 64, 32}, Row{"sm_100", 100, 233472, 232448, 64, 32},
                         Row{"sm_100a", 100, 233472, 232448, 64, 32}, Row{"sm_103a", 103, 233472, 232448, 64, 32},
                         Row{"sm_110a", 110, 233472, 232448, 48, 24}, Row{"sm_120", 120, 102400, 101376, 48, 24},
                         Row{"sm_120a", 120, 102400, 101376, 48, 24}, Row{"sm_121a", 121, 102400, 101376, 48, 24}}) {
    INFO(row.name);
    const Target described = target(std::string("nvptx:") + row.name);
    const Target::Nvidia &gpu = described.nvidia;
    CHECK(described.kind == Target::Kind::nvptx);
    CHECK(described.name() == std::string("nvptx:") + row.name);
    CHECK(gpu.sm == row.sm);
    CHECK(gpu.archSpecific == (described.processor.back() == 'a'));
    CHECK(gpu.sharedPerSm == row.sharedPerSm);
    CHECK(gpu.sharedPerBlock == row.sharedPerBlock);
    CHECK(gpu.warpsPerSm == row.warpsPerSm);
    CHECK(gpu.blocksPerSm == row.blocksPerSm);
    CHECK(gpu.registersPerSm == 65536);
    CHECK(gpu.registersPerThread == 255);
    CHECK(gpu.threadsPerBlock == 1024);
  }
}

TEST_CASE("architectures have the instructions that came with them") {
  const auto gpu = [](const char *name) { return target(std::string("nvptx:") + name).nvidia; };
  CHECK(gpu("sm_75").hasLdmatrix);
  CHECK(!gpu("sm_75").hasCpAsync);
  CHECK(!gpu("sm_75").hasBf16Mma);
  CHECK(!gpu("sm_75").hasMma16816);
  CHECK(gpu("sm_80").hasCpAsync);
  CHECK(gpu("sm_80").hasBf16Mma);
  CHECK(gpu("sm_80").hasTf32Mma);
  CHECK(!gpu("sm_87").hasFp8Mma);
  CHECK(gpu("sm_89").hasFp8Mma);
  CHECK(!gpu("sm_89").hasStmatrix);
  CHECK(gpu("sm_90").hasStmatrix);
  CHECK(gpu("sm_90").hasTma);
  CHECK(!gpu("sm_90").hasWgmma);
  CHECK(gpu("sm_90a").hasWgmma);
  CHECK(gpu("sm_90a").hasSetmaxnreg);
  CHECK(!gpu("sm_100a").hasWgmma);
  CHECK(gpu("sm_75").ptxVersion < gpu("sm_89").ptxVersion);
  CHECK(gpu("sm_90").ptxVersion < gpu("sm_100").ptxVersion);
}

TEST_CASE("unknown architectures are refused with those that exist") {
  CHECK_THROWS_WITH(target("nvptx"), Contains("lacks an architecture") && Contains("nvptx:sm_75, nvptx:sm_80"));
  CHECK_THROWS_WITH(target("nvptx:sm_70"), Contains("'nvptx:sm_70'") && Contains("nvptx:sm_120a"));
  CHECK_THROWS_WITH(target("nvptx:90a"), Contains("'nvptx:90a'"));
  CHECK_THROWS_WITH(target("nvptx:sm_80a"), Contains("'nvptx:sm_80a'"));
  CHECK_THROWS_AS(target("nvptx:sm_70"), UserError);
}

TEST_CASE("a device gets the architecture whose code is best for it") {
  const auto name = [](int major, int minor) { return valueOrThrow(nvidiaTargetName(major, minor)); };
  CHECK(name(7, 5) == "nvptx:sm_75");
  CHECK(name(8, 0) == "nvptx:sm_80");
  CHECK(name(8, 8) == "nvptx:sm_87"); // runs code for earlier minor versions
  CHECK(name(8, 9) == "nvptx:sm_89");
  CHECK(name(9, 0) == "nvptx:sm_90a");
  CHECK(name(10, 0) == "nvptx:sm_100a");
  CHECK(name(10, 1) == "nvptx:sm_100"); // but not for specific ones
  CHECK(name(12, 0) == "nvptx:sm_120a");
  CHECK_THROWS_WITH(name(7, 0), Contains("capability 7.0 is not supported") && Contains("nvptx:sm_75"));
  CHECK_THROWS_AS(name(13, 0), DeviceError);
}

TEST_CASE("the assembler is part of a target's key, its place is not") {
  Target gpu = target("nvptx:sm_89");
  CHECK(gpu.key() == "nvptx:sm_89:driver");
  gpu.nvidia.assembler = {Target::Nvidia::Assembler::Kind::ptxas, "/somewhere/ptxas", "13.0.88"};
  CHECK(gpu.key() == "nvptx:sm_89:ptxas 13.0.88");
  gpu.nvidia.assembler = {Target::Nvidia::Assembler::Kind::nvJitLink, "libnvJitLink.so.13", "13.0"};
  CHECK(gpu.key() == "nvptx:sm_89:nvJitLink 13.0");
  CHECK_THROWS_WITH(valueOrThrow(resolveTarget("nvptx:sm_80", "/nonexistent")),
                    Contains("option 'toolkit' is '/nonexistent'") && Contains("bin/ptxas"));
}

TEST_CASE("assemblers that are too old for an architecture are passed over") {
  CHECK(nvptx::newestPtx("11.8") == 78);
  CHECK(nvptx::newestPtx("12.4.131") == 84);
  CHECK(nvptx::newestPtx("12.5") == 85);
  CHECK(nvptx::newestPtx("12.6.85") == 85);
  CHECK(nvptx::newestPtx("12.8") == 87);
  CHECK(nvptx::newestPtx("12.9") == 88);
  CHECK(nvptx::newestPtx("13.0.88") == 90);
  CHECK(nvptx::newestPtx("13 build 157d67e654e0") == 90);
  CHECK(nvptx::newestPtx("12 build 157d67e654e0") == 80);
  CHECK(nvptx::newestPtx("13.") == 0);
  CHECK(nvptx::newestPtx("build") == 0);
  CHECK(nvptx::newestPtx("") == 0);
  for (const char *toolkit : {"", "/usr/local/cuda"}) {
    llvm::Expected<Target::Nvidia::Assembler> found = nvptx::findAssembler(toolkit, 990);
    if (found)
      CHECK(found->kind == Target::Nvidia::Assembler::Kind::none);
    else
      CHECK_THAT(llvm::toString(found.takeError()), Contains("option 'toolkit' is '/usr/local/cuda'"));
  }
}

TEST_CASE("an assembler's library is identified by what is in its file, without loading it") {
  // Some library under the name: as soon as it was loaded it would turn out to be another one.
  Dl_info libm;
  REQUIRE(dladdr(dlsym(RTLD_DEFAULT, "cos"), &libm));
  const std::string id = nvptx::buildIdOf(libm.dli_fname), bytes = test::readFile(libm.dli_fname);
  REQUIRE(id.size() >= 16);
  test::ScratchFolder toolkit;
  const std::string path = toolkit / "lib/libnvJitLink.so.13", folder = toolkit.path().string();
  test::writeFile(path, bytes);
  const auto found = [&](int ptxVersion) { return valueOrThrow(nvptx::findAssembler(folder, ptxVersion)); };
  CHECK(found(90).kind == Target::Nvidia::Assembler::Kind::nvJitLink);
  CHECK(found(90).path == path);
  CHECK(found(90).version == "13 build " + id.substr(0, 12));

  std::string other = bytes;
  const std::string binary = llvm::fromHex(id);
  other[other.find(binary)] ^= 1;
  test::writeFile(path, other);
  CHECK(found(90).version != "13 build " + id.substr(0, 12));
  other = bytes;
  other[18] ^= 1; // e_machine
  test::writeFile(path, other);
  CHECK_THROWS_WITH(found(90), Contains("neither a usable libnvJitLink.so.13"));
  test::writeFile(path, "not a library");
  CHECK_THROWS_WITH(found(90), Contains("neither a usable libnvJitLink.so.13"));
  CHECK(nvptx::buildIdOf(toolkit / "nothing").empty());
  // Its name does not promise PTX 9.1: it has to be asked.
  std::filesystem::remove(path);
  test::writeFile(path, bytes);
  CHECK_THROWS_WITH(found(91), Contains("neither a usable libnvJitLink.so.13"));
  CHECK_FALSE(nvptx::loaderFolders().empty());
}

//===-- schedules -----------------------------------------------------------------------------------------------===//

TEST_CASE("GPUs have warps and stages, hosts have threads and vectors") {
  const auto complete = [](const Schedule &schedule, const char *name) {
    return valueOrThrow(completeSchedule(schedule, target(name)));
  };
  const Schedule chosen = complete({}, "nvptx:sm_80");
  CHECK(chosen.blockM > 0);
  CHECK(chosen.blockN > 0);
  CHECK(chosen.warps == 4);
  CHECK(chosen.stages == 2);
  CHECK(complete(chosen, "nvptx:sm_80") == chosen);
  CHECK(complete({.warps = 8, .stages = 3}, "nvptx:sm_90a").stages == 3);
  CHECK(complete({}, "nvptx:sm_75").stages == 2);

  CHECK_THROWS_WITH(complete({.stages = 3}, "nvptx:sm_75"), Contains("'stages' is 3") && Contains("cp.async"));
  CHECK_THROWS_WITH(complete({.warps = 3}, "nvptx:sm_80"), Contains("'warps' is 3") && Contains("power of two"));
  CHECK_THROWS_WITH(complete({.warps = 64}, "nvptx:sm_80"), Contains("'warps' is 64; legal: 1 to 32"));
  CHECK_THROWS_WITH(
      complete({.threads = 2}, "nvptx:sm_80"),
      Contains("'threads' is 2, and target 'nvptx:sm_80' has no such field") &&
          Contains("blockM, blockN, order, warps, stages, specialize, overlap, softmax, persistent, registers"));
  CHECK_THROWS_WITH(complete({.vectorWidth = 4}, "nvptx:sm_80"), Contains("'vectorWidth' is 4"));
  const Schedule roles = complete({.blockM = 128, .warps = 8, .specialize = Specialize::producer}, "nvptx:sm_90a");
  CHECK(roles.overlap == Overlap::softmax);
  CHECK(roles.softmax == Softmax::stale);
  CHECK(roles.registers == 240);
  CHECK(complete(roles, "nvptx:sm_90a") == roles);
  CHECK(complete({.blockM = 256, .warps = 16, .specialize = Specialize::producer}, "nvptx:sm_90a").registers == 112);
  CHECK(chosen.specialize == Specialize::chosen);
  CHECK_THROWS_WITH(complete({.specialize = Specialize::producer}, "nvptx:sm_80"),
                    Contains("'specialize' is producer") && Contains("nvptx:sm_90a"));
  CHECK_THROWS_WITH(complete({.softmax = Softmax::stale}, "nvptx:sm_90a"),
                    Contains("'softmax' is stale, which needs specialize=producer"));
  CHECK_THROWS_WITH(complete({.warps = 2, .specialize = Specialize::producer}, "nvptx:sm_90a"),
                    Contains("'warps' is 2; legal with a producer"));
  CHECK_THROWS_WITH(
      complete({.blockM = 256, .warps = 16, .specialize = Specialize::producer, .registers = 160}, "nvptx:sm_90a"),
      Contains("'registers' is 160") && Contains("up to 112"));
  CHECK_THROWS_WITH(complete({.blockM = 64, .warps = 8, .specialize = Specialize::producer}, "nvptx:sm_90a"),
                    Contains("'blockM' and 'warps' are 64 and 8") && Contains("16 rows for each warp"));
  CHECK_THROWS_WITH(complete({.specialize = Specialize::producer, .registers = 100}, "nvptx:sm_90a"),
                    Contains("'registers' is 100"));
  for (const char *name : {"cpu:haswell", "interpret"}) {
    CHECK_THROWS_WITH(complete({.warps = 4}, name),
                      Contains("'warps' is 4, and target '" + std::string(name) + "' has no such field") &&
                          Contains("blockM, blockN, order, threads, vectorWidth"));
    CHECK_THROWS_WITH(complete({.stages = 2}, name), Contains("'stages' is 2"));
  }
}

//===-- resources -----------------------------------------------------------------------------------------------===//

TEST_CASE("kernels that no multiprocessor can hold are refused with numbers") {
  const auto fits = [](const nvptx::Usage &usage, const char *name,
                       const Schedule &schedule = {.blockN = 64, .stages = 2}) {
    check(nvptx::checkFits(usage, "attention", target(name), schedule));
  };
  CHECK_NOTHROW(fits({.threads = 1024, .sharedBytes = 101376, .registers = 64}, "nvptx:sm_89"));
  CHECK_THROWS_WITH(fits({.threads = 128, .sharedBytes = 131072}, "nvptx:sm_89"),
                    "kernel 'attention' with schedule 'blockN=64,stages=2' uses 131072 bytes of shared memory; sm_89 "
                    "allows 101376; a smaller blockM or blockN, or fewer stages would take less");
  CHECK_THROWS_AS(fits({.threads = 128, .sharedBytes = 131072}, "nvptx:sm_89"), UserError);
  CHECK_NOTHROW(fits({.threads = 128, .sharedBytes = 131072}, "nvptx:sm_90"));
  CHECK_NOTHROW(fits({.threads = 128, .sharedBytes = 65536}, "nvptx:sm_75"));
  CHECK_THROWS_WITH(fits({.threads = 128, .sharedBytes = 65537}, "nvptx:sm_75"), Contains("sm_75 allows 65536"));
  CHECK_THROWS_WITH(fits({.threads = 2048}, "nvptx:sm_80"), Contains("has 2048 threads; sm_80 allows 1024"));
  CHECK_THROWS_WITH(fits({.threads = 128, .registers = 288}, "nvptx:sm_80"),
                    Contains("holds 288 registers in each of 128 threads; sm_80 allows 255 a thread"));
  CHECK_THROWS_WITH(fits({.threads = 512, .registers = 129}, "nvptx:sm_80"), Contains("allows 128 a thread"));
}

TEST_CASE("occupancy is limited by what runs out first") {
  const auto blocks = [](const nvptx::Usage &usage, const char *name) { return nvptx::occupancy(usage, target(name)); };
  CHECK(blocks({.threads = 128, .registers = 32}, "nvptx:sm_80") == 16); // warps
  CHECK(blocks({.threads = 32, .registers = 16}, "nvptx:sm_80") == 32);  // blocks
  CHECK(blocks({.threads = 128, .registers = 168}, "nvptx:sm_80") == 3); // registers
  CHECK(blocks({.threads = 128, .registers = 169}, "nvptx:sm_80") == 2); // in units of 256 a warp
  CHECK(blocks({.threads = 256, .registers = 255}, "nvptx:sm_80") == 1); //
  CHECK(blocks({.threads = 128, .sharedBytes = 50 << 10, .registers = 64}, "nvptx:sm_89") == 1); // shared memory:
  CHECK(blocks({.threads = 128, .sharedBytes = 49 << 10, .registers = 64}, "nvptx:sm_89") == 2); // 2 x (49 + 1) KiB
  CHECK(blocks({.threads = 128, .sharedBytes = 32 << 10, .registers = 64}, "nvptx:sm_75") == 2); // nothing reserved
}

//===-- what the assembler says ---------------------------------------------------------------------------------===//

namespace {

/// A cubin with two kernels, of which @second has the symbol number 3. `info` is the content of .nv.info.
std::string cubin(const std::string &info) {
  const std::string yaml = R"(
--- !ELF
FileHeader: { Class: ELFCLASS64, Data: ELFDATA2LSB, OSABI: 0x29, Type: ET_EXEC, Machine: 0xBE }
Sections:
  - { Name: .nv.info, Type: 0x70000000, Content: ')" +
                           info + R"(' }
  - { Name: .text.first, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, SHF_EXECINSTR ], Size: 256 }
  - { Name: .text.second, Type: SHT_PROGBITS, Flags: [ SHF_ALLOC, SHF_EXECINSTR ], Size: 384 }
Symbols:
  - { Name: .text.first, Type: STT_SECTION, Section: .text.first }
  - { Name: first, Type: STT_FUNC, Section: .text.first, Binding: STB_GLOBAL, Size: 256 }
  - { Name: second, Type: STT_FUNC, Section: .text.second, Binding: STB_GLOBAL, Size: 384 }
)";
  llvm::SmallString<0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::yaml::Input input(yaml);
  REQUIRE(llvm::yaml::convertYAML(input, os, [](const llvm::Twine &message) { FAIL(message.str()); }));
  return bytes.str().str();
}

const char *const plain = "042f08000200000020000000" // registers of symbol 2: 32
                          "03190010"                 // an attribute without bytes
                          "042f080003000000a8000000" // registers of symbol 3: 168
                          "041108000300000010000000" // stack of symbol 3: 16 bytes
                          "041208000300000011000000";

} // namespace

TEST_CASE("registers, stack and code size are read from a cubin") {
  const nvptx::Usage usage = valueOrThrow(nvptx::readCubin(cubin(plain), "second"));
  CHECK(usage.registers == 168);
  CHECK(usage.stackBytes == 16);
  CHECK(usage.codeBytes == 384);
  CHECK(valueOrThrow(nvptx::readCubin(cubin(plain), "first")).registers == 32);
  CHECK(valueOrThrow(nvptx::readCubin(cubin(plain), "first")).stackBytes == 0);
}

TEST_CASE("damaged cubins are refused and never read past their end") {
  const auto read = [](const std::string &bytes) { return valueOrThrow(nvptx::readCubin(bytes, "second")); };
  CHECK_THROWS_WITH(read("not ELF"), Contains("stage 'cubin' is no valid cubin"));
  CHECK_THROWS_AS(read(""), UserError);
  CHECK_THROWS_WITH(read(cubin("042f")), Contains("in the middle of an attribute"));
  CHECK_THROWS_WITH(read(cubin("042f0800030000")), Contains("in the middle of an attribute"));
  CHECK_THROWS_WITH(read(cubin("042f08000200000020000000")), Contains("how many registers 'second' has"));
  CHECK_THROWS_WITH(valueOrThrow(nvptx::readCubin(cubin(plain), "third")),
                    Contains("does not define the kernel 'third'"));
  const std::string whole = cubin(plain);
  for (size_t length = 0; length < whole.size(); ++length) // an exception or a result, never a crash
    llvm::consumeError(nvptx::readCubin(llvm::StringRef(whole).take_front(length), "second").takeError());
}

TEST_CASE("notes of the assembler that cost performance are found in its log") {
  CHECK(nvptx::brokenPromises("ptxas info    : Used 168 registers, 0 bytes spill stores\n").empty());
  CHECK(nvptx::brokenPromises("ptxas info    : 75 bytes gmem, C7510 in a name\n").empty());
  const std::string note = "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
                           "serialized\n";
  CHECK(nvptx::brokenPromises("ptxas info    : 0 bytes gmem\n" + note + "more\n") == note);
}

TEST_CASE("PTX is assembled, and errors have the assembler's words") {
  const Target gpu = valueOrThrow(resolveTarget("nvptx:sm_89"));
  if (gpu.nvidia.assembler.kind == Target::Nvidia::Assembler::Kind::none) {
    WARN("skipped: neither libnvJitLink.so nor ptxas is on this machine");
    return;
  }
  const std::string begin = ".version 8.4\n.target sm_89\n.address_size 64\n";
  const std::string code = valueOrThrow(nvptx::assemble(begin + ".visible .entry k() { ret; }\n", gpu));
  const nvptx::Usage usage = valueOrThrow(nvptx::readCubin(code, "k"));
  CHECK(usage.registers > 0);
  CHECK(usage.stackBytes == 0);
  CHECK(usage.codeBytes > 0);
  CHECK_THROWS_WITH(valueOrThrow(nvptx::assemble(begin + ".visible .entry k() { nonsense; }\n", gpu)),
                    Contains("cannot assemble") && Contains("nvptx:sm_89") && Contains("nonsense"));
}
