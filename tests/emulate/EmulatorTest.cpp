// Code that lacks a barrier or a wait gives wrong results in the emulator, and right ones with it.
#include "tests/emulate/WarpEmulator.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace sectile;

namespace {

constexpr int threads = 128;
const std::string barrier = R"(llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"(%c0) : (i32) -> ()
)",
                  waitForCopies = R"(llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%c0) : (i32) -> ()
)";
const std::string ofThread = "%own", ofAnother = "%other";

/// The thread's number, as f32, to its place in shared memory.
const std::string writeNumber = "llvm.store %number, %own : f32, !llvm.ptr<3>\n";
/// The thread's 16 bytes of the input to its place in shared memory.
const std::string copyInput = R"(
  llvm.call_intrinsic "llvm.nvvm.cp.async.cg.shared.global.16"(%own, %source) : (!llvm.ptr<3>, !llvm.ptr<1>) -> ()
  llvm.call_intrinsic "llvm.nvvm.cp.async.commit.group"() : () -> ()
)";
/// What is in a place, to the output.
std::string readFrom(const std::string &place) { return "%read = llvm.load " + place + " : !llvm.ptr<3> -> f32\n"; }

/// A kernel of 128 threads; places are 16 bytes each. Thread t's other is thread 127 - t, which is in another warp.
/// What it has read goes to the output: the result, by thread. Thread t's input is 1000 + t.
std::vector<float> run(const std::string &body) {
  const warps::BlockProgram program(R"(
module {
  llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @kernel(%words: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.array<2 x i64>})
      attributes {nvvm.kernel, sectile.threads = 128 : i64} {
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c4 = llvm.mlir.constant(4 : i32) : i32
    %c127 = llvm.mlir.constant(127 : i32) : i32
    %t = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %u = llvm.sub %c127, %t : i32
    %number = llvm.sitofp %t : i32 to f32
    %shared = llvm.mlir.addressof @shared : !llvm.ptr<3>
    %t4 = llvm.mul %t, %c4 : i32
    %u4 = llvm.mul %u, %c4 : i32
    %own = llvm.getelementptr %shared[%t4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %other = llvm.getelementptr %shared[%u4] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %input = llvm.load %words : !llvm.ptr -> !llvm.ptr<1>
    %second = llvm.getelementptr %words[1] : (!llvm.ptr) -> !llvm.ptr, i64
    %output = llvm.load %second : !llvm.ptr -> !llvm.ptr<1>
    %source = llvm.getelementptr %input[%t4] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %result = llvm.getelementptr %output[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
)" + body + R"(
    llvm.store %read, %result : f32, !llvm.ptr<1>
    llvm.return
  }
})");
  struct alignas(16) Chunk {
    float numbers[4];
  };
  std::vector<Chunk> input(threads);
  for (int t = 0; t < threads; ++t)
    input[t].numbers[0] = 1000.0f + static_cast<float>(t);
  std::vector<float> output(threads);
  program.launch(1, {reinterpret_cast<int64_t>(input.data()), reinterpret_cast<int64_t>(output.data())});
  return output;
}

/// How many threads did not read what they should have.
template <class Expected> int64_t wrong(const std::vector<float> &output, Expected expected) {
  int64_t count = 0;
  for (int t = 0; t < threads; ++t)
    count += output[t] != static_cast<float>(expected(t));
  return count;
}
int numberOfOther(int t) { return threads - 1 - t; }
int inputOfThread(int t) { return 1000 + t; }
int inputOfOther(int t) { return 1000 + threads - 1 - t; }

} // namespace

TEST_CASE("what another warp writes is there after a barrier") {
  CHECK(wrong(run(writeNumber + barrier + readFrom(ofAnother)), numberOfOther) == 0);
  CHECK(wrong(run(writeNumber + readFrom(ofAnother)), numberOfOther) > 0);
}

TEST_CASE("an asynchronous copy is there after a wait, for other threads after a barrier, too") {
  CHECK(wrong(run(copyInput + waitForCopies + readFrom(ofThread)), inputOfThread) == 0);
  CHECK(wrong(run(copyInput + readFrom(ofThread)), inputOfThread) == threads);
  CHECK(wrong(run(copyInput + waitForCopies + barrier + readFrom(ofAnother)), inputOfOther) == 0);
  CHECK(wrong(run(copyInput + waitForCopies + readFrom(ofAnother)), inputOfOther) > 0);
  CHECK(wrong(run(copyInput + barrier + readFrom(ofAnother)), inputOfOther) == threads);
}

TEST_CASE("a copy begins once all have read what was in its place") {
  const std::string read = writeNumber + barrier + readFrom(ofAnother);
  CHECK(wrong(run(read + barrier + copyInput + waitForCopies), numberOfOther) == 0);
  CHECK(wrong(run(read + copyInput + waitForCopies), numberOfOther) > 0);
}

TEST_CASE("a wait leaves the last groups on their way") {
  const std::string one = "%c1 = llvm.mlir.constant(1 : i32) : i32\n",
                    waitForAllButOne = R"(llvm.call_intrinsic "llvm.nvvm.cp.async.wait.group"(%c1) : (i32) -> ()
)",
                    emptyGroup = R"(llvm.call_intrinsic "llvm.nvvm.cp.async.commit.group"() : () -> ()
)";
  CHECK(wrong(run(one + copyInput + emptyGroup + waitForAllButOne + readFrom(ofThread)), inputOfThread) == 0);
  CHECK(wrong(run(one + copyInput + waitForAllButOne + readFrom(ofThread)), inputOfThread) == threads);
}

TEST_CASE("threads that end while others wait") {
  const std::string body = R"(
    %isFirst = llvm.icmp "eq" %t, %c0 : i32
    llvm.cond_br %isFirst, ^waits, ^ends
  ^waits:
)" + barrier + R"(
    llvm.br ^ends
  ^ends:
)" + readFrom(ofThread);
  CHECK_THROWS_WITH(run(body), Catch::Matchers::Contains("no thread can go on:\n  warp 0, lanes 0 to 0 wait at barrier "
                                                         "0, where 1 of 128 threads have arrived\n  warp 0, lanes 1 to "
                                                         "31 have ended\n  warp 1, lanes 0 to 31 have ended"));
}
