// What a processor can do: from the machine at hand, or from LLVM's definition of a named one.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/cpu/X86.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"

#include <map>
#include <sys/syscall.h>
#include <unistd.h>

namespace sectile::cpu {
namespace {

/// Every feature known of a processor: whether it has it. Ordered, so that its text is the same in every process.
using Features = std::map<std::string, bool>;

bool has(const Features &features, llvm::StringRef name) {
  auto found = features.find(name.str());
  return found != features.end() && found->second;
}

/// Asks Linux to let this process use AMX's tile registers, which it does on request only, once for all.
bool permitAmx() {
  constexpr int requestPermission = 0x1023; // ARCH_REQ_XCOMP_PERM
  constexpr int tileData = 18;              // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
}

/// Features of this machine that the operating system has enabled: LLVM reads cpuid and xgetbv.
Features hostFeatures() {
  Features features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features[feature.first().str()] = feature.second;
  if (has(features, "amx-tile") && !permitAmx())
    for (auto &[name, present] : features)
      if (llvm::StringRef(name).starts_with("amx-"))
        present = false;
  return features;
}

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(llvm::StringRef processor) {
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      x86Backend().createMCSubtargetInfo(llvm::Triple(tripleName), processor, ""));
}

/// Of a processor's features those that a host reports: the others are its tuning, which comes with its name.
Features definedFeatures(const llvm::MCSubtargetInfo &info) {
  const llvm::StringMap<bool> reported = llvm::sys::getHostCPUFeatures();
  Features features;
  for (const llvm::SubtargetFeatureKV &feature : info.getEnabledProcessorFeatures())
    if (reported.contains(feature.Key))
      features[feature.Key] = true;
  return features;
}

llvm::SmallVector<llvm::StringRef> missing(const Features &features) {
  llvm::SmallVector<llvm::StringRef> names;
  for (llvm::StringRef name : {"avx2", "fma", "f16c"})
    if (!has(features, name))
      names.push_back(name);
  return names;
}

/// The processors that a kernel can be compiled for, for messages.
std::string legalProcessors() {
  std::string names;
  for (const llvm::SubtargetSubTypeKV &processor : subtarget("x86-64")->getAllProcessorDescriptions())
    if (missing(definedFeatures(*subtarget(processor.Key))).empty())
      names += (names.empty() ? "" : ", ") + std::string(processor.Key);
  return names;
}

int64_t cacheBytes(int name, int64_t typical) {
  long bytes = sysconf(name);
  return bytes > 0 ? bytes : typical;
}

} // namespace

llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef /*toolkit*/) {
  constexpr int64_t typicalL1 = 32 << 10, typicalL2 = 1 << 20;
  Target target;
  Features features;
  if (processor.empty()) {
    target.processor = llvm::sys::getHostCPUName().str();
    target.l1Bytes = cacheBytes(_SC_LEVEL1_DCACHE_SIZE, typicalL1);
    target.l2Bytes = cacheBytes(_SC_LEVEL2_CACHE_SIZE, typicalL2);
    features = hostFeatures();
    if (auto names = missing(features); !names.empty())
      return deviceError(
          llvm::formatv("target 'cpu': this machine's processor '{0}' lacks {1}, or the operating system "
                        "has not enabled it; kernels need AVX2, FMA and F16C",
                        target.processor, llvm::join(names, ", ")));
  } else {
    std::unique_ptr<llvm::MCSubtargetInfo> known = subtarget("x86-64");
    if (!known->isCPUStringValid(processor))
      return userError(llvm::formatv("target 'cpu:{0}': LLVM knows no such x86-64 processor; legal: {1}", processor,
                                     legalProcessors()));
    target.processor = processor.str();
    target.l1Bytes = typicalL1;
    target.l2Bytes = typicalL2;
    features = definedFeatures(*subtarget(processor));
    if (auto names = missing(features); !names.empty())
      return userError(
          llvm::formatv("target 'cpu:{0}': the processor lacks {1}; kernels need AVX2, FMA and F16C; legal: "
                        "{2}",
                        processor, llvm::join(names, ", "), legalProcessors()));
  }

  for (const auto &[name, present] : features) {
    if (!target.features.empty())
      target.features += ',';
    target.features += (present ? '+' : '-') + name;
  }
  bool avx512 = llvm::all_of(llvm::ArrayRef<llvm::StringRef>{"avx512f", "avx512vl", "avx512bw", "avx512dq"},
                             [&](llvm::StringRef name) { return has(features, name); });
  target.vectorBits = avx512 ? 512 : 256;
  target.vectorRegisters = avx512 ? 32 : 16;
  target.hasFma = true;
  target.hasF16c = true;
  target.hasAvx512Bf16 = avx512 && has(features, "avx512bf16");
  target.hasAmxBf16 = has(features, "amx-tile") && has(features, "amx-bf16");
  return target;
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target) {
  Schedule complete = schedule;
  complete.blockM = schedule.blockM ? schedule.blockM : 64;
  complete.blockN = schedule.blockN ? schedule.blockN : 64;
  int32_t widest = target.vectorBits / 32;
  complete.vectorWidth = schedule.vectorWidth ? schedule.vectorWidth : widest;
  llvm::SmallVector<int32_t> widths;
  for (int32_t width = 4; width <= widest; width *= 2)
    widths.push_back(width);
  if (!llvm::is_contained(widths, complete.vectorWidth))
    return userError(llvm::formatv("schedule field 'vectorWidth' is {0}; '{1}' can do {2:$[, ]}, or 0 for the widest",
                                   schedule.vectorWidth, target.name(),
                                   llvm::make_range(widths.begin(), widths.end())));
  return complete;
}

} // namespace sectile::cpu
