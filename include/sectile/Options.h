// What a session is told at its creation.
#pragma once

#include <functional>
#include <string>

namespace sectile {

/// Plain values; nothing else configures a session. Only fromEnvironment() reads the environment.
struct Options {
  /// "cpu" (the host's own processor), "cpu:<name>" (an LLVM processor name, for compiling only), "interpret", "cuda"
  /// (the first NVIDIA GPU; launches follow their stream to others of its kind), "cuda:<n>" (only GPU n),
  /// "nvptx:<architecture>" (code for "sm_80" …, on any GPU that runs it, or for compiling only).
  /// Empty: "cuda" where there is such a GPU, else "cpu".
  std::string target;
  /// 0: recorded result, else shipped table, else heuristic; 1: tune on a miss; 2: tune anew.
  enum class Autotune { off, on, force } autotune = Autotune::off;
  /// A directory, "off" (memory only), or empty: `$XDG_CACHE_HOME/sectile`, else `$HOME/.cache/sectile`, else a private
  /// temporary directory, else memory, each step down logged once.
  std::string cache;
  /// `dir[:kernel-glob]`: every stage of every compiled kernel goes there. Empty: none.
  std::string dump;
  /// A directory of edited stages, laid out as a dump, which replace the compiler's own. Empty: none.
  std::string overrides;
  /// 0: errors only, 1: warnings, 2: compilations and cache traffic, 3: every launch.
  int logLevel = 1;
  /// Where log lines go; stderr when empty. Called from any thread, one call at a time.
  std::function<void(int level, const std::string &line)> log;
  /// Host threads that share a grid; 0: as many as the process may run on.
  int threads = 0;
  /// The NVIDIA driver's library; empty: libcuda.so.1, as the system finds it.
  std::string cudaDriver;
  /// The folder of a CUDA toolkit, where assemblers of code for NVIDIA GPUs are looked for first; empty: usual places.
  std::string toolkit;

  /// SECTILE_TARGET, SECTILE_AUTOTUNE, SECTILE_CACHE, SECTILE_DUMP, SECTILE_OVERRIDE, SECTILE_LOG. A malformed value,
  /// or a variable that begins with SECTILE_ and is not one of these, throws UserError naming it and what is legal.
  /// `defaultTarget` is taken where SECTILE_TARGET is not set: "cpu" for arrays in host memory.
  static Options fromEnvironment(const std::string &defaultTarget = "");
};

} // namespace sectile
