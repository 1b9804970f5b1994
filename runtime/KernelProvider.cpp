#include "runtime/KernelProvider.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/Binding.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using namespace sectile;

KernelProvider::KernelProvider(const Options &options, const Placement &placement, Log &log)
    : placement(placement), log(log), disk(options.cache, log), literals(log) {
  if (!options.dump.empty())
    dump.emplace(options.dump, log);
  if (!options.overrides.empty())
    overrides.emplace(options.overrides, log);
}

/// What is asked for, traced.
struct KernelProvider::Request {
  TracedKernel traced;
  Schedule schedule;
  Replacements replacements;
  std::string key;
  double traceMs;
  const cuda::Device *device;
};

namespace {
class Stopwatch {
public:
  double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
};

/// Dumps stages as they are produced, so that those before a failure are there to be looked at, and hands out edited
/// ones.
class CompilationSink final : public StageSink {
public:
  CompilationSink(StageDump *dump, const std::string &kernel, const std::string &key, const Replacements &replacements)
      : dump(dump), kernel(kernel), key(key), replacements(replacements) {}

  void produced(const Stage &stage) override {
    if (dump)
      dump->write(kernel, key, stage);
  }
  std::optional<std::string> replacement(const std::string &file) override {
    auto it = replacements.find(file);
    if (it == replacements.end())
      return std::nullopt;
    used.insert({file, true});
    return it->second;
  }
  /// Files that no stage asked for.
  std::string unused() const {
    std::string files;
    for (const auto &entry : replacements)
      if (!used.contains(entry.getKey()))
        files += (files.empty() ? "'" : ", '") + entry.getKey().str() + "'";
    return files;
  }

private:
  StageDump *const dump;
  const std::string &kernel, &key;
  const Replacements &replacements;
  llvm::StringMap<bool> used;
};
} // namespace

KernelProvider::Result KernelProvider::load(const Request &request, History::Miss &how) {
  const Stopwatch watch;
  std::optional<CacheEntry> entry = disk.load(request.key, placement.targetKey);
  if (!entry)
    return nullptr;
  llvm::Expected<std::shared_ptr<LoadedKernel>> kernel =
      LoadedKernel::create(std::move(*entry), placement, request.device);
  if (!kernel) {
    disk.warnDamaged(request.key, llvm::toString(kernel.takeError()));
    return nullptr;
  }
  how.source = LaunchRecord::Source::disk;
  how.loadMs = watch.ms();
  log.write(Log::info, llvm::formatv("kernel '{0}': loaded in {1:f1} ms, traced in {2:f1} ms, key {3}",
                                     request.traced.name(), how.loadMs, request.traceMs, request.key));
  return std::move(*kernel);
}

KernelProvider::Result KernelProvider::compileAndStore(const Request &request, History::Miss &how) {
  const Stopwatch watch;
  const std::string &name = request.traced.name();
  // 1. Compile.
  CompilationSink sink(dump && dump->wants(name) ? &*dump : nullptr, name, request.key, request.replacements);
  CacheEntry entry{buildId(),
                   request.key,
                   name,
                   placement.targetKey,
                   request.schedule,
                   valueOrThrow(compile(request.traced, placement.target, request.schedule, &sink))};
  if (placement.cuda)
    if (const Stage *stage = cuda::assemble(entry, request.device ? *request.device : *placement.cuda->preferred))
      sink.produced(*stage);
  if (std::string files = sink.unused(); !files.empty()) {
    auto stages = llvm::map_range(entry.artifact.stages, [](const Stage &stage) { return stage.file; });
    log.write(Log::warning, "kernel '" + name + "': override " + files + " replaces nothing; its stages are " +
                                llvm::join(stages, ", "));
  }
  // 2. Make it runnable before it is stored: what does not load must not be found by others.
  CacheEntry copy = entry;
  std::shared_ptr<LoadedKernel> kernel = valueOrThrow(LoadedKernel::create(std::move(copy), placement, request.device));
  how.source = LaunchRecord::Source::compiled;
  how.compileMs = request.traceMs + watch.ms();
  // 3. Store.
  disk.store(entry);
  literals.add(name, request.traced.text(/*locations=*/false), request.schedule, request.key);
  log.write(Log::info, llvm::formatv("kernel '{0}': compiled in {1:f1} ms ({2:f1} ms of them tracing), key {3}", name,
                                     how.compileMs, request.traceMs, request.key));
  return kernel;
}

KernelProvider::Result KernelProvider::loadOrCompile(const Request &request, History::Miss &how) {
  Result kernel;
  try {
    kernel = load(request, how);
    if (!kernel)
      kernel = compileAndStore(request, how);
  } catch (const InternalError &e) {
    if (request.replacements.empty())
      throw;
    throw UserError("kernel '" + request.traced.name() + "' with edited stages: " + e.what());
  }
  if (dump && dump->wants(request.traced.name()))
    dump->write(*kernel);
  return kernel;
}

/// Traces a kernel for what its arguments guarantee. Arguments that do not fit the kernel can guarantee what makes no
/// sense to it: it is then traced without, to tell the caller what it declares.
static TracedKernel traceFor(const Session::Instance &kernel, std::span<const Argument> arguments,
                             const Schedule &schedule, const std::vector<ArgumentFacts> &facts) {
  auto body = [&](Trace &t) { kernel.trace(t, kernel.identity, kernel.config); };
  try {
    return trace(kernel.name, body, schedule, facts);
  } catch (const InternalError &) {
    const TracedKernel plain = trace(kernel.name, body, schedule, {});
    checkArguments(plain.name(), plain.parameters(), arguments);
    throw;
  }
}

KernelProvider::Provided KernelProvider::provide(const Session::Instance &kernel, std::span<const Argument> arguments,
                                                 const Schedule &schedule, const FrontKey &frontKey,
                                                 const cuda::Device *device) {
  const Stopwatch watch;
  // 1. Trace, for a complete schedule and what the arguments guarantee.
  const Schedule complete = valueOrThrow(completeSchedule(schedule, placement.target));
  Request request{traceFor(kernel, arguments, complete, frontKey.facts()), complete, {}, {}, 0, device};
  // 2. Refuse before compiling what a launch would refuse.
  checkArguments(request.traced.name(), request.traced.parameters(), arguments);
  // 3. The content key, with the edited stages in it.
  request.key = contentKey(request.traced, placement.target, complete);
  if (overrides)
    request.replacements = overrides->find(request.traced.name(), request.key);
  request.key = keyWith(request.replacements, request.key);
  request.traceMs = watch.ms();
  // 4. Somebody has it or is at it: wait. Otherwise it is our turn.
  std::promise<Result> promise;
  std::shared_future<Result> future;
  {
    std::lock_guard lock(mutex);
    auto [it, ours] = kernels.try_emplace(request.key);
    if (ours)
      it->second = promise.get_future().share();
    else
      future = it->second;
  }
  if (future.valid())
    return {future.get(), {}};
  try {
    Provided provided;
    provided.kernel = loadOrCompile(request, provided.how);
    promise.set_value(provided.kernel);
    return provided;
  } catch (...) {
    {
      std::lock_guard lock(mutex);
      kernels.erase(request.key);
    }
    promise.set_exception(std::current_exception());
    throw;
  }
}
