// What each NVIDIA architecture has. Sources: CUDA C++ Programming Guide, "Compute Capabilities"; PTX ISA, "Release
// Notes" and the "Target ISA Notes" of each instruction.
#include "compiler/support/Diagnostic.h"
#include "compiler/support/ScheduleFields.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvptx {
namespace {

struct Architecture {
  int sm;
  bool specific; // its name ends in "a"
  /// The first PTX version that knows it and has the instructions we use there: grid_constant is of 7.7, mma of fp8 of
  /// 8.4.
  int ptx;
  int sharedPerSm, sharedPerBlock; // KiB
  int warpsPerSm, blocksPerSm;
};

constexpr Architecture architectures[] = {
    // sm, specific, ptx, shared: SM, block, warps, blocks
    {75, false, 77, 64, 64, 32, 16},    // Turing
    {80, false, 77, 164, 163, 64, 32},  // Ampere: A100
    {86, false, 77, 100, 99, 48, 16},   //
    {87, false, 77, 164, 163, 48, 16},  // Orin
    {89, false, 84, 100, 99, 48, 24},   // Ada
    {90, false, 84, 228, 227, 64, 32},  // Hopper
    {90, true, 84, 228, 227, 64, 32},   //
    {100, false, 86, 228, 227, 64, 32}, // Blackwell: B200
    {100, true, 86, 228, 227, 64, 32},  //
    {103, false, 88, 228, 227, 64, 32}, // B300
    {103, true, 88, 228, 227, 64, 32},  //
    {110, false, 90, 228, 227, 48, 24}, // Thor
    {110, true, 90, 228, 227, 48, 24},  //
    {120, false, 87, 100, 99, 48, 24},  // RTX 50
    {120, true, 87, 100, 99, 48, 24},   //
    {121, false, 88, 100, 99, 48, 24},  // GB10
    {121, true, 88, 100, 99, 48, 24},   //
};

std::string nameOf(const Architecture &architecture) {
  return llvm::formatv("sm_{0}{1}", architecture.sm, architecture.specific ? "a" : "");
}

Target::Nvidia limitsOf(const Architecture &architecture) {
  Target::Nvidia gpu;
  gpu.sm = architecture.sm;
  gpu.archSpecific = architecture.specific;
  gpu.ptxVersion = architecture.ptx;
  gpu.sharedPerSm = int64_t{architecture.sharedPerSm} << 10;
  gpu.sharedPerBlock = int64_t{architecture.sharedPerBlock} << 10;
  gpu.sharedReserved = gpu.sharedPerSm - gpu.sharedPerBlock; // which is why one block cannot have all of it
  gpu.warpsPerSm = architecture.warpsPerSm;
  gpu.blocksPerSm = architecture.blocksPerSm;

  const int sm = architecture.sm;
  gpu.hasLdmatrix = sm >= 75;
  gpu.hasCpAsync = gpu.hasMma16816 = gpu.hasBf16Mma = gpu.hasTf32Mma = sm >= 80;
  gpu.hasFp8Mma = sm >= 89;
  gpu.hasStmatrix = gpu.hasTma = sm >= 90;
  gpu.hasWgmma = sm == 90 && architecture.specific; // later ones have tcgen05 in its place, or neither
  gpu.hasSetmaxnreg = sm >= 90 && architecture.specific;
  return gpu;
}

std::string legalNames() {
  return llvm::join(llvm::map_range(architectures, [](const Architecture &a) { return "nvptx:" + nameOf(a); }), ", ");
}

} // namespace

llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef toolkit) {
  if (processor.empty())
    return userError("target 'nvptx' lacks an architecture; legal: " + legalNames());
  const auto *found = llvm::find_if(architectures, [&](const Architecture &a) { return nameOf(a) == processor; });
  if (found == std::end(architectures))
    return userError(
        llvm::formatv("target 'nvptx:{0}': there is no such architecture; legal: {1}", processor, legalNames()));
  llvm::Expected<Target::Nvidia::Assembler> assembler = findAssembler(toolkit, found->ptx);
  if (!assembler)
    return assembler.takeError();
  Target target;
  target.kind = Target::Kind::nvptx;
  target.processor = processor.str();
  target.nvidia = limitsOf(*found);
  target.nvidia.assembler = std::move(*assembler);
  target.nvidia.wholeProgram = wholeProgramAssembler(target.nvidia.assembler, toolkit);
  target.nvidia.toolkit = toolkit.str();
  return target;
}

/// What a launch gives each thread goes to those that compute, but for the producer's.
static int32_t mostComputeRegisters(int32_t warps) {
  constexpr int32_t file = 65536, threads = 32, producerWarps = 4, producerRegisters = 24, most = 240;
  const int32_t launched = file / ((warps + producerWarps) * threads) / 8 * 8;
  const int32_t left = launched * (warps + producerWarps) - producerRegisters * producerWarps;
  return std::min(most, left / warps / 8 * 8);
}

