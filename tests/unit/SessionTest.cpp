// Sessions: launching, finding what is compiled, history, and what is refused before anything is written.
#include "tests/support/Buffer.h"
#include "tests/support/RuntimeKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;
using Catch::Matchers::Message;
using Source = LaunchRecord::Source;

namespace {

Options interpretInMemory() {
  Options options;
  options.target = "interpret";
  options.cache = "off";
  options.threads = 2;
  return options;
}

/// y = factor * x with tiles of 4.
struct Problem {
  Buffer x{Type::f32, {10}, Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}};
  Buffer y{Type::f32, {10}};

  void launch(Session &session, const ScaleConfig &config = {4, 0}, const Schedule &schedule = {}) {
    session.launch(Stream::host(), scaleKernel, config, {3}, {x.view(), y.view(), 2.0f}, schedule);
  }
};

const Values doubled = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20};

/// The message that a launch of `scaleKernel` is refused with; nothing may be written.
std::string refusal(const Grid &grid, std::initializer_list<Argument> arguments, const Schedule &schedule = {}) {
  Session session(interpretInMemory());
  try {
    session.launch(Stream::host(), scaleKernel, {4, 0}, grid, arguments, schedule);
  } catch (const UserError &e) {
    return e.what();
  }
  return "not refused";
}

} // namespace

TEST_CASE("a launch compiles once and then finds the executable") {
  Session session(interpretInMemory());
  Problem problem;
  problem.launch(session);
  CHECK(problem.y.values() == doubled);
  CHECK(problem.y.strayWrites() == 0);
  problem.launch(session);
  problem.launch(session);
  const CacheCounters counters = session.counters();
  CHECK(counters.compilations == 1);
  CHECK(counters.memoryHits == 2);
  CHECK(counters.diskHits == 0);
  CHECK(counters.launches == 3);
  REQUIRE(session.history().size() == 1);
  const LaunchRecord record = session.history()[0];
  CHECK(record.kernel == "scale");
  CHECK(record.source == Source::compiled);
  CHECK(record.reason == "first use of kernel");
  CHECK(record.launches == 3);
  CHECK(record.compileMs > 0);
  CHECK(record.key.size() == 32);
}

TEST_CASE("the history says what differed from the nearest known use") {
  Session session(interpretInMemory());
  Problem problem;
  auto reason = [&] { return session.history().back().reason; };
  problem.launch(session);

  SECTION("configuration") {
    problem.launch(session, {8, 0});
    CHECK(reason() == "configuration differs");
  }
  SECTION("schedule") {
    problem.launch(session, {4, 0}, {.blockM = 128});
    CHECK(reason() == "schedule differs: default -> blockM=128");
  }
  SECTION("facts") {
    Buffer strided = Buffer::strided(Type::f32, {10}, {2});
    strided.set(Values(10, 1.0));
    session.launch(Stream::host(), scaleKernel, {4, 0}, {3}, {strided.view(), problem.y.view(), 2.0f});
    CHECK(problem.y.values() == Values(10, 2.0));
    CHECK(reason() == "argument facts differ: x unit_stride 1 -> 0");
  }
  SECTION("more than one thing") {
    problem.launch(session, {8, 0}, {.blockM = 128});
    CHECK(reason() == "configuration differs; schedule differs: default -> blockM=128");
  }
  SECTION("the nearest, not the first") {
    problem.launch(session, {8, 0}, {.blockM = 128});
    problem.launch(session, {8, 0}, {.blockM = 64});
    CHECK(reason() == "schedule differs: blockM=128 -> blockM=64");
  }
  SECTION("another kernel") {
    session.launch(Stream::host(), copyKernel, CopyConfig{Type::f32}, {3}, {problem.x.view(), problem.y.view()});
    CHECK(reason() == "first use of kernel");
  }
}

TEST_CASE("argument types are part of the front key") {
  Session session(interpretInMemory());
  Buffer x(Type::f32, {4}, Values{1, 2, 3, 4}), y(Type::f32, {4}), h(Type::f16, {4}, Values{5, 6, 7, 8}),
      g(Type::f16, {4});
  session.launch(Stream::host(), copyKernel, CopyConfig{Type::f32}, {1}, {x.view(), y.view()});
  session.launch(Stream::host(), copyKernel, CopyConfig{Type::f16}, {1}, {h.view(), g.view()});
  CHECK(g.values() == Values{5, 6, 7, 8});
  CHECK(session.history().back().reason ==
        "configuration differs; argument types differ: x f32 rank 1 -> f16 rank 1, y f32 rank 1 -> f16 rank 1");
  // The configuration of one with the arguments of the other is refused, and later calls are not confused by it.
  CHECK_THROWS_WITH(session.launch(Stream::host(), copyKernel, CopyConfig{Type::f32}, {1}, {h.view(), g.view()}),
                    "kernel 'copy': argument 'x' must be an array of f32 rank 1, got an array of f16 rank 1");
}

