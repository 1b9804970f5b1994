// What a kernel takes of a multiprocessor, held against what there is.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sectile::nvptx {

/// Registers that a block of so many threads leaves to each of them.
static int64_t registersLeft(int64_t threads, const Target::Nvidia &gpu) {
  constexpr int64_t granularity = 8; // of a thread's registers
  return std::min<int64_t>(gpu.registersPerThread, gpu.registersPerSm / threads / granularity * granularity);
}

llvm::Error checkFits(const Usage &usage, llvm::StringRef entry, const Target &target, const Schedule &schedule) {
  const Target::Nvidia &gpu = target.nvidia;
  const auto refuse = [&](const std::string &uses, int64_t allowed, const char *what, const char *remedy) {
    return userError(llvm::formatv("kernel '{0}' with schedule '{1}' {2}; {3} allows {4}{5}; {6} would take less",
                                   entry, toString(schedule), uses, target.processor, allowed, what, remedy));
  };
  if (usage.threads > gpu.threadsPerBlock)
    return refuse(llvm::formatv("has {0} threads", usage.threads), gpu.threadsPerBlock, "", "fewer warps");
  if (usage.sharedBytes > gpu.sharedPerBlock)
    return refuse(llvm::formatv("uses {0} bytes of shared memory", usage.sharedBytes), gpu.sharedPerBlock, "",
                  schedule.stages > 1 ? "a smaller blockM or blockN, or fewer stages" : "a smaller blockM or blockN");
  if (int64_t left = registersLeft(usage.threads, gpu); usage.registers > left)
    return refuse(
        llvm::formatv("holds {0} registers in each of {1} threads", usage.registers, usage.threads), left, " a thread",
        left < gpu.registersPerThread ? "a smaller blockM, or fewer warps" : "a smaller blockM, or more warps");
  return llvm::Error::success();
}

int64_t occupancy(const Usage &usage, const Target &target) {
  const Target::Nvidia &gpu = target.nvidia;
  // Granularities of allocation: shared memory by 128 bytes a block, registers by 256 a warp. A multiprocessor has four
  // parts, each with a quarter of the registers; a warp lives in one of them.
  constexpr int64_t sharedUnit = 128, registerUnit = 256, parts = 4, warpThreads = 32;
  const int64_t warps = llvm::divideCeil(usage.threads, warpThreads);
  int64_t blocks = std::min<int64_t>(gpu.blocksPerSm, gpu.warpsPerSm / warps);
  blocks = std::min(blocks,
                    gpu.sharedPerSm / static_cast<int64_t>(llvm::alignTo(
                                          static_cast<uint64_t>(usage.sharedBytes + gpu.sharedReserved), sharedUnit)));
  if (usage.registers > 0) {
    const auto warpRegisters =
        static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(usage.registers * warpThreads), registerUnit));
    blocks = std::min(blocks, gpu.registersPerSm / parts / warpRegisters * parts / warps);
  }
  return blocks;
}

} // namespace sectile::nvptx