/// The fields that say which warps do what. They mean something with a producer only.
static llvm::Expected<Schedule> completeRoles(const Schedule &schedule, const Target &target) {
  constexpr int32_t groupWarps = 4, mostGroups = 4, fewestRegisters = 24, mostRegisters = 240;
  Schedule complete = schedule;
  const bool hasProducer = schedule.specialize == Specialize::producer;
  if (hasProducer && !target.nvidia.hasWgmma)
    return userError(llvm::formatv("schedule field 'specialize' is producer, and '{0}' has no matrix instructions that "
                                   "read what a producer copies (wgmma); legal: none, or nvptx:sm_90a",
                                   target.name()));
  for (const ScheduleField &field : scheduleFields())
    if (llvm::is_contained({"overlap", "softmax", "persistent", "registers"}, field.name) && field.of(schedule) != 0 &&
        !hasProducer)
      return userError(llvm::formatv("schedule field '{0}' is {1}, which needs specialize=producer", field.name,
                                     field.text(field.of(schedule))));
  if (!hasProducer)
    return complete;
  if (schedule.warps % groupWarps != 0 || schedule.warps > mostGroups * groupWarps)
    return userError(llvm::formatv("schedule field 'warps' is {0}; legal with a producer: groups of four, 4, 8 or 16",
                                   schedule.warps));
  if (constexpr int32_t rowsPerWarp = 16; schedule.blockM != rowsPerWarp * schedule.warps)
    return userError(
        llvm::formatv("schedule fields 'blockM' and 'warps' are {0} and {1}; legal with a producer: {2} rows "
                      "for each warp",
                      schedule.blockM, schedule.warps, rowsPerWarp));
  if (schedule.registers % 8 != 0 || (schedule.registers != 0 && schedule.registers < fewestRegisters))
    return userError(llvm::formatv("schedule field 'registers' is {0}; legal: {1} to {2} in steps of 8",
                                   schedule.registers, fewestRegisters, mostRegisters));
  complete.overlap = schedule.overlap == Overlap::chosen ? Overlap::softmax : schedule.overlap;
  complete.softmax = schedule.softmax == Softmax::chosen ? Softmax::stale : schedule.softmax;
  complete.persistent = schedule.persistent == Persistent::chosen ? Persistent::off : schedule.persistent;
  if (schedule.registers == 0)
    complete.registers = mostComputeRegisters(schedule.warps);
  if (const int32_t most = mostComputeRegisters(schedule.warps); complete.registers > most)
    return userError(llvm::formatv("schedule field 'registers' is {0}; of the {1} registers of a multiprocessor {2} "
                                   "warps that compute and a producer's four can have up to {3} a thread",
                                   complete.registers, target.nvidia.registersPerSm, schedule.warps, most));
  return complete;
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target) {
  const Target::Nvidia &gpu = target.nvidia;
  Schedule complete = schedule;
  complete.blockM = schedule.blockM ? schedule.blockM : 64;
  complete.blockN = schedule.blockN ? schedule.blockN : 64;
  complete.warps = schedule.warps ? schedule.warps : 4;
  complete.stages = schedule.stages ? schedule.stages : 2;
  if (!llvm::isPowerOf2_32(static_cast<uint32_t>(complete.warps))) // layouts are maps over the bits of a warp's number
    return userError(llvm::formatv("schedule field 'warps' is {0}; legal: a power of two from 1 to {1}, or 0 for the "
                                   "target's choice",
                                   complete.warps, gpu.threadsPerBlock / 32));
  if (complete.stages > 2 && !gpu.hasCpAsync) // registers hold one step
    return userError(
        llvm::formatv("schedule field 'stages' is {0}, and '{1}' has no asynchronous copies (cp.async, "
                      "from sm_80) to load further ahead with; legal: 1 or 2, or 0 for the target's choice",
                      complete.stages, target.name()));
  return completeRoles(complete, target);
}

} // namespace sectile::nvptx

llvm::Expected<std::string> sectile::nvidiaTargetName(int major, int minor) {
  using namespace nvptx;
  const Architecture *best = nullptr;
  for (const Architecture &a : architectures) // ascending: the last one that runs there
    if (a.sm / 10 == major && (a.specific ? a.sm % 10 == minor : a.sm % 10 <= minor))
      best = &a;
  if (best)
    return "nvptx:" + nameOf(*best);
  return deviceError(llvm::formatv("a device of compute capability {0}.{1} is not supported; kernels can be compiled "
                                   "for {2}",
                                   major, minor, legalNames()));
}
