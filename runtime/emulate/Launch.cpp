#include "runtime/emulate/Group.h"

#include "compiler/support/Diagnostic.h"

#include <atomic>
#include <mutex>
#include <thread>

using namespace sectile;
using namespace sectile::emulate;

/// The explicit arguments, then the hidden ones of code object v5: counts and sizes of groups, the rest 0.
static std::vector<uint8_t> kernargBlock(const Launch &launch) {
  constexpr size_t hiddenSize = 256;
  const size_t hidden = launch.kernarg.size() * sizeof(int64_t);
  std::vector<uint8_t> block(hidden + hiddenSize, 0);
  if (hidden)
    std::memcpy(block.data(), launch.kernarg.data(), hidden);
  auto set = [&](size_t offset, auto value) { std::memcpy(block.data() + hidden + offset, &value, sizeof value); };
  set(0, uint32_t(launch.groups)), set(4, uint32_t(1)), set(8, uint32_t(1));
  set(12, uint16_t(launch.threads)), set(14, uint16_t(1)), set(16, uint16_t(1));
  set(64, uint16_t(1)); // the dimensions of the grid
  return block;
}

llvm::Expected<Counters> sectile::emulate::run(const CodeObject &code, llvm::StringRef kernel, const Launch &launch) {
  const auto found = code.kernels().find(kernel);
  if (found == code.kernels().end()) {
    std::string known;
    for (const auto &entry : code.kernels())
      known += (known.empty() ? "" : ", ") + entry.getKey().str();
    return userError("emulation: the code object has no kernel '" + kernel.str() + "'; it has " + known);
  }
  KernelDescriptor descriptor = found->second;
  const bool rdna = code.generation() >= Generation::gfx11;
  if (descriptor.wave32 != rdna)
    return userError("emulation of kernel '" + kernel.str() + "': " + code.processor().str() + " runs waves of " +
                     (rdna ? "32" : "64") + " lanes here, and the kernel has others");
  if (!launch.threads || launch.threads > 1024 || !launch.groups)
    return userError("emulation of kernel '" + kernel.str() + "': " + std::to_string(launch.groups) + " groups of " +
                     std::to_string(launch.threads) + " threads; legal are 1 or more groups of 1 to 1024");
  LaunchContext context{code, found->getKey(), descriptor, launch, {}, kernargBlock(launch)};
  if (descriptor.kernargSize > context.kernarg.size())
    return userError("emulation of kernel '" + kernel.str() + "': it takes " + std::to_string(descriptor.kernargSize) +
                     " bytes of arguments, and " + std::to_string(context.kernarg.size()) + " are there");
  if (descriptor.preload & 0x7f)
    descriptor.entry += 256; // what loads the registers where nobody preloads them
  context.ranges.assign(launch.memory.begin(), launch.memory.end());
  const uint64_t kernarg = reinterpret_cast<uint64_t>(context.kernarg.data());
  context.ranges.push_back({kernarg, kernarg + context.kernarg.size(), false, "the kernel's arguments"});
  for (const CodeObject::Segment &segment : code.segments())
    context.ranges.push_back({segment.begin, segment.end, segment.writable, "a segment of the code object"});

  std::atomic<uint32_t> next = 0;
  std::mutex mutex;
  Counters counters;
  std::string error;
  std::atomic<bool> failed = false;
  auto work = [&] {
    Group group(context);
    for (uint32_t number = next++; number < launch.groups && !failed; number = next++)
      if (!group.run(number)) {
        const std::lock_guard lock(mutex);
        if (!failed.exchange(true))
          error = group.error;
      }
    const std::lock_guard lock(mutex);
    counters += group.counters;
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::min<unsigned>(launch.workers, launch.groups); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  if (failed)
    return userError(error);
  return counters;
}
