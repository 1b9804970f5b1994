// The slow path: from a kernel that is not in the front table to one that can run.
//
//   trace -> content key -> kernels of this session -> disk cache -> compiler
//
// One compilation of a key happens at a time; other threads wait for it and share its result or its error. An error is
// not remembered: the next call tries again.
#pragma once

#include "runtime/DiskCache.h"
#include "runtime/FrontKey.h"
#include "runtime/History.h"
#include "runtime/LiteralVariants.h"
#include "runtime/StageDump.h"

#include <future>
#include <optional>
#include <unordered_map>

namespace sectile {

class KernelProvider {
public:
  /// `placement` outlives this.
  KernelProvider(const Options &options, const Placement &placement, Log &log);

  struct Provided {
    std::shared_ptr<const LoadedKernel> kernel;
    History::Miss how; ///< without the reason
  };
  /// `device`: the GPU that the kernel is wanted on; null: the placement's. Throws the public errors; UserError when
  /// the arguments do not fit the kernel.
  Provided provide(const Session::Instance &kernel, std::span<const Argument> arguments, const Schedule &schedule,
                   const FrontKey &frontKey, const cuda::Device *device);

  const std::string &cacheLocation() const { return disk.location(); }

private:
  using Result = std::shared_ptr<const LoadedKernel>;
  struct Request;
  Result loadOrCompile(const Request &request, History::Miss &how);
  Result load(const Request &request, History::Miss &how);
  Result compileAndStore(const Request &request, History::Miss &how);

  const Placement &placement;
  Log &log;
  DiskCache disk;
  std::optional<StageDump> dump;
  std::optional<StageOverrides> overrides;
  LiteralVariants literals;
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_future<Result>> kernels; // by content key, under the mutex
};

} // namespace sectile