TEST_CASE("launches that alternate have a line each, and only the last 1000 lines are kept") {
  Session session(interpretInMemory());
  Buffer x(Type::f32, {1}, Values{1}), y(Type::f32, {1});
  for (int i = 0; i < 600; ++i) {
    session.launch(Stream::host(), scaleKernel, {1, 0}, {1}, {x.view(), y.view(), 2.0f});
    session.launch(Stream::host(), copyKernel, CopyConfig{Type::f32}, {1}, {x.view(), y.view()});
  }
  const std::vector<LaunchRecord> history = session.history();
  REQUIRE(history.size() == 1000);
  CHECK(history[0].source == Source::memory);
  CHECK(history[0].reason.empty());
  CHECK(history[999].launches == 1);
  CHECK(session.counters().compilations == 2);
  CHECK(session.counters().launches == 1200);
}

TEST_CASE("prepare compiles ahead and shows stages and resources") {
  Session session(interpretInMemory());
  Problem problem;
  ArrayView nowhere = problem.x.view();
  nowhere.data = nullptr; // not needed yet
  auto executable = session.prepare(scaleKernel, {4, 0}, {nowhere, problem.y.view(), 2.0f});
  CHECK(executable->name() == "scale");
  CHECK(executable->target() == "interpret");
  REQUIRE_FALSE(executable->stages().empty());
  CHECK_THAT(executable->stages().front().text, Contains("tile.kernel @scale"));
  CHECK(session.counters().launches == 0);
  CHECK(problem.y.unchanged());

  problem.launch(session);
  CHECK(session.counters().compilations == 1);
  CHECK(problem.y.values() == doubled);
  CHECK(session.prepare(scaleKernel, {4, 0}, {nowhere, problem.y.view(), 2.0f}) == executable);
  REQUIRE(session.history().size() == 1);
  CHECK(session.history()[0].launches == 1);
}

TEST_CASE("another processor's code can be prepared, and is not run where it would fault") {
  // No processor has everything that these two have.
  int refused = 0;
  for (const char *target : {"cpu:sapphirerapids", "cpu:znver5"}) {
    Options options = interpretInMemory();
    options.target = target;
    Session session(options);
    Problem problem;
    auto executable = session.prepare(scaleKernel, {4, 0}, {problem.x.view(), problem.y.view(), 2.0f});
    CHECK_THAT(executable->target(), Contains(target));
    try {
      problem.launch(session);
      CHECK(problem.y.values() == doubled);
    } catch (const DeviceError &e) {
      ++refused;
      CHECK_THAT(e.what(), Contains(std::string("kernel 'scale' was compiled for ") + target) &&
                               Contains("cannot run it, as it lacks ") && Contains("legal: the target cpu"));
      CHECK(problem.y.unchanged());
    }
  }
  CHECK(refused >= 1);
}

TEST_CASE("an executable outlives its session") {
  std::shared_ptr<const Executable> executable;
  {
    Session session(interpretInMemory());
    Problem problem;
    executable = session.prepare(scaleKernel, {4, 0}, {problem.x.view(), problem.y.view(), 2.0f});
  }
  CHECK(executable->stages().size() >= 1);
}

TEST_CASE("an empty grid compiles and runs nothing") {
  Session session(interpretInMemory());
  Problem problem;
  session.launch(Stream::host(), scaleKernel, {4, 0}, {3, 0, 1}, {problem.x.view(), problem.y.view(), 2.0f});
  CHECK(problem.y.unchanged());
  CHECK(session.counters().launches == 1);
}

TEST_CASE("the grid covers all three axes") {
  Session session(interpretInMemory());
  Buffer out(Type::i32, {4, 3, 2});
  session.launch(Stream::host(), programKernel, NoConfig{}, {2, 3, 4}, {out.view()});
  Values expected;
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 2; ++x)
        expected.push_back(z * 100 + y * 10 + x);
  CHECK(out.values() == expected);
}

//===-- refusals ------------------------------------------------------------------------------------------------===//

