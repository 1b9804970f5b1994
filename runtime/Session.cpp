#include "sectile/Session.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/Binding.h"
#include "runtime/FrontTable.h"
#include "runtime/KernelProvider.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
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

static Target resolve(const std::string &name) {
  const bool elsewhere = llvm::StringSwitch<bool>(llvm::StringRef(name).split(':').first)
                             .Cases({"cuda", "hip", "nvptx", "amdgcn", "emulate"}, true)
                             .Default(false);
  if (elsewhere)
    throw DeviceError("target '" + name + "' is not part of this build; it has cpu, cpu:<processor> and interpret");
  return valueOrThrow(resolveTarget(name));
}

/// The features that code for `target` may use and the host lacks: "avx512f, mwaitx". Empty: it runs here.
static std::string lackingHere(const Target &target, llvm::StringRef name) {
  if (target.kind == Target::Kind::interpret || !name.contains(':'))
    return "";
  llvm::Expected<Target> host = resolveTarget("cpu");
  if (!host) // such a machine can still compile for others
    return llvm::toString(host.takeError());
  llvm::StringSet<> present;
  for (llvm::StringRef feature : llvm::split(host->features, ','))
    present.insert(feature);
  std::string lacking;
  for (llvm::StringRef feature : llvm::split(target.features, ','))
    if (feature.starts_with("+") && !present.contains(feature))
      lacking += (lacking.empty() ? "" : ", ") + feature.drop_front().str();
  return lacking;
}

//===-- session -------------------------------------------------------------------------------------------------===//

class Session::Impl {
public:
  explicit Impl(const Options &given)
      : options(checked(given)), log(options), target(resolve(options.target)), targetKey(target.key()),
        provider(options, target, lackingHere(target, options.target), log), pool(options.threads) {
    log.write(Log::info, llvm::formatv("session on {0}, {1} threads, cache {2}", target.name(), pool.threads(),
                                       provider.cacheLocation()));
  }

  /// Compiles, or finds what is not in the front table.
  [[gnu::noinline]] const LoadedKernel &make(const Instance &kernel, std::span<const Argument> arguments,
                                             const Schedule &schedule, const FrontKey &key) {
    KernelProvider::Provided provided = provider.provide(kernel, arguments, schedule, key);
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

  const Options options;
  Log log;
  const Target target;
  const std::string targetKey;
  KernelProvider provider;
  FrontTable front;
  History history;
  ScratchPool scratch;
  ThreadPool pool; // last: its threads end before anything that they might use
};

Session::Session(const Options &options) : impl(std::make_unique<Impl>(options)) {}
Session::~Session() = default;

void Session::launch(const Stream &, const Instance &kernel, const Grid &grid, std::span<const Argument> arguments,
                     const Schedule &schedule) {
  const bool logged = impl->log.enabled(Log::launches);
  const auto start = logged ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  // 1. Find the code.
  const bool any = checkGrid(kernel.name, grid);
  const int threads = impl->threadsFor(kernel, schedule);
  const FrontKey key(kernel, arguments, schedule);
  const LoadedKernel *found = impl->front.find(key, kernel.name);
  const LoadedKernel &compiled = found ? *found : impl->make(kernel, arguments, schedule, key);
  // 2. Check and pack.
  ArgumentWords words;
  bindArguments(compiled.name(), compiled.parameters(), arguments, words);
  // 3. Run.
  impl->history.recordLaunch(&compiled, /*hit=*/found != nullptr);
  if (any)
    compiled.run(words.data(), grid, threads, impl->pool, impl->scratch);
  if (logged)
    impl->log.write(
        Log::launches,
        llvm::formatv("kernel '{0}': grid {1} x {2} x {3}, {4:f1} us, key {5}", compiled.name(), grid.x, grid.y, grid.z,
                      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count(),
                      compiled.key()));
}

std::shared_ptr<const Executable> Session::prepare(const Instance &kernel, std::span<const Argument> arguments,
                                                   const Schedule &schedule) {
  (void)impl->threadsFor(kernel, schedule);
  const FrontKey key(kernel, arguments, schedule);
  const LoadedKernel *found = impl->front.find(key, kernel.name);
  const LoadedKernel &compiled = found ? *found : impl->make(kernel, arguments, schedule, key);
  checkArguments(compiled.name(), compiled.parameters(), arguments);
  if (found)
    impl->history.recordHit(found);
  return impl->front.share(key, kernel.name);
}

const std::string &Session::target() const { return impl->targetKey; }
const Options &Session::options() const { return impl->options; }
int Session::threads() const { return impl->pool.threads(); }
std::string Session::cacheLocation() const { return impl->provider.cacheLocation(); }
CacheCounters Session::counters() const { return impl->history.counters(); }
std::vector<LaunchRecord> Session::history() const { return impl->history.records(); }
