#include "runtime/host/ThreadPool.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdio>
#include <memory>
#include <set>

using namespace sectile;

TEST_CASE("every index runs exactly once") {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    for (int64_t count : {0, 1, 2, 7, 1000})
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::vector<std::atomic<int>> runs(static_cast<size_t>(count));
        pool.parallelFor(count, 0, [&](int64_t i, int) { runs[static_cast<size_t>(i)].fetch_add(1); });
        bool once = true;
        for (const auto &n : runs)
          once &= n == 1;
        CHECK(once);
      }
  }
}

TEST_CASE("workers are numbered below the limit, each by one thread at a time") {
  ThreadPool pool(8);
  for (int limit : {1, 2, 5, 8, 100})
    for (int repeat = 0; repeat < 100; ++repeat) {
      std::vector<std::atomic<int>> inside(8);
      std::atomic<bool> good{true};
      pool.parallelFor(64, limit, [&](int64_t, int worker) {
        if (worker < 0 || worker >= std::min(limit, 8))
          good = false;
        else if (inside[static_cast<size_t>(worker)].fetch_add(1) != 0)
          good = false;
        else
          inside[static_cast<size_t>(worker)].fetch_sub(1);
      });
      CHECK(good);
    }
}

TEST_CASE("the calling thread is worker 0 and sees what the workers wrote") {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 1000; ++repeat) {
    std::vector<int64_t> written(37); // not atomic: returning from parallelFor must order the writes
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<bool> good{true};
    pool.parallelFor(37, 0, [&](int64_t i, int worker) {
      written[static_cast<size_t>(i)] = i * repeat;
      if ((worker == 0) != (std::this_thread::get_id() == caller))
        good = false;
    });
    int64_t sum = 0;
    for (int64_t value : written)
      sum += value;
    CHECK(sum == 666 * repeat);
    CHECK(good);
  }
}

TEST_CASE("several threads may call at once, and a body may call again") {
  ThreadPool pool(4);
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 6; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 300; ++repeat)
        pool.parallelFor(11, 0, [&](int64_t, int) {
          pool.parallelFor(3, 0, [&](int64_t, int) { total.fetch_add(1, std::memory_order_relaxed); });
        });
    });
  for (std::thread &caller : callers)
    caller.join();
  CHECK(total == 6 * 300 * 11 * 3);
}

TEST_CASE("work reaches the other threads, loop after loop") {
  ThreadPool pool(2);
  for (int repeat = 0; repeat < 20; ++repeat) {
    // Each of two indices waits for the other: both start only if two threads take part.
    std::atomic<int> started{0};
    auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::atomic<bool> met{true};
    pool.parallelFor(2, 0, [&](int64_t, int) {
      ++started;
      while (started < 2 && met) {
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > patience)
          met = false;
      }
    });
    REQUIRE(met);
  }
}

TEST_CASE("pools end while their threads sleep or spin") {
  for (int repeat = 0; repeat < 100; ++repeat) {
    ThreadPool pool(3);
    if (repeat % 2)
      pool.parallelFor(10, 0, [](int64_t, int) {});
    if (repeat % 10 == 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

TEST_CASE("the default is what the process may run on") {
  CHECK(ThreadPool(0).threads() == ThreadPool::availableProcessors());
}

TEST_CASE("cost of a parallel loop", "[.benchmark]") {
  ThreadPool pool(0);
  for (bool asleep : {false, true}) {
    double total = 0;
    constexpr int rounds = 200;
    for (int i = 0; i < rounds; ++i) {
      if (asleep)
        std::this_thread::sleep_for(std::chrono::microseconds(500));
      auto start = std::chrono::steady_clock::now();
      pool.parallelFor(pool.threads(), 0, [](int64_t, int) {});
      total += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::printf("%d threads, %s: %.2f us\n", pool.threads(), asleep ? "asleep" : "spinning", total / rounds);
  }
}