TEST_CASE("arguments that do not fit are refused by name, before anything is written") {
  Buffer x(Type::f32, {10}, Values(10, 1.0)), y(Type::f32, {10});
  const ArrayView in = x.view(), out = y.view();
  auto with = [](ArrayView view, auto change) {
    change(view);
    return view;
  };

  CHECK(refusal({1}, {in, out}) ==
        "kernel 'scale' takes 3 arguments (x: input f32 rank 1, y: output f32 rank 1, factor: scalar f32), got 2");
  CHECK(refusal({1}, {in, out, 2.0f, in}) ==
        "kernel 'scale' takes 3 arguments (x: input f32 rank 1, y: output f32 rank 1, factor: scalar f32), got 4");
  CHECK(refusal({1}, {in, out, 3}) ==
        "kernel 'scale': argument 'factor' must be a number of type f32, got the i32 number 3");
  CHECK(refusal({1}, {in, out, in}) ==
        "kernel 'scale': argument 'factor' must be a number of type f32, got an array of f32 rank 1");
  CHECK(refusal({1}, {2.0f, out, 2.0f}) ==
        "kernel 'scale': argument 'x' must be an array of f32 rank 1, got the f32 number 2.000000");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.type = Type::bf16; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' must be an array of f32 rank 1, got an array of bf16 rank 1");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.rank = 2; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' must be an array of f32 rank 1, got an array of f32 rank 2");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.rank = 99; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' must be an array of f32 rank 1, got an array of f32 rank 99");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.data = nullptr; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' has no memory (data is null) for sizes (10)");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.sizes[0] = -1; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' has size -1 in dimension 0; legal: 0 to 2146435072");
  CHECK(refusal({1}, {with(in, [](auto &v) { v.sizes[0] = ArrayView::maxSize + 1; }), out, 2.0f}) ==
        "kernel 'scale': argument 'x' has size 2146435073 in dimension 0; legal: 0 to 2146435072");
  CHECK_THAT(refusal({1}, {with(in, [](auto &v) { v.strides[0] = int64_t{1} << 61; }), out, 2.0f}),
             Contains("argument 'x' reaches further than 2^63 bytes"));
  CHECK_THAT(refusal({1}, {with(in, [](auto &v) { v.strides[0] = INT64_MIN; }), out, 2.0f}),
             Contains("argument 'x' reaches further than 2^63 bytes"));
  CHECK_THAT(refusal({1}, {with(in, [](auto &v) { v.strides[0] = -(int64_t{1} << 57); }), out, 2.0f}),
             Contains("argument 'x' reaches past the end of the address space"));
  CHECK_THAT(refusal({1}, {with(in, [](auto &v) { v.data = static_cast<char *>(v.data) + 2; }), out, 2.0f}),
             Contains("argument 'x' must be aligned to its element size of 4 bytes"));
  CHECK_THAT(refusal({1}, {in, with(out, [](auto &v) { v.strides[0] = 0; }), 2.0f}),
             Contains("argument 'y' is written, so no dimension may repeat: dimension 0 has size 10 and stride 0"));
  CHECK(y.unchanged());
}

TEST_CASE("what is unusual and legal is not refused") {
  Buffer x(Type::f32, {10}, Values(10, 1.0)), y(Type::f32, {10});
  ArrayView empty(nullptr, Type::f32, {0});
  CHECK(refusal({1}, {empty, empty, 2.0f}) == "not refused");
  ArrayView repeated = x.view();
  repeated.strides[0] = 0; // of an input
  CHECK(refusal({1}, {repeated, y.view(), 2.0f}) == "not refused");
  ArrayView single = y.view();
  single.sizes[0] = 1;
  single.strides[0] = 0; // of size 1
  CHECK(refusal({1}, {x.view(), single, 2.0f}) == "not refused");
  Buffer reversed = Buffer::strided(Type::f32, {10}, {-3});
  CHECK(refusal({3}, {x.view(), reversed.view(), 2.0f}) == "not refused");
  CHECK(reversed.values() == Values(10, 2.0));
}

TEST_CASE("a written array may not overlap itself, however it is laid out") {
  Session session(interpretInMemory());
  std::vector<int32_t> memory(100);
  auto run = [&](std::array<int64_t, 3> sizes, std::array<int64_t, 3> strides) -> std::string {
    try {
      session.launch(Stream::host(), programKernel, NoConfig{}, {0},
                     {ArrayView(memory.data(), Type::i32, sizes, strides)});
    } catch (const UserError &e) {
      return e.what();
    }
    return "legal";
  };
  CHECK(run({2, 3, 4}, {12, 4, 1}) == "legal");
  CHECK(run({2, 3, 4}, {1, 2, 6}) == "legal");  // Fortran order
  CHECK(run({2, 3, 4}, {12, 1, 3}) == "legal"); // transposed
  CHECK(run({1, 2, 3}, {0, 3, 2}) == "legal");  // interleaved, and yet no element twice: 0 2 4, 3 5 7
  CHECK(run({2, 3, 4}, {0, 4, 1}) != "legal");
  CHECK_THAT(run({1, 3, 4}, {0, 3, 1}),
             Contains("dimensions 1 and 2 of sizes (1, 3, 4) and strides (0, 3, 1) overlap"));
  CHECK_THAT(run({1, 4, 4}, {0, 1, -1}), Contains("may not share memory"));
}

