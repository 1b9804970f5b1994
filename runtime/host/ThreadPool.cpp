#include "runtime/host/ThreadPool.h"

#include "sectile/Error.h"

#include <algorithm>
#include <csignal>
#include <sched.h>
#include <system_error>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sectile {
namespace {

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Workers leave signals to the application's own threads.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &previous, nullptr); }

private:
  sigset_t previous;
};

} // namespace

int ThreadPool::availableProcessors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency()); // more processors than a cpu_set_t holds
}

ThreadPool::ThreadPool(int threads) {
  const int processors = availableProcessors();
  const int total = std::clamp(threads > 0 ? threads : processors, 1, static_cast<int>(activeMask));
  spins = total <= processors ? 2000 : 0; // with fewer processors than threads, spinning only takes time from others
  BlockedSignals inherited;
  try {
    for (int i = 1; i < total; ++i)
      workers.emplace_back([this] { work(); });
  } catch (const std::system_error &error) {
    int started = this->threads();
    stop();
    throw DeviceError("the system refused thread " + std::to_string(started + 1) + " of " + std::to_string(total) +
                      " (option 'threads'): " + error.what());
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping.store(true, std::memory_order_relaxed);
  gate.fetch_add(oneLoop, std::memory_order_release);
  gate.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::runShare(int worker) {
  for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < loop.count;)
    loop.body(i, worker);
}

/// Joins the loop that is open, if there is one. A successful exchange proves that it is still open, so that its
/// caller waits for us from now on.
bool ThreadPool::enter(uint32_t &seen) {
  uint32_t now = gate.load(std::memory_order_acquire);
  do {
    seen = now;
    if (now & closed)
      return false;
  } while (!gate.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

void ThreadPool::leave() {
  uint32_t before = gate.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & closed) && (before & activeMask) == 1) {
    drained.fetch_add(1, std::memory_order_release);
    drained.notify_one();
  }
}

void ThreadPool::work() {
  uint32_t lastLoop = ~0u; // of the loop we have already had our share of
  while (true) {
    // 1. Wait for a loop that is new to us.
    uint32_t now = gate.load(std::memory_order_acquire);
    for (int i = 0; i < spins && ((now & closed) || now / oneLoop == lastLoop); ++i) {
      relax();
      now = gate.load(std::memory_order_acquire);
    }
    while (((now & closed) || now / oneLoop == lastLoop) && !stopping.load(std::memory_order_relaxed)) {
      gate.wait(now, std::memory_order_acquire);
      now = gate.load(std::memory_order_acquire);
    }
    if (stopping.load(std::memory_order_relaxed))
      return;

    // 2. Take part, unless it has its workers already.
    if (!enter(now))
      continue;
    lastLoop = now / oneLoop;
    int worker = 1 + arrivals.fetch_add(1, std::memory_order_relaxed);
    if (worker < loop.participants)
      runShare(worker);
    leave();
  }
}

void ThreadPool::parallelFor(int64_t count, int maxThreads, llvm::function_ref<void(int64_t, int)> body) {
  int participants =
      static_cast<int>(std::min<int64_t>(count, maxThreads > 0 ? std::min(maxThreads, threads()) : threads()));
  if (participants <= 1 || busy.exchange(true, std::memory_order_acquire)) {
    for (int64_t i = 0; i < count; ++i)
      body(i, 0);
    return;
  }

  // 1. Open the gate on the loop and wake as many as may take part.
  loop = {count, participants, body};
  next.store(0, std::memory_order_relaxed);
  arrivals.store(0, std::memory_order_relaxed);
  uint32_t drainedBefore = drained.load(std::memory_order_relaxed);
  uint32_t number = gate.load(std::memory_order_relaxed) / oneLoop + 1;
  gate.store(number * oneLoop, std::memory_order_release);
  if (participants == threads())
    gate.notify_all();
  else
    for (int i = 1; i < participants; ++i)
      gate.notify_one();

  // 2. Work, then let nobody in any more, and wait for those inside.
  runShare(0);
  uint32_t inside = gate.fetch_or(closed, std::memory_order_acq_rel) & activeMask;
  if (inside) {
    for (int i = 0; i < spins && drained.load(std::memory_order_acquire) == drainedBefore; ++i)
      relax();
    while (drained.load(std::memory_order_acquire) == drainedBefore)
      drained.wait(drainedBefore, std::memory_order_acquire);
  }
  busy.store(false, std::memory_order_release);
}

} // namespace sectile
