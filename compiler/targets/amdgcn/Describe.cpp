// What each AMD GPU has. Sources: AMD's ISA documents ("AMD Instinct MI200", "MI300", "CDNA 4", "RDNA 3" and "RDNA 4
// Instruction Set Architecture"), and LLVM's "User Guide for AMDGPU Backend" for the granules of allocation.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Amdgcn.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

namespace sectile::amdgcn {
namespace {

using Unit = Target::Amd::MatrixUnit;

struct Processor {
  llvm::StringLiteral name;
  Unit unit;
  int ldsPerGroup, ldsPerUnit; // KiB; of a compute unit, or of RDNA's workgroup processor
  int registersPerLane;        // of a SIMD: CDNA's two files are one
  int registerGranule, registersPerWave;
  int wavesPerSimd;
};

constexpr Processor processors[] = {
    // name, unit, LDS: group, unit, registers: SIMD, granule, wave; waves
    {"gfx90a", Unit::mfma, 64, 64, 512, 8, 512, 8},        // MI200
    {"gfx942", Unit::mfma, 64, 64, 512, 8, 512, 8},        // MI300
    {"gfx950", Unit::mfmaWide, 160, 160, 512, 8, 512, 8},  // MI350
    {"gfx1100", Unit::wmma11, 64, 128, 1536, 24, 256, 16}, // RX 7900
    {"gfx1201", Unit::wmma12, 64, 128, 1536, 24, 256, 16}, // RX 9070
};

std::string legalNames() {
  return llvm::join(llvm::map_range(processors, [](const Processor &p) { return "amdgcn:" + p.name.str(); }), ", ");
}

} // namespace

llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef) {
  if (processor.empty())
    return userError("target 'amdgcn' lacks a processor; legal: " + legalNames());
  const auto *found = llvm::find_if(processors, [&](const Processor &p) { return p.name == processor; });
  if (found == std::end(processors))
    return userError(
        llvm::formatv("target 'amdgcn:{0}': there is no such processor; legal: {1}", processor, legalNames()));
  Target target;
  target.kind = Target::Kind::amdgcn;
  target.processor = processor.str();
  Target::Amd &gpu = target.amd;
  gpu.unit = found->unit;
  gpu.lanes = gpu.isCdna() ? 64 : 32;
  gpu.ldsPerGroup = int64_t{found->ldsPerGroup} << 10;
  gpu.ldsPerUnit = int64_t{found->ldsPerUnit} << 10;
  gpu.registersPerLane = found->registersPerLane;
  gpu.registerGranule = found->registerGranule;
  gpu.registersPerWave = found->registersPerWave;
  gpu.wavesPerSimd = found->wavesPerSimd;
  return target;
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target) {
  Schedule complete = schedule;
  complete.blockM = schedule.blockM ? schedule.blockM : 64;
  complete.blockN = schedule.blockN ? schedule.blockN : 64;
  complete.warps = schedule.warps ? schedule.warps : 4;
  complete.stages = schedule.stages ? schedule.stages : 1;
  const int64_t mostWarps = target.amd.threadsPerGroup / target.amd.lanes;
  if (!llvm::isPowerOf2_32(static_cast<uint32_t>(complete.warps)) || complete.warps > mostWarps)
    return userError(
        llvm::formatv("schedule field 'warps' is {0}; legal on {1}, whose waves have {2} lanes: a power of "
                      "two from 1 to {3}, or 0 for the target's choice",
                      complete.warps, target.processor, target.amd.lanes, mostWarps));
  if (complete.stages > 2) // registers hold one step
    return userError(
        llvm::formatv("schedule field 'stages' is {0}; legal on {1}, where loads pass through registers: 1 "
                      "or 2, or 0 for the target's choice",
                      complete.stages, target.processor));
  return complete;
}

} // namespace sectile::amdgcn
