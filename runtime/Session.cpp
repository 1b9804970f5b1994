#include "sectile/Session.h"

#include "runtime/Binding.h"
#include "runtime/FrontTable.h"
#include "runtime/KernelProvider.h"
#include "runtime/cuda/HostGuard.h"
#include "sectile/Error.h"

#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using namespace sectile;

//===-- options -------------------------------------------------------------------------------------------------===//

static constexpr int mostThreads = 1024;

/// Refuses what is malformed or not part of this version, by name.
static const Options &checked(const Options &options) {
  if (options.autotune != Options::Autotune::off)
    throw UserError(std::string("option 'autotune' (SECTILE_AUTOTUNE) is ") +
                    (options.autotune == Options::Autotune::on ? "on (1)" : "force") +
                    ": autotuning is not part of this version; legal: off (0)");
  if (options.logLevel < 0 || options.logLevel > 3)
    throw UserError("option 'logLevel' (SECTILE_LOG) is " + std::to_string(options.logLevel) + "; legal: 0 to 3");
  if (options.threads < 0 || options.threads > mostThreads)
    throw UserError("option 'threads' is " + std::to_string(options.threads) +
                    "; legal: 0 (as many as the process may run on) to " + std::to_string(mostThreads));
  return options;
}

/// How many host threads a session has; on a GPU there is nothing for them to do.
static int hostThreads(const Options &options, const Placement &placement) {
  if (placement.target.kind != Target::Kind::nvptx)
    return options.threads;
  if (options.threads != 0)
    throw UserError("option 'threads' is " + std::to_string(options.threads) + ", and the target " +
                    placement.target.name() + " has no host threads; legal: 0");
  return 1;
}

//===-- session -------------------------------------------------------------------------------------------------===//

class Session::Impl {
public:
  explicit Impl(const Options &given)
      : options(checked(given)), log(options), placement(placeSession(options)), provider(options, placement, log),
        pool(hostThreads(options, placement)) {
    std::string where = placement.target.name();
    if (placement.cuda)
      where += " on " + placement.cuda->preferred->text() + (placement.cuda->only ? "" : " and others of its kind");
    else if (placement.target.kind != Target::Kind::nvptx)
      where += ", " + std::to_string(pool.threads()) + " threads";
    log.write(Log::info, "session on " + where + ", cache " + provider.cacheLocation() +
                             (placement.reason.empty() ? "" : "; target not given: " + placement.reason));
  }

  // Return what was launched.
  const LoadedKernel &launchOnHost(const Instance &kernel, const Grid &grid, std::span<const Argument> arguments,
                                   const Schedule &schedule);
  const LoadedKernel &launchOnCuda(const Stream &stream, const Instance &kernel, const Grid &grid,
                                   std::span<const Argument> arguments, const Schedule &schedule);

  /// Compiles, or finds what is not in the front table.
  [[gnu::noinline]] const LoadedKernel &make(const Instance &kernel, std::span<const Argument> arguments,
                                             const Schedule &schedule, const FrontKey &key,
                                             const cuda::Device *device) {
    KernelProvider::Provided provided = provider.provide(kernel, arguments, schedule, key, device);
    if (provided.how.source != LaunchRecord::Source::memory)
      provided.how.reason = front.whyMissing(key, kernel.name, provided.kernel->parameters());
    const LoadedKernel *made = front.insert(key, kernel.name, std::move(provided.kernel));
    history.recordMiss(made, std::move(provided.how));
    return *made;
  }

  /// The number of threads that a launch may use.
  int threadsFor(const Instance &kernel, const Schedule &schedule) const {
    if (schedule.threads > pool.threads())
      throw UserError(std::string("kernel '") + kernel.name + "': schedule field 'threads' is " +
                      std::to_string(schedule.threads) + ", the session has " + std::to_string(pool.threads()) +
                      "; legal: 0 (all) to " + std::to_string(pool.threads()));
    return schedule.threads > 0 ? schedule.threads : pool.threads();
  }

  /// What the target's code makes use of.
  FrontKey::Uses uses() const {
    const bool isGpu = placement.target.kind == Target::Kind::nvptx || placement.target.kind == Target::Kind::amdgcn;
    return {.alignment = isGpu, .bulk = placement.target.nvidia.hasTma};
  }

  [[noreturn, gnu::cold, gnu::noinline]] void refuseStream(const Instance &kernel, const char *given,
                                                           const char *legal) const {
    throw UserError(std::string("kernel '") + kernel.name + "': the stream is " + given + ", the session is on " +
                    placement.target.name() + "; legal: " + legal);
  }

  const Options options;
  Log log;
  const Placement placement;
  KernelProvider provider;
  FrontTable front;
  History history;
  ScratchPool scratch;
  ThreadPool pool; // last: its threads end before anything that they might use
};

Session::Session(const Options &options) : impl(std::make_unique<Impl>(options)) {}
Session::~Session() = default;

