// What a kernel takes of a compute unit, held against what there is.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Amdgcn.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace sectile::amdgcn {

llvm::Error checkFits(const Usage &usage, llvm::StringRef entry, const Target &target, const Schedule &schedule) {
  const auto refuse = [&](const std::string &uses, int64_t allowed, const char *remedy) {
    return userError(llvm::formatv("kernel '{0}' with schedule '{1}' {2}; {3} allows {4}; {5} would take less", entry,
                                   toString(schedule), uses, target.processor, allowed, remedy));
  };
  if (usage.threads > target.amd.threadsPerGroup)
    return refuse(llvm::formatv("has {0} threads", usage.threads), target.amd.threadsPerGroup, "fewer warps");
  if (usage.sharedBytes > target.amd.ldsPerGroup)
    return refuse(llvm::formatv("uses {0} bytes of shared memory", usage.sharedBytes), target.amd.ldsPerGroup,
                  "a smaller blockM or blockN");
  return llvm::Error::success();
}

int64_t wavesPerSimd(const Usage &usage, const Target &target) {
  const int64_t waves = occupancy(usage, target) * llvm::divideCeil(usage.threads, target.amd.lanes);
  return std::max<int64_t>(1, waves / target.amd.simdsPerUnit);
}

int64_t occupancy(const Usage &usage, const Target &target) {
  const Target::Amd &gpu = target.amd;
  const int64_t waves = std::max<int64_t>(1, llvm::divideCeil(usage.threads, gpu.lanes));
  // 1. Registers: waves are spread over the SIMDs.
  const auto registers = static_cast<int64_t>(llvm::alignTo(
      static_cast<uint64_t>(std::max<int64_t>(usage.vectorRegisters, 1)), static_cast<uint64_t>(gpu.registerGranule)));
  const int64_t perSimd = std::min<int64_t>(gpu.wavesPerSimd, gpu.registersPerLane / registers);
  int64_t groups = perSimd * gpu.simdsPerUnit / waves;
  // 2. LDS, in pieces of 512 bytes.
  constexpr uint64_t piece = 512;
  if (usage.sharedBytes > 0)
    groups = std::min(groups, gpu.ldsPerUnit /
                                  static_cast<int64_t>(llvm::alignTo(static_cast<uint64_t>(usage.sharedBytes), piece)));
  return groups;
}

} // namespace sectile::amdgcn
