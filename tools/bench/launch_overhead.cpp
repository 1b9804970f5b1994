// What the host pays: a cold compilation, a load from disk, and the call of a cached kernel over the bare function.
//
//   launch_overhead [TARGET]        prints the table of docs/benchmarks/launch_overhead.md
//
// The last number is the median time of Session::launch minus that of calling the compiled function itself with packed
// arguments (on a GPU: the driver's launch function), on one thread. The problem is the smallest there is, so that the
// kernel does not hide the host; on a GPU the queue is drained between batches, outside of what is timed.
#include "compiler/Compiler.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/Binding.h"
#include "runtime/LoadedKernel.h"
#include "runtime/cuda/Memory.h"
#include "runtime/host/HostCode.h"
#include "sectile/Attention.h"
#include "sectile/Error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

using namespace sectile;
using Clock = std::chrono::steady_clock;

namespace {

struct NoConfig {};

/// Touches every argument of a kernel with as many as attention has; does next to nothing.
void traceTiny(Trace &t, const NoConfig &) {
  const tile::View q = t.input("q", Type::f32, 4), k = t.input("k", Type::f32, 4), v = t.input("v", Type::f32, 4);
  const tile::View out = t.output("out", Type::f32, 4);
  const tile::Tile scale = t.scalar("scale");
  const tile::Tile zero = t.program(0);
  auto first = [&](const tile::View &view) { return view.load({zero, zero, zero, zero}, {4}); };
  out.store({zero, zero, zero, zero}, first(q) * scale + first(k) + first(v));
}
constexpr Kernel<NoConfig> tinyKernel{"tiny", traceTiny};

void nothing() {}

/// Median nanoseconds of one call, over many batches with `between` after each.
template <class Call> double nanoseconds(Call &&call, llvm::function_ref<void()> between = nothing) {
  constexpr int batch = 200, batches = 2001;
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    const auto start = Clock::now();
    for (int j = 0; j < batch; ++j)
      call();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / batch);
    between();
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
}