const LoadedKernel &Session::Impl::launchOnHost(const Instance &kernel, const Grid &grid,
                                                std::span<const Argument> arguments, const Schedule &schedule) {
  // 1. Find the code.
  const bool any = checkGrid(kernel.name, grid);
  const int threads = threadsFor(kernel, schedule);
  const FrontKey key(kernel, arguments, schedule, uses());
  const LoadedKernel *found = front.find(key, kernel.name);
  if (!found) // asking every time would cost more than all else
    cuda::refuseDeviceMemory(options.cudaDriver, kernel.name, arguments);
  const LoadedKernel &compiled = found ? *found : make(kernel, arguments, schedule, key, nullptr);
  // 2. Check and pack.
  ArgumentWords words;
  bindArguments(compiled.name(), compiled.parameters(), arguments, words);
  // 3. Run.
  history.recordLaunch(&compiled, /*hit=*/found != nullptr);
  if (any)
    compiled.run(words.data(), grid, threads, pool, scratch);
  return compiled;
}

/// May be captured into a graph, as long as nothing has to be compiled or loaded.
const LoadedKernel &Session::Impl::launchOnCuda(const Stream &stream, const Instance &kernel, const Grid &grid,
                                                std::span<const Argument> arguments, const Schedule &schedule) {
  if (!placement.cuda)
    throw DeviceError(std::string("kernel '") + kernel.name + "' is for " + placement.target.name() +
                      ", and this machine cannot run it, " + placement.obstacle);
  // 1. Find the device and the code.
  const bool any = checkGrid(kernel.name, grid);
  const auto handle = static_cast<cuda::StreamHandle>(stream.handle());
  const cuda::Device &device = cuda::deviceOf(*placement.cuda, kernel.name, handle, arguments);
  const FrontKey key(kernel, arguments, schedule, uses());
  const LoadedKernel *found = front.find(key, kernel.name);
  if (!found)
    cuda::refuseDuringCapture(device, kernel.name, handle, "compiled");
  const LoadedKernel &compiled = found ? *found : make(kernel, arguments, schedule, key, &device);
  const cuda::Kernel::Code *code = compiled.onCuda().find(device);
  if (!code) {
    cuda::refuseDuringCapture(device, kernel.name, handle, "loaded on " + device.text());
    code = &compiled.onCuda().load(device);
  }
  // 2. Check and pack.
  ArgumentWords words;
  bindArguments(compiled.name(), compiled.parameters(), arguments, words);
  // 3. Queue.
  if (any)
    cuda::launch(compiled.onCuda(), *code, handle, grid, compiled.parameters(), arguments, words);
  else
    cuda::checkMemory(compiled.onCuda(), device, compiled.parameters(), arguments, words);
  history.recordLaunch(&compiled, /*hit=*/found != nullptr);
  return compiled;
}

void Session::launch(const Stream &stream, const Instance &kernel, const Grid &grid,
                     std::span<const Argument> arguments, const Schedule &schedule) {
  const bool logged = impl->log.enabled(Log::launches);
  const auto start = logged ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  const bool host = impl->placement.target.kind != Target::Kind::nvptx;
  if (host != (stream.kind() == Stream::Kind::host))
    host ? impl->refuseStream(kernel, "a CUDA stream", "Stream::host()")
         : impl->refuseStream(kernel, "Stream::host()",
                              "Stream::cuda(stream) with arrays in device memory, or a session of the target 'cpu'");
  const LoadedKernel &launched = host ? impl->launchOnHost(kernel, grid, arguments, schedule)
                                      : impl->launchOnCuda(stream, kernel, grid, arguments, schedule);
  if (logged)
    impl->log.write(
        Log::launches,
        llvm::formatv("kernel '{0}': grid {1} x {2} x {3}, {4}{5:f1} us, key {6}", launched.name(), grid.x, grid.y,
                      grid.z, host ? "" : "queued in ",
                      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count(),
                      launched.key()));
}

std::shared_ptr<const Executable> Session::prepare(const Instance &kernel, std::span<const Argument> arguments,
                                                   const Schedule &schedule) {
  (void)impl->threadsFor(kernel, schedule);
  const FrontKey key(kernel, arguments, schedule, impl->uses());
  const LoadedKernel *found = impl->front.find(key, kernel.name);
  const LoadedKernel &compiled = found ? *found : impl->make(kernel, arguments, schedule, key, nullptr);
  checkArguments(compiled.name(), compiled.parameters(), arguments);
  if (found)
    impl->history.recordHit(found);
  return impl->front.share(key, kernel.name);
}

const std::string &Session::target() const { return impl->placement.targetKey; }
const Options &Session::options() const { return impl->options; }
int Session::threads() const { return impl->pool.threads(); }
std::string Session::cacheLocation() const { return impl->provider.cacheLocation(); }
CacheCounters Session::counters() const { return impl->history.counters(); }
std::vector<LaunchRecord> Session::history() const { return impl->history.records(); }
