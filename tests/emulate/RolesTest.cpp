// What warps with roles use: barriers in memory, bulk copies, named barriers, registers that change hands.
#include "tests/emulate/KernelText.h"

#include "compiler/ir/Swizzle.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sectile;
using namespace sectile::warps;
using Catch::Matchers::Contains;

namespace {

constexpr int barrierAt = 0, emptyAt = 8, placeAt = 1024; ///< shared addresses

/// Statements on barriers in memory.
struct Barriers {
  KernelText &kernel;
  void initialize(int at, int count) {
    kernel.call("mbarrier.init.shared", kernel.shared(at) + ", " + kernel.i32(count), "!llvm.ptr<3>, i32");
  }
  void arrive(int at) {
    kernel.call("mbarrier.arrive.scope.cta.space.cta", kernel.shared(at) + ", " + kernel.i32(1), "!llvm.ptr<3>, i32",
                "i64");
  }
  void arriveExpecting(int at, int bytes) {
    kernel.call("mbarrier.arrive.expect.tx.scope.cta.space.cta", kernel.shared(at) + ", " + kernel.i32(bytes),
                "!llvm.ptr<3>, i32", "i64");
  }
  void wait(int at, int parity) {
    kernel.call("mbarrier.try.wait.parity.scope.cta.space.cta", kernel.shared(at) + ", " + kernel.i32(parity),
                "!llvm.ptr<3>, i32", "i1");
  }
  /// By thread 0, for all.
  void initializeAll(std::initializer_list<std::pair<int, int>> all, bool fence = true) {
    kernel.when(kernel.equal("%t", kernel.i32(0)), [&] {
      for (const auto &[at, count] : all)
        initialize(at, count);
      if (fence)
        kernel.call("fence.mbarrier_init.release.cluster");
    });
    kernel.barrier();
  }
};

/// What each thread has written to word `thread` of the only array.
std::vector<int32_t> run(const KernelText &kernel, int threads) {
  std::vector<int32_t> out(threads, -1);
  const Argument arguments[] = {ArrayView(out.data(), Type::i32, {threads})};
  BlockProgram(kernel.text()).launch(arguments, {});
  return out;
}
void write(KernelText &kernel, const std::string &value) {
  kernel << "llvm.store " + value + ", " + kernel.global(0, "%t") + " : i32, !llvm.ptr<1>";
}
std::string isInWarp(KernelText &kernel, int warp) {
  return kernel.equal(kernel.binary("lshr", "%t", kernel.i32(5)), kernel.i32(warp));
}
std::string isThread(KernelText &kernel, int thread) { return kernel.equal("%t", kernel.i32(thread)); }

/// One warp hands the numbers 1, 2, … to another, through one word: decimal digits of what that one has read.
std::vector<int32_t> handOver(int times, bool waitsUntilEmpty, bool waitsUntilFull) {
  KernelText kernel(64);
  Barriers barriers{kernel};
  barriers.initializeAll({{barrierAt, 1}, {emptyAt, 1}});
  kernel.when(isThread(kernel, 0), [&] {
    for (int i = 0; i < times; ++i) {
      if (waitsUntilEmpty)
        barriers.wait(emptyAt, (i & 1) ^ 1); // the first time at once
      kernel << "llvm.store " + kernel.i32(i + 1) + ", " + kernel.shared(placeAt) + " : i32, !llvm.ptr<3>";
      barriers.arrive(barrierAt);
    }
  });
  kernel.when(isInWarp(kernel, 1), [&] {
    std::string digits = kernel.i32(0);
    for (int i = 0; i < times; ++i) {
      if (waitsUntilFull)
        barriers.wait(barrierAt, i & 1);
      const std::string read = kernel.value("llvm.load " + kernel.shared(placeAt) + " : !llvm.ptr<3> -> i32");
      digits = kernel.binary("add", kernel.binary("mul", digits, kernel.i32(10)), read);
      kernel.call("bar.warp.sync", kernel.i32(-1), "i32");
      kernel.when(isThread(kernel, 32), [&] { barriers.arrive(emptyAt); });
    }
    write(kernel, digits);
  });
  std::vector<int32_t> out = run(kernel, 64);
  return {out.begin() + 32, out.end()};
}

std::vector<int32_t> everywhere(int32_t value, int count) { return std::vector<int32_t>(count, value); }

/// A copy of a box from an array of up to five dimensions, as a kernel of one warp does it; element by element.
struct Box {
  std::vector<int64_t> sizes;
  std::vector<int> corner; ///< the first dimension first
  int rows, columns, swizzle;
};
enum class Mistake { none, noFence, noWait, neverWaits, wrongBytes };

std::vector<float> copy(const Box &box, Mistake mistake = Mistake::none) {
  int64_t elements = 1;
  for (const int64_t size : box.sizes)
    elements *= size;
  std::vector<float> source(elements);
  for (int64_t i = 0; i < elements; ++i)
    source[i] = static_cast<float>(i + 1);
  std::vector<int64_t> strides(box.sizes.size(), 1);
  for (size_t d = box.sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * box.sizes[d];

  KernelText kernel(32);
  kernel.addMap(1, box.rows, box.columns, box.swizzle);
  Barriers barriers{kernel};
  barriers.initializeAll({{barrierAt, 1}}, mistake != Mistake::noFence);
  const int bytes = box.rows * box.columns * 4;
  kernel.when(isThread(kernel, 0), [&] {
    kernel.call("prefetch.tensormap.p0", "%map0", "!llvm.ptr");
    barriers.arriveExpecting(barrierAt, mistake == Mistake::wrongBytes ? bytes + 16 : bytes);
    std::string arguments = kernel.shared(placeAt) + ", " + kernel.shared(barrierAt) + ", %map0";
    std::string types = "!llvm.ptr<3>, !llvm.ptr<3>, !llvm.ptr";
    for (size_t d = box.corner.size(); d-- > 0;) {
      arguments += ", " + kernel.i32(box.corner[d]);
      types += ", i32";
    }
    const std::string no = kernel.value("llvm.mlir.constant(false) : i1");
    kernel.call("cp.async.bulk.tensor.g2s.cta.tile." + std::to_string(box.corner.size()) + "d",
                arguments + ", " + kernel.i64(0) + ", " + no, types + ", i64, i1");
  });
  if (mistake != Mistake::noWait && mistake != Mistake::neverWaits)
    barriers.wait(barrierAt, 0);
  kernel.call("bar.warp.sync", kernel.i32(-1), "i32");
  for (int i = 0; i < box.rows * box.columns; i += 32) {
    const std::string index = kernel.binary("add", "%t", kernel.i32(i));
    const std::string word = kernel.value(
        "llvm.load " +
        kernel.shared(kernel.binary("add", kernel.binary("mul", index, kernel.i32(4)), kernel.i32(placeAt))) +
        " : !llvm.ptr<3> -> i32");
    kernel << "llvm.store " + word + ", " + kernel.global(0, index) + " : i32, !llvm.ptr<1>";
  }
  if (mistake == Mistake::noWait)
    barriers.wait(barrierAt, 0);

  std::vector<float> image(static_cast<size_t>(box.rows) * box.columns);
  const Argument arguments[] = {ArrayView(image.data(), Type::f32, {static_cast<int64_t>(image.size())}),
                                ArrayView(source.data(), Type::f32, box.sizes, strides)};
  BlockProgram(kernel.text()).launch(arguments, {});
  std::vector<float> result;
  const ir::Swizzle swizzle = box.swizzle ? ir::Swizzle::forRows(box.columns * 4) : ir::Swizzle::plain(box.columns * 4);
  for (int row = 0; row < box.rows; ++row)
    for (int column = 0; column < box.columns; ++column)
      result.push_back(image[swizzle.offset(row, int64_t{4} * column) / 4]);
  return result;
}

std::vector<float> expected(const Box &box) {
  std::vector<float> result;
  const size_t rank = box.sizes.size();
  for (int row = 0; row < box.rows; ++row)
    for (int column = 0; column < box.columns; ++column) {
      int64_t number = 0;
      bool isInside = true;
      for (size_t d = 0; d < rank; ++d) {
        const int64_t index = box.corner[d] + (d + 2 == rank ? row : d + 1 == rank ? column : 0);
        isInside &= index >= 0 && index < box.sizes[d];
        number = number * box.sizes[d] + index;
      }
      result.push_back(isInside ? static_cast<float>(number + 1) : 0.0f);
    }
  return result;
}

} // namespace

TEST_CASE("barriers in memory: phases") {
  CHECK(handOver(7, true, true) == everywhere(1234567, 32));
  // Who does not wait lets the other one miss a phase.
  CHECK_THROWS_WITH(handOver(2, true, false), Contains("no thread can go on"));
  CHECK_THROWS_WITH(handOver(3, false, true), Contains("no thread can go on"));
}

TEST_CASE("barriers in memory: what the machine leaves undefined") {
  const auto outcome = [](auto statements) {
    KernelText kernel(32);
    statements(kernel, Barriers{kernel});
    run(kernel, 32);
  };
  CHECK_THROWS_WITH(outcome([](KernelText &, Barriers barriers) { barriers.arrive(barrierAt); }),
                    Contains("the mbarrier at shared address 0 is used, but was not initialised"));
  CHECK_THROWS_WITH(outcome([](KernelText &, Barriers barriers) { barriers.initialize(8, 1); }),
                    Contains("the mbarrier at shared address 8 is initialised a second time"));
  CHECK_THROWS_WITH(outcome([](KernelText &kernel, Barriers barriers) {
                      barriers.initializeAll({{barrierAt, 1}});
                      kernel << "llvm.store %t, %shared : i32, !llvm.ptr<3>";
                      barriers.arrive(barrierAt);
                    }),
                    Contains("has been overwritten"));
  CHECK_THROWS_WITH(outcome([](KernelText &kernel, Barriers barriers) {
                      barriers.initializeAll({{barrierAt, 2}});
                      kernel.when(isThread(kernel, 0), [&] {
                        barriers.arriveExpecting(barrierAt, 64);
                        barriers.arrive(barrierAt);
                        barriers.arrive(barrierAt);
                      });
                    }),
                    Contains("more threads arrive than the count allows at the mbarrier at shared address 0, which is "
                             "in phase 0 and lacks 0 of 2 arrivals and 64 bytes"));
}

TEST_CASE("nobody can go on: who waits for what") {
  KernelText kernel(64);
  Barriers barriers{kernel};
  barriers.initializeAll({{barrierAt, 1}, {emptyAt, 2}});
  kernel.when(isThread(kernel, 0), [&] {
    barriers.arrive(emptyAt);
    barriers.wait(emptyAt, 0);
    barriers.arrive(barrierAt);
  });
  kernel.when(isInWarp(kernel, 1), [&] { barriers.wait(barrierAt, 0); });
  CHECK_THROWS_WITH(run(kernel, 64),
                    Contains("no thread can go on:\n"
                             "  warp 0, lanes 0 to 0 wait for the phase of parity 0 of the mbarrier at shared address "
                             "8, which is in phase 0 and lacks 1 of 2 arrivals and 0 bytes\n"
                             "  warp 0, lanes 1 to 31 have ended\n"
                             "  warp 1, lanes 0 to 31 wait for the phase of parity 0 of the mbarrier at shared address "
                             "0, which is in phase 0 and lacks 1 of 1 arrivals and 0 bytes"));
}

TEST_CASE("bulk copies: borders, ranks, swizzles") {
  const Box boxes[] = {
      {{40, 32}, {0, 0}, 16, 32, 128},
      {{40, 32}, {-3, 4}, 16, 32, 128},
      {{40, 32}, {33, -8}, 16, 16, 64},
      {{40, 32}, {39, 28}, 8, 8, 32},
      {{40, 32}, {100, 0}, 8, 8, 0},
      {{40, 32}, {0, -2000}, 8, 12, 0},
      {{3, 20, 32}, {1, 15, 4}, 8, 32, 128},
      {{3, 20, 32}, {3, 0, 0}, 8, 32, 128},
      {{3, 20, 32}, {-1, 0, 0}, 8, 8, 0},
      {{2, 3, 9, 12}, {1, 2, 5, 2}, 8, 8, 32},
      {{2, 2, 3, 9, 12}, {1, 0, 2, 5, 2}, 8, 16, 64},
  };
  for (const Box &box : boxes) {
    INFO("corner " << box.corner[0] << ", " << box.corner[1] << " rank " << box.sizes.size() << " swizzle "
                   << box.swizzle);
    CHECK(copy(box) == expected(box));
  }
}

TEST_CASE("bulk copies: what is done too early, or not at all") {
  const Box box{{40, 32}, {0, 0}, 16, 32, 128};
  for (const float element : copy(box, Mistake::noWait))
    CHECK(std::isnan(element));
  CHECK_THROWS_WITH(copy(box, Mistake::noFence), Contains("there was no fence after its initialisation"));
  CHECK_THROWS_WITH(copy(box, Mistake::wrongBytes), Contains("lacks 0 of 1 arrivals and 16 bytes"));
  CHECK_THROWS_WITH(copy(box, Mistake::neverWaits),
                    Contains("the block has ended, and a bulk copy to shared address 1024 is still on its way"));
  CHECK_THROWS_WITH(copy({{40, 30}, {0, 0}, 16, 32, 128}), Contains("dimension 0 has a stride of 120 bytes"));
  CHECK_THROWS_WITH(copy({{40, 32}, {0, 0}, 16, 32, 64}),
                    Contains("rows of 128 bytes with a swizzle of 64 bytes; legal: as many"));
}

TEST_CASE("named barriers: some warps wait, others only arrive") {
  const auto numbers = [](bool producerArrives) {
    KernelText kernel(128);
    const std::string count = kernel.i32(64), id = kernel.i32(3);
    kernel.when(isInWarp(kernel, 2), [&] {
      kernel.when(isThread(kernel, 64), [&] {
        kernel << "llvm.store " + kernel.i32(7) + ", " + kernel.shared(placeAt) + " : i32, !llvm.ptr<3>";
      });
      if (producerArrives)
        kernel.call("barrier.cta.arrive.aligned.count", id + ", " + count, "i32, i32");
    });
    kernel.when(isInWarp(kernel, 1), [&] {
      kernel.call("barrier.cta.sync.aligned.count", id + ", " + count, "i32, i32");
      write(kernel, kernel.value("llvm.load " + kernel.shared(placeAt) + " : !llvm.ptr<3> -> i32"));
    });
    const std::vector<int32_t> out = run(kernel, 128);
    return std::vector<int32_t>(out.begin() + 32, out.begin() + 64);
  };
  CHECK(numbers(true) == everywhere(7, 32));
  CHECK_THROWS_WITH(numbers(false), Contains("warp 1, lanes 0 to 31 wait at barrier 3, where 32 of 64 threads have"));
}

TEST_CASE("registers change hands between groups of four warps") {
  const auto change = [](int threads, int decreased, int increased) {
    KernelText kernel(threads);
    const std::string isProducer = kernel.value("llvm.icmp \"sge\" %t, " + kernel.i32(threads - 128) + " : i32"),
                      isConsumer = kernel.value("llvm.icmp \"slt\" %t, " + kernel.i32(threads - 128) + " : i32");
    if (decreased)
      kernel.when(isProducer, [&] { kernel.call("setmaxnreg.dec.sync.aligned.u32", kernel.i32(decreased), "i32"); });
    kernel.when(isConsumer, [&] { kernel.call("setmaxnreg.inc.sync.aligned.u32", kernel.i32(increased), "i32"); });
    write(kernel, kernel.i32(1));
    return run(kernel, threads);
  };
  CHECK(change(384, 24, 240) == everywhere(1, 384)); // 168 at launch
  CHECK_THROWS_WITH(change(384, 40, 240), Contains("wait for registers, of which 56 a thread are free"));
  CHECK_THROWS_WITH(change(384, 0, 240), Contains("wait for registers, of which 0 a thread are free"));
  CHECK_THROWS_WITH(change(384, 176, 240), Contains("setmaxnreg from 168 to 176 is no decrease"));
}

TEST_CASE("one thread of a warp is elected, all of them vote") {
  KernelText kernel(64);
  const std::string pair = "!llvm.struct<(i32, i1)>",
                    elected = kernel.value("llvm.call_intrinsic \"llvm.nvvm.elect.sync\"(" + kernel.i32(-1) +
                                           ") : (i32) -> " + pair);
  const std::string isElected = kernel.value("llvm.extractvalue " + elected + "[1] : " + pair);
  const std::string any = kernel.value("llvm.call_intrinsic \"llvm.nvvm.vote.any.sync\"(" + kernel.i32(-1) + ", " +
                                       isThread(kernel, 40) + ") : (i32, i1) -> i1");
  write(kernel, kernel.binary("add", kernel.value("llvm.zext " + isElected + " : i1 to i32"),
                              kernel.binary("mul", kernel.value("llvm.zext " + any + " : i1 to i32"), kernel.i32(10))));
  std::vector<int32_t> out = run(kernel, 64);
  std::sort(out.begin(), out.end());
  std::vector<int32_t> wanted = everywhere(0, 31); // the first warp, then the one with thread 40
  wanted.push_back(1);
  wanted.insert(wanted.end(), 31, 10);
  wanted.push_back(11);
  CHECK(out == wanted);
}

TEST_CASE("inline assembly: values pass through, statements under a predicate") {
  KernelText kernel(32);
  const std::string pair = "!llvm.struct<(i32, i32)>";
  const auto assembly = [&](const std::string &text, const std::string &a, const std::string &b) {
    return kernel.value("llvm.inline_asm has_side_effects asm_dialect = att \"" + text + "\", \"=r,=r,0,1\" " + a +
                        ", " + b + " : (i32, i32) -> " + pair);
  };
  const auto first = [&](const std::string &both) {
    return kernel.value("llvm.extractvalue " + both + "[0] : " + pair);
  };
  const auto second = [&](const std::string &both) {
    return kernel.value("llvm.extractvalue " + both + "[1] : " + pair);
  };
  const std::string pinned = assembly("", kernel.i32(5), "%t");
  const std::string never =
      assembly("{ .reg .pred p; setp.eq.s32 p, $1, -1; @p bar.sync 15, 128; }", first(pinned), second(pinned));
  const std::string chosen =
      assembly("{ .reg .pred p; setp.ne.u32 p, $1, 3; @!p mov.b32 $0, 9; @p selp.b32 $1, 1, 2, p; }", first(never),
               second(never));
  write(kernel, kernel.binary("add", kernel.binary("mul", first(chosen), kernel.i32(10)), second(chosen)));
  std::vector<int32_t> wanted = everywhere(51, 32);
  wanted[3] = 93;
  CHECK(run(kernel, 32) == wanted);
  CHECK_THROWS_WITH(
      [&] {
        KernelText other(32);
        other << "llvm.inline_asm has_side_effects asm_dialect = att \"trap;\", \"\" : () -> ()";
        run(other, 32);
      }(),
      Contains("there is no instruction trap"));
}
