// Compiling and launching kernels: a session holds a target, options, caches and a history.
#pragma once

#include "sectile/Array.h"
#include "sectile/Options.h"
#include "sectile/Schedule.h"
#include "sectile/Trace.h"

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sectile {

/// A kernel: a name and the function that traces it for one configuration. The configuration is a plain struct; its
/// bytes are part of the key under which the compiled kernel is found, so initialize all of it (`Config c{};`).
template <class Config> struct Kernel {
  static_assert(std::is_trivially_copyable_v<Config>, "a kernel's configuration must be a plain struct");
  const char *name;
  void (*trace)(Trace &, const Config &);
};

/// How many programs run; each size from 0 to 2^31 - 1. An empty grid is legal and runs nothing.
struct Grid {
  int64_t x = 1, y = 1, z = 1;
};

/// One launch argument: an array, or a number for a Trace::scalar of the same type.
using Argument = std::variant<float, int32_t, ArrayView>; // first what is cheap to make: calls hold arrays of them

/// One named form of a kernel on its way to the machine: "tile", "vector", "llvm", "object", "ptx", "cubin" …
struct Stage {
  std::string name;
  std::string file; ///< its file name in dumps and overrides, such as "tile.mlir"
  std::string text; ///< bytes for "object"
};

/// What a compiled kernel needs and uses: name -> value, for instance "scratch_bytes", "code_bytes".
using Resources = std::vector<std::pair<std::string, int64_t>>;

/// An immutable compiled kernel. Shared: it outlives caches and may be launched from many threads.
class Executable {
public:
  virtual ~Executable() = default;
  virtual const std::string &name() const = 0;
  virtual const std::string &key() const = 0;    ///< the content key, 32 hexadecimal digits
  virtual const std::string &target() const = 0; ///< the full target, with processor and features
  virtual const Schedule &schedule() const = 0;
  virtual const std::vector<Stage> &stages() const = 0;
  virtual const Resources &resources() const = 0;
};

/// Where launches are queued: of the kind that the session's target needs, or the launch is refused.
class Stream {
public:
  /// Of the host's processor: a launch has run when the call returns.
  static Stream host() { return Stream(Kind::host, nullptr); }
  /// The caller's CUstream or cudaStream_t; null is the default stream. A launch runs on the stream's device, after
  /// what is in the stream already; the call returns at once. A launch whose kernel was launched or prepared before may
  /// be captured into a graph.
  static Stream cuda(void *stream) { return Stream(Kind::cuda, stream); }

  enum class Kind : uint8_t { host, cuda };
  Kind kind() const { return streamKind; }
  void *handle() const { return streamHandle; }

private:
  Stream(Kind kind, void *handle) : streamKind(kind), streamHandle(handle) {}
  Kind streamKind;
  void *streamHandle;
};

/// One line of a session's history.
struct LaunchRecord {
  enum class Source { memory, disk, compiled }; ///< where the executable came from
  std::string kernel, key;
  Source source;
  std::string reason;    ///< why it was not in memory ("first use", "schedule differs", …); empty when it was
  double compileMs = 0;  ///< tracing, lowering and code generation, 0 when nothing was compiled
  double loadMs = 0;     ///< reading from disk
  uint64_t launches = 0; ///< how many launches this line stands for
};

/// Totals since the session was made.
struct CacheCounters {
  uint64_t memoryHits = 0, diskHits = 0, compilations = 0, launches = 0;
};

/// A target with options, caches and a history. Safe to use from many threads; two sessions share nothing mutable. It
/// owns the code of its kernels: on a GPU it must outlive the launches in flight and the graphs they were captured in,
/// unless the caller keeps their executables.
class Session {
public:
  /// Throws UserError for a malformed option, DeviceError when the target is not there.
  explicit Session(const Options &options = Options::fromEnvironment());
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// Compiles `kernel` for these arguments unless it is cached, and runs it over the grid. Arguments in the order of
  /// the kernel's declarations. Unset schedule fields are chosen by the target. Throws before anything is written when
  /// an argument does not fit what the kernel declares.
  template <class Config>
  void launch(const Stream &stream, const Kernel<Config> &kernel, const Config &config, const Grid &grid,
              std::span<const Argument> arguments, const Schedule &schedule = {}) {
    launch(stream, Instance::of(kernel, config), grid, arguments, schedule);
  }
  template <class Config>
  void launch(const Stream &stream, const Kernel<Config> &kernel, const Config &config, const Grid &grid,
              std::initializer_list<Argument> arguments, const Schedule &schedule = {}) {
    launch(stream, kernel, config, grid, std::span<const Argument>(arguments.begin(), arguments.size()), schedule);
  }

  /// Compiles as launch() would, without running: ahead of time, or to read stages and resources.
  template <class Config>
  std::shared_ptr<const Executable> prepare(const Kernel<Config> &kernel, const Config &config,
                                            std::span<const Argument> arguments, const Schedule &schedule = {}) {
    return prepare(Instance::of(kernel, config), arguments, schedule);
  }
  template <class Config>
  std::shared_ptr<const Executable> prepare(const Kernel<Config> &kernel, const Config &config,
                                            std::initializer_list<Argument> arguments, const Schedule &schedule = {}) {
    return prepare(kernel, config, std::span<const Argument>(arguments.begin(), arguments.size()), schedule);
  }

  const std::string &target() const; ///< the full target, such as "cpu:znver5:+avx512f…" or "nvptx:sm_90a:…"
  const Options &options() const;
  int threads() const;
  /// "memory", or the directory in use.
  std::string cacheLocation() const;
  CacheCounters counters() const;
  /// Oldest first; launches that follow each other with the same executable share a line; the last 1000 lines are kept.
  std::vector<LaunchRecord> history() const;

  /// A kernel with its configuration, its type erased. For bindings and tools; others use launch().
  struct Instance {
    const char *name;
    const void *identity; ///< the trace function's address
    const void *config;
    size_t configBytes;
    void (*trace)(Trace &, const void *identity, const void *config);

    template <class Config> static Instance of(const Kernel<Config> &kernel, const Config &config) {
      return {kernel.name, reinterpret_cast<const void *>(kernel.trace), &config,
              std::is_empty_v<Config> ? 0 : sizeof(Config), [](Trace &t, const void *identity, const void *bytes) {
                using Function = void (*)(Trace &, const Config &);
                reinterpret_cast<Function>(const_cast<void *>(identity))(t, *static_cast<const Config *>(bytes));
              }};
    }
  };
  void launch(const Stream &stream, const Instance &kernel, const Grid &grid, std::span<const Argument> arguments,
              const Schedule &schedule);
  std::shared_ptr<const Executable> prepare(const Instance &kernel, std::span<const Argument> arguments,
                                            const Schedule &schedule);

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace sectile
