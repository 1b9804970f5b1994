#include "runtime/LoadedKernel.h"

#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/EmulatedKernel.h"
#include "runtime/host/HostCode.h"
#include "sectile/Error.h"

#include <atomic>
#include <optional>

using namespace sectile;

LoadedKernel::~LoadedKernel() = default;

llvm::Expected<std::shared_ptr<LoadedKernel>> LoadedKernel::create(CacheEntry entry, const Placement &placement,
                                                                   const cuda::Device *device) {
  std::shared_ptr<LoadedKernel> kernel(new LoadedKernel());
  kernel->entry = std::move(entry);
  kernel->obstacle = placement.obstacle;
  kernel->toolkit = placement.target.nvidia.toolkit;
  for (const auto &[name, value] : kernel->entry.artifact.resources)
    if (name == "scratch_bytes")
      kernel->scratchBytes = value;
  if (placement.obstacle.empty())
    if (llvm::Error error = kernel->load(placement, device))
      return error;
  return kernel;
}

const std::vector<Stage> &LoadedKernel::stages() const {
  const std::vector<Stage> &compiled = entry.artifact.stages;
  if (compiled.back().name != "cubin")
    return compiled;
  // A program is run for it, which no launch should pay for.
  std::call_once(listed, [&] {
    if (std::optional<Stage> sass = listingOf(compiled.back(), toolkit)) {
      stagesAndList = compiled;
      stagesAndList.push_back(std::move(*sass));
    }
  });
  return stagesAndList.empty() ? compiled : stagesAndList;
}

llvm::Error LoadedKernel::load(const Placement &placement, const cuda::Device *device) {
  const Artifact &artifact = entry.artifact;
  if (placement.cuda)
    return loadOnCuda(*placement.cuda, device ? *device : *placement.cuda->preferred);
  if (placement.target.kind == Target::Kind::interpret) {
    try {
      interpreted = std::make_unique<TracedKernel>(TracedKernel::parse(artifact.binary(), artifact.stages.back().file));
    } catch (const UserError &e) {
      return userError(e.what());
    } catch (const std::exception &e) {
      return internalError(e.what());
    }
    return llvm::Error::success();
  }
  if (placement.emulated) {
    llvm::Expected<std::unique_ptr<EmulatedKernel>> kernel = EmulatedKernel::load(artifact);
    if (!kernel)
      return kernel.takeError();
    emulated = std::move(*kernel);
    return llvm::Error::success();
  }
  llvm::Expected<std::shared_ptr<HostCode>> loaded = HostCode::load(artifact.binary(), artifact.entry);
  if (!loaded)
    return loaded.takeError();
  code = std::move(*loaded);
  function = code->entry();
  return llvm::Error::success();
}

llvm::Error LoadedKernel::loadOnCuda(const cuda::Machine &machine, const cuda::Device &device) {
  llvm::Expected<std::unique_ptr<cuda::Kernel>> created = cuda::Kernel::create(machine.devices, entry);
  if (!created)
    return created.takeError();
  cudaKernel = std::move(*created);
  try {
    // What the compiler does not know where it has no assembler, the driver does.
    const cuda::Kernel::Code &code = cudaKernel->load(device);
    Resources &resources = entry.artifact.resources;
    for (auto [name, value] : {std::pair("registers", code.registers), std::pair("spill_bytes", code.spillBytes),
                               std::pair("occupancy_blocks", code.blocksPerMultiprocessor)})
      if (llvm::none_of(resources, [&](const auto &resource) { return resource.first == name; }))
        resources.emplace_back(name, value);
  } catch (const DeviceError &e) {
    return deviceError(e.what());
  } catch (const std::exception &e) {
    return internalError(e.what());
  }
  return llvm::Error::success();
}

namespace {
/// The coordinates of a program from its number, x fastest.
struct Program {
  int32_t x, y, z;
  Program(const Grid &grid, int64_t index)
      : x(static_cast<int32_t>(index % grid.x)), y(static_cast<int32_t>(index / grid.x % grid.y)),
        z(static_cast<int32_t>(index / grid.x / grid.y)) {}
};
} // namespace

void LoadedKernel::runHost(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool,
                           ScratchPool &scratch) const {
  const ScratchPool::Block block = scratch.borrow(static_cast<size_t>(scratchBytes), pool.threads());
  pool.parallelFor(grid.x * grid.y * grid.z, threads, [&](int64_t index, int worker) {
    const Program program(grid, index);
    function(words, program.x, program.y, program.z, block.slab(worker));
  });
}

void LoadedKernel::runInterpreted(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool) const {
  std::atomic<bool> failed = false;
  std::optional<llvm::Error> first; // written by the thread that sets `failed`
  pool.parallelFor(grid.x * grid.y * grid.z, threads, [&](int64_t index, int) {
    if (failed.load(std::memory_order_relaxed))
      return;
    const Program program(grid, index);
    llvm::Error error = interpret(*interpreted, words, program.x, program.y, program.z);
    if (!error)
      return;
    if (failed.exchange(true))
      llvm::consumeError(std::move(error));
    else
      first.emplace(std::move(error));
  });
  if (first)
    throwError(std::move(*first));
}

void LoadedKernel::runEmulated(const int64_t *words, const Grid &grid, int threads) const {
  if (llvm::Expected<emulate::Counters> counters = emulated->run(words, grid, threads); !counters)
    throwError(counters.takeError());
}

void LoadedKernel::run(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool,
                       ScratchPool &scratch) const {
  if (function)
    runHost(words, grid, threads, pool, scratch);
  else if (interpreted)
    runInterpreted(words, grid, threads, pool);
  else if (emulated)
    runEmulated(words, grid, threads);
  else
    refuseToRun();
}

void LoadedKernel::refuseToRun() const {
  throw DeviceError("kernel '" + entry.name + "' was compiled for " + entry.target.substr(0, entry.target.find(":+")) +
                    ", and this machine cannot run it, " + obstacle);
}
