// The host threads that share a grid.
//
// A loop's indices are handed out one at a time, so that uneven work balances itself. The calling thread takes part and
// never waits for a thread that has not woken up yet: what sleeps too long finds the loop closed. Threads that had
// work spin for some microseconds before they sleep, since the next launch usually follows at once.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace sectile {

class ThreadPool {
public:
  /// `threads` counts the calling thread; 0: as many as the process may run on. Throws DeviceError when the system
  /// refuses a thread.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;

  /// Runs body(index, worker) for every index from 0 to count-1, in any order, and returns when all have run. At most
  /// `maxThreads` threads (0: all) take part; each has another `worker`, below that number, the caller is 0.
  ///
  /// May be called from several threads, also from within a body: while one caller has the workers, another runs its
  /// whole loop alone. `body` must not throw.
  void parallelFor(int64_t count, int maxThreads, llvm::function_ref<void(int64_t index, int worker)> body);

  int threads() const { return static_cast<int>(workers.size()) + 1; }
  /// The processors that this process may run on.
  static int availableProcessors();

private:
  /// What the callers' threads work on. Written by the caller while the gate is closed and empty.
  struct Loop {
    int64_t count = 0;
    int participants = 0; ///< the caller and the workers that may join
    llvm::function_ref<void(int64_t, int)> body = nullptr;
  };

  // The gate: whether the loop may be entered, by how many workers it is being run, and a number that tells one
  // loop from the next.
  static constexpr uint32_t closed = 1u << 15, activeMask = closed - 1, oneLoop = 1u << 16;

  void work();
  bool enter(uint32_t &seen);
  void leave();
  void runShare(int worker);
  void stop();

  Loop loop;
  alignas(64) std::atomic<uint32_t> gate{closed};
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::atomic<int> arrivals{0};
  alignas(64) std::atomic<uint32_t> drained{0}; ///< counts loops that their last worker left after closing
  std::atomic<bool> busy{false};                ///< some caller has the workers
  std::atomic<bool> stopping{false};
  int spins; ///< how often a thread looks again before it sleeps
  std::vector<std::thread> workers;
};

} // namespace sectile