double milliseconds(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct Arrays {
  static constexpr size_t elements = 4096;
  ArrayView q, k, v, out;
  explicit Arrays(float *memory) {
    ArrayView *views[] = {&q, &k, &v, &out};
    for (size_t i = 0; i < 4; ++i)
      *views[i] = ArrayView(memory + elements / 4 * i, Type::f32, {1, 4, 1, 16});
  }
};

Options optionsFor(const std::string &target, const std::string &cache) {
  Options options;
  options.target = target;
  options.cache = cache;
  return options;
}

void row(const char *what, double value, const char *unit) { std::printf("| %s | %.1f %s |\n", what, value, unit); }

/// From nothing to a kernel that can be launched: session, trace, and compilation or a file of the cache.
void measureStart(const std::string &target, const std::string &cache) {
  struct Problem {
    const char *name;
    Type type;
    int64_t dim;
    bool causal;
  };
  for (const auto &[name, type, dim, causal] : {Problem{"f32, d 64", Type::f32, 64, false},
                                                {"f32, d 128, causal", Type::f32, 128, true},
                                                {"bf16, d 128, causal", Type::bf16, 128, true}})
    for (const char *from : {"compiled", "from disk"}) {
      const ArrayView array(nullptr, type, {1, 1024, 8, dim});
      AttentionOptions options;
      options.causal = causal;
      const auto start = Clock::now();
      Session session(optionsFor(target, cache));
      const auto executable = prepareAttentionForward(session, array, array, array, array, std::nullopt, options);
      row(("attention " + std::string(name) + ", " + from).c_str(), milliseconds(start), "ms");
    }
}

/// The calls of a session, and of the function that they come down to.
void printCalls(double attention, double launch, std::optional<double> bare) {
  row("attention of 4 queries and 4 keys, cached call", attention, "ns");
  row("a tiny kernel with 4 arrays of rank 4, cached call", launch, "ns");
  if (!bare)
    return; // the interpreter has no function to call
  row("its bare function", *bare, "ns");
  row("what the host adds", launch - *bare, "ns");
}

void measureHostCalls(const std::string &target) {
  std::vector<float> memory(Arrays::elements, 0.5f);
  const Arrays arrays(memory.data());
  Session session(optionsFor(target, "off"));
  const double attention = nanoseconds(
      [&] { attentionForward(session, Stream::host(), arrays.q, arrays.k, arrays.v, arrays.out, std::nullopt); });

  const Argument arguments[] = {arrays.q, arrays.k, arrays.v, arrays.out, 2.0f};
  const std::span<const Argument> all(arguments);
  const double launch = nanoseconds([&] { session.launch(Stream::host(), tinyKernel, NoConfig{}, Grid{}, all); });
  auto executable = session.prepare(tinyKernel, NoConfig{}, all);
  std::optional<double> bare;
  if (executable->stages().back().name == "object") {
    auto traced =
        trace("tiny", [](Trace &t) { traceTiny(t, {}); }, executable->schedule(), {{true}, {true}, {true}, {true}});
    const Target described = valueOrThrow(resolveTarget(target));
    const Artifact artifact = valueOrThrow(compile(traced, described, executable->schedule(), nullptr));
    const auto code = valueOrThrow(HostCode::load(artifact.binary(), artifact.entry));
    ArgumentWords words;
    bindArguments("tiny", artifact.parameters, all, words);
    std::vector<char> scratch(1 << 20);
    auto *aligned = reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
    bare = nanoseconds([&, function = code->entry()] { function(words.data(), 0, 0, 0, aligned); });
  }
  printCalls(attention, launch, bare);
}

/// The session's device is the first one, and its context current, as in a program that uses the CUDA runtime.
void measureCudaCalls(const std::string &target) {
  const auto devices = valueOrThrow(cuda::Devices::open(""));
  Session session(optionsFor(target, "off"));
  const cuda::Device *device = devices->firstToRun(*cuda::Architecture::ofTarget(session.target()));
  if (!device)
    throw DeviceError("no GPU here runs code for " + session.target());
  const cuda::Driver &driver = devices->driver();
  const cuda::CurrentContext current(driver, device->context());
  const cuda::Memory memory(*device, Arrays::elements * sizeof(float));
  const Arrays arrays(static_cast<float *>(memory.data()));
  const cuda::OwnedStream queue(*device);
  const Stream stream = Stream::cuda(queue.handle());
  const auto drain = [&] { queue.synchronize(); };

  const double attention = nanoseconds(
      [&] { attentionForward(session, stream, arrays.q, arrays.k, arrays.v, arrays.out, std::nullopt); }, drain);
  const Argument arguments[] = {arrays.q, arrays.k, arrays.v, arrays.out, 2.0f};
  const std::span<const Argument> all(arguments);
  const double launch = nanoseconds([&] { session.launch(stream, tinyKernel, NoConfig{}, Grid{}, all); }, drain);

  const auto executable = session.prepare(tinyKernel, NoConfig{}, all);
  const auto &loaded = dynamic_cast<const LoadedKernel &>(*executable);
  const cuda::Kernel &kernel = loaded.onCuda();
  const cuda::Function function = kernel.load(*device).function;
  ArgumentWords words;
  bindArguments("tiny", loaded.parameters(), all, words);
  words.append({1, 1, 1});
  void *parameter = words.data();
  const cuda::LaunchConfig config{1, 1, 1, kernel.threads(), 1, 1, kernel.sharedBytes(), queue.handle(), nullptr, 0};
  const double bare = nanoseconds(
      [&] { driver.check(driver.launchKernel(&config, function, &parameter, nullptr), driver.launchKernel, "tiny"); },
      drain);
  printCalls(attention, launch, bare);
}

} // namespace

int main(int argc, char **argv) {
  const std::string target = argc > 1 ? argv[1] : "cpu";
  std::string cache = (std::filesystem::temp_directory_path() / "sectile-bench-XXXXXX").string();
  if (!::mkdtemp(cache.data()))
    return 1;
  int status = 0;
  try {
    std::printf("%s; %s\n\n| what | time |\n|---|---|\n", target.c_str(), buildId().c_str());
    measureStart(target, cache);
    if (target.starts_with("cuda") || target.starts_with("nvptx"))
      measureCudaCalls(target);
    else
      measureHostCalls(target);
  } catch (const Error &e) {
    std::fprintf(stderr, "launch_overhead: %s\n", e.what());
    status = 1;
  }
  std::filesystem::remove_all(cache);
  return status;
}
