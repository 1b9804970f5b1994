// The one implementation of Executable: a cache entry made runnable.
#pragma once

#include "runtime/CacheEntry.h"
#include "runtime/Placement.h"
#include "runtime/ScratchPool.h"
#include "runtime/host/ThreadPool.h"

#include <mutex>

namespace sectile {

class HostCode;
class EmulatedKernel;

class LoadedKernel final : public Executable {
public:
  /// Loads the machine code, on `device` when the placement has GPUs, or parses the tile stage for the interpreter.
  /// Where the placement has an obstacle nothing is loaded, and running is refused.
  static llvm::Expected<std::shared_ptr<LoadedKernel>> create(CacheEntry entry, const Placement &placement,
                                                              const cuda::Device *device);
  ~LoadedKernel() override;

  const std::string &name() const override { return entry.name; }
  const std::string &key() const override { return entry.key; }
  const std::string &target() const override { return entry.target; }
  const Schedule &schedule() const override { return entry.schedule; }
  const std::vector<Stage> &stages() const override;
  const Resources &resources() const override { return entry.artifact.resources; }

  const std::vector<Parameter> &parameters() const { return entry.artifact.parameters; }

  /// On a target of the host, or an emulated one: runs every program of the grid and returns when all have run. `words`
  /// as in HostEntry; at most `threads` threads. Throws what the emulator found: DeviceError.
  void run(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool, ScratchPool &scratch) const;

  /// Where the placement has GPUs.
  const cuda::Kernel &onCuda() const { return *cudaKernel; }

private:
  LoadedKernel() = default;
  llvm::Error load(const Placement &placement, const cuda::Device *device);
  llvm::Error loadOnCuda(const cuda::Machine &machine, const cuda::Device &device);
  [[noreturn]] void refuseToRun() const;
  void runHost(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool, ScratchPool &scratch) const;
  void runInterpreted(const int64_t *words, const Grid &grid, int threads, ThreadPool &pool) const;
  void runEmulated(const int64_t *words, const Grid &grid, int threads) const;

  CacheEntry entry;
  std::string obstacle;
  std::string toolkit;                      // nvptx: where the disassembler is
  mutable std::once_flag listed;            // by the first one who looks at the stages
  mutable std::vector<Stage> stagesAndList; // those of `entry` and "sass"; empty where there is no such stage
  int64_t scratchBytes = 0;
  std::shared_ptr<HostCode> code;            // cpu
  HostEntry function = nullptr;              // of `code`
  std::unique_ptr<TracedKernel> interpreted; // interpret
  std::unique_ptr<cuda::Kernel> cudaKernel;  // nvptx
  std::unique_ptr<EmulatedKernel> emulated;  // amdgcn
};

} // namespace sectile