TEST_CASE("grids and thread counts out of range are refused") {
  Buffer x(Type::f32, {10}, Values(10, 1.0)), y(Type::f32, {10});
  CHECK(refusal({-1}, {x.view(), y.view(), 2.0f}) == "kernel 'scale': grid size x is -1; legal: 0 to 2147483647");
  CHECK(refusal({1, int64_t{1} << 31}, {x.view(), y.view(), 2.0f}) ==
        "kernel 'scale': grid size y is 2147483648; legal: 0 to 2147483647");
  const int64_t most = 2147483647;
  CHECK_THAT(refusal({most, most, most}, {x.view(), y.view(), 2.0f}), Contains("has more than 2^63-1 programs"));
  CHECK(refusal({1}, {x.view(), y.view(), 2.0f}, {.threads = 3}) ==
        "kernel 'scale': schedule field 'threads' is 3, the session has 2; legal: 0 (all) to 2");
}

//===-- threads -------------------------------------------------------------------------------------------------===//

TEST_CASE("one cold kernel asked for by 8 threads is compiled once") {
  Session session(interpretInMemory());
  std::atomic<int> ready = 0, right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Problem problem;
      ++ready;
      while (ready < 8)
        ;
      problem.launch(session);
      right += problem.y.values() == doubled;
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == 8);
  CHECK(session.counters().compilations == 1);
  CHECK(session.counters().launches == 8);
  CHECK(session.counters().memoryHits == 7);
}

TEST_CASE("many threads find many kernels while others are added") {
  constexpr int threadCount = 4, variants = 100; // more than the first table holds
  Session session(interpretInMemory());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < threadCount; ++i)
    threads.emplace_back([&, i] {
      Buffer x(Type::f32, {4}, Values{1, 2, 3, 4}), y(Type::f32, {4});
      for (int round = 0; round < 3; ++round)
        for (int j = 0; j < variants; ++j) {
          const int tile = 1 + (j * (2 * i + 1) + round) % variants;
          y.set(Values(4, 0.0));
          session.launch(Stream::host(), scaleKernel, {tile, 0}, {4}, {x.view(), y.view(), 2.0f});
          right += y.values() == Values{2, 4, 6, 8};
        }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(right == threadCount * 3 * variants);
  CHECK(session.counters().compilations == variants);
  CHECK(session.counters().launches == threadCount * 3 * variants);
}

TEST_CASE("a failure reaches every thread that waited for it and is not remembered") {
  Session session(interpretInMemory());
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Problem problem;
      try {
        problem.launch(session, {4, /*fail=*/1});
      } catch (const UserError &e) {
        failures += std::string(e.what()).find("dot") != std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 4);
  CHECK(session.counters().compilations == 0);
  CHECK(session.history().empty());
  Problem problem;
  problem.launch(session);
  CHECK(problem.y.values() == doubled);
}

TEST_CASE("two sessions in two threads share nothing") {
  std::atomic<int> right = 0;
  auto work = [&] {
    for (int i = 0; i < 4; ++i) {
      Session session(interpretInMemory());
      Problem problem;
      problem.launch(session);
      right += problem.y.values() == doubled && session.counters().compilations == 1;
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK(right == 8);
}

//===-- log -----------------------------------------------------------------------------------------------------===//

TEST_CASE("the eighth variant that differs only in literals is warned about, once") {
  std::vector<std::string> warnings;
  Options options = interpretInMemory();
  options.log = [&](int level, const std::string &line) {
    if (level == 1)
      warnings.push_back(line);
  };
  Session session(options);
  Buffer x(Type::f32, {4}, Values{1, 2, 3, 4}), y(Type::f32, {4});
  for (int i = 1; i <= 10; ++i) {
    session.launch(Stream::host(), literalKernel, LiteralConfig{1.5f * static_cast<float>(i), 4}, {1},
                   {x.view(), y.view()});
    CHECK(warnings.size() == (i >= 8 ? 1 : 0));
  }
  CHECK(y.values() == Values{15, 30, 45, 60});
  CHECK_THAT(warnings[0], Contains("kernel 'literal' now has 8 variants that differ in nothing but literals"));
  CHECK_THAT(warnings[0], Contains("Trace::scalar"));
  // Shapes are no literals.
  for (int64_t tile = 1; tile <= 512; tile *= 2)
    session.launch(Stream::host(), literalKernel, LiteralConfig{1.25f, tile}, {4}, {x.view(), y.view()});
  CHECK(warnings.size() == 1);
}

TEST_CASE("log level 3 reports every launch") {
  std::vector<std::string> lines;
  Options options = interpretInMemory();
  options.logLevel = 3;
  options.log = [&](int level, const std::string &line) {
    if (level == 3)
      lines.push_back(line);
  };
  Session session(options);
  Problem problem;
  problem.launch(session);
  problem.launch(session);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Contains("kernel 'scale': grid 3 x 1 x 1"));
}
