// A session's history and counters.
#pragma once

#include "runtime/LoadedKernel.h"

#include <mutex>

namespace sectile {

class History {
public:
  static constexpr size_t capacity = 1000;

  History() { lines.reserve(capacity); }

  /// How an executable was come by when it was not in the front table.
  struct Miss {
    LaunchRecord::Source source = LaunchRecord::Source::memory;
    std::string reason;
    double compileMs = 0, loadMs = 0;
  };

  // `kernel` is kept by address: the session's tables own it.
  void recordMiss(const LoadedKernel *kernel, Miss miss);
  void recordHit(const LoadedKernel *kernel);
  /// `hit`: the kernel was in the front table; otherwise a recordMiss() came before.
  void recordLaunch(const LoadedKernel *kernel, bool hit);

  CacheCounters counters() const;
  std::vector<LaunchRecord> records() const;

private:
  struct Line {
    const LoadedKernel *kernel;
    Miss miss;
    uint64_t launches;
  };
  // Under the mutex.
  Line &append(Line line);
  Line &lineOf(const LoadedKernel *kernel);

  mutable std::mutex mutex;
  CacheCounters totals;
  std::vector<Line> lines; // a ring once it is full, so that a launch never allocates
  size_t oldest = 0;
};

} // namespace sectile
