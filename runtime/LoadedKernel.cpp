#include "runtime/LoadedKernel.h"

#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/host/HostCode.h"
#include "sectile/Error.h"

#include <atomic>
#include <optional>

using namespace sectile;

LoadedKernel::~LoadedKernel() = default;

llvm::Expected<std::shared_ptr<LoadedKernel>> LoadedKernel::create(CacheEntry entry, Target::Kind kind,
                                                                   const std::string &lacking) {
  std::shared_ptr<LoadedKernel> kernel(new LoadedKernel());
  kernel->entry = std::move(entry);
  const Artifact &artifact = kernel->entry.artifact;
  for (const auto &[name, value] : artifact.resources)
    if (name == "scratch_bytes")
      kernel->scratchBytes = value;
  kernel->lacking = lacking;
  if (!lacking.empty())
    return kernel;
  if (kind == Target::Kind::interpret) {
    try {
      kernel->interpreted =
          std::make_unique<TracedKernel>(TracedKernel::parse(artifact.binary(), artifact.stages.back().file));
    } catch (const UserError &e) {
      return userError(e.what());
    } catch (const std::exception &e) {
      return internalError(e.what());
    }
    return kernel;
  }
  llvm::Expected<std::shared_ptr<HostCode>> code = HostCode::load(artifact.binary(), artifact.entry);
  if (!code)
    return code.takeError();
  kernel->code = std::move(*code);
  kernel->function = kernel->code->entry();
  return kernel;
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

void LoadedKernel::run(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool,
                       ScratchPool &scratch) const {
  if (function)
    runHost(words, grid, threads, pool, scratch);
  else if (interpreted)
    runInterpreted(words, grid, threads, pool);
  else
    throw DeviceError("kernel '" + entry.name + "' was compiled for " +
                      entry.target.substr(0, entry.target.find(":+")) +
                      ", and this machine cannot run it, as it lacks " + lacking +
                      "; legal: the target cpu, or a processor without these");
}
