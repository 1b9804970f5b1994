// Attention in the streams of GPUs: in graphs, behind a late producer, on the second device. What of it needs no GPU is
// in tests/unit/CudaAttentionTest.cpp, on a fake driver.
#include "runtime/cuda/Memory.h"
#include "tests/attention/Trial.h"
#include "tests/support/CudaGraph.h"
#include "tests/support/LateProducer.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>
#include <utility>

using namespace sectile;
using namespace sectile::test;

namespace {

using Bytes = std::vector<std::byte>;

/// Whether the target under test has streams; says so when it has none.
bool hasStreams() {
  if (isCudaTarget(targetUnderTest()))
    return true;
  std::cout << "not run: target " << targetUnderTest() << " has no streams\n";
  return false;
}

/// A row-major array in the memory of a device.
struct DeviceArray {
  cuda::Memory memory;
  ArrayView view;

  DeviceArray(const cuda::Device &device, const Tensor &tensor) : memory(device, tensor.bytes().size()), view(tensor) {
    view.data = memory.data();
    set(tensor);
  }
  void set(const Tensor &tensor) const { memory.upload(tensor.bytes().data()); }
  Bytes get() const {
    Bytes bytes(memory.bytes());
    memory.download(bytes.data());
    return bytes;
  }
};

/// A trial's arrays on a device, and a stream there.
struct Bench {
  const cuda::Device &device;
  cuda::OwnedStream queue;
  DeviceArray q, k, v, out, lse;
  AttentionOptions options;

  Bench(const cuda::Device &device, const Trial &trial)
      : device(device), queue(device), q(device, trial.q), k(device, trial.k), v(device, trial.v),
        out(device, trial.out), lse(device, trial.lse), options(trial.options) {}
  void attendIn(cuda::StreamHandle stream) const {
    attentionForward(session(), Stream::cuda(stream), q.view, k.view, v.view, out.view, lse.view, options);
  }
  void attend() const { attendIn(queue.handle()); }
  /// What attend() wrote: out, then lse.
  Bytes result() const {
    queue.synchronize();
    Bytes bytes = out.get();
    const Bytes more = lse.get();
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  }
  void poison(Trial &trial) const {
    trial.out.poison();
    trial.lse.poison();
    out.set(trial.out);
    lse.set(trial.lse);
  }
};

/// Judges a result as the trial's own.
void checkResult(const Bytes &result, Trial &trial) {
  const size_t outBytes = trial.out.bytes().size();
  std::memcpy(trial.out.view().data, result.data(), outBytes);
  std::memcpy(trial.lse.view().data, result.data() + outBytes, result.size() - outBytes);
  const reference::Verdict verdict = trial.judge();
  INFO("worst: " << verdict.worst);
  CHECK(verdict.error <= verdict.bound());
  CHECK(verdict.lseError <= reference::Verdict::lseBound);
}

} // namespace

TEST_CASE("A31 flash-attention#165 and #1164: a graph with dropout, replayed with other contents and shorter lengths") {
  if (!hasStreams())
    return;
  const auto devices = valueOrThrow(cuda::Devices::open(""));
  Trial trial({.type = Type::f16, .batch = 2, .seqlenQ = 2048, .seqlenK = 2048, .heads = 12, .headsKv = 12});
  Tensor lengths(Type::i32, {2});
  lengths.fill(2048);
  Bench bench((*devices)[0], trial);
  const DeviceArray lengthsThere(bench.device, lengths);
  bench.options.keyLengths = lengthsThere.view;
  bench.options.dropout = 0.1f;
  bench.options.seed = 17;
  bench.attend(); // compiled and loaded before the capture

  // The seed is a number of the launch, as the graph keeps it: all replays drop the same weights. Another mask is
  // another launch.
  const CudaGraph graph(bench.device, bench.queue.handle(), [&] { bench.attend(); });
  Bench otherwise((*devices)[0], trial);
  otherwise.options = bench.options;
  otherwise.options.seed = 18;
  const CudaGraph otherSeed(bench.device, otherwise.queue.handle(), [&] { otherwise.attend(); });

  Random random(3);
  Bytes before;
  for (const auto &[first, second] : {std::pair{2048, 2048}, {1500, 2047}, {64, 0}, {1, 777}}) {
    INFO("lengths " << first << " and " << second);
    bool isSecond = false;
    lengths.generate([&, first = first, second = second] {
      return static_cast<double>(std::exchange(isSecond, true) ? second : first);
    });
    lengthsThere.set(lengths);
    for (const auto &[tensor, there] : {std::pair{&trial.q, &bench.q}, {&trial.k, &bench.k}, {&trial.v, &bench.v}}) {
      tensor->randomize(random);
      there->set(*tensor);
    }
    bench.attend();
    const Bytes eager = bench.result();
    bench.poison(trial);
    graph.launch();
    CHECK(bench.result() == eager);
    CHECK(eager != before);
    before = eager;
    if (second == 0) { // the second batch sees no keys
      const Bytes out = bench.out.get();
      CHECK(std::all_of(out.begin() + static_cast<int64_t>(out.size() / 2), out.end(),
                        [](std::byte byte) { return byte == std::byte{0}; }));
    }
  }
  for (const auto &[tensor, there] :
       {std::pair{&trial.q, &otherwise.q}, {&trial.k, &otherwise.k}, {&trial.v, &otherwise.v}})
    there->set(*tensor);
  otherSeed.launch();
  CHECK(otherwise.result() != before);
}

TEST_CASE("A47 candle#3596 and flash-attention#2505: attention waits for a late producer in its stream") {
  if (!hasStreams())
    return;
  const auto devices = valueOrThrow(cuda::Devices::open(""));
  const LateProducer producer(devices);
  for (const float dropout : {0.0f, 0.2f}) {
    INFO("dropout " << dropout);
    Trial trial({.type = Type::f16, .seqlenQ = 100, .seqlenK = 300, .heads = 4, .headsKv = 2});
    trial.options.dropout = dropout;
    trial.v.fill(2);
    const Bench bench((*devices)[0], trial);
    bench.attend();
    checkResult(bench.result(), trial);
    const Bytes expected = bench.result();
    // Once more, with values that become 2 when the producer is done.
    trial.v.poison();
    bench.v.set(trial.v);
    bench.poison(trial);
    const ArrayView words(bench.v.view.data, Type::f32, {bench.v.view.elements() / 2});
    const auto twoTwos = std::bit_cast<float>(0x40004000); // f16
    producer.launch(bench.device, bench.queue.handle(), words, twoTwos);
    (void)bench.result(); // loaded
    bench.v.set(trial.v);
    const auto begin = std::chrono::steady_clock::now();
    producer.launch(bench.device, bench.queue.handle(), words, twoTwos);
    bench.attend();
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(25)); // the host does not wait
    CHECK(bench.result() == expected);
  }
}

TEST_CASE("A46 triton#2441, flashinfer#924 and #452: the second device, with the first one current; threads on both") {
  if (!hasStreams())
    return;
  const auto devices = valueOrThrow(cuda::Devices::open(""));
  if (devices->size() < 2) {
    std::cout << "not run: there is one device only (tests/unit/CudaAttentionTest.cpp has two, of a fake driver)\n";
    return;
  }
  Trial trial(
      {.type = Type::f16, .seqlenQ = 16, .seqlenK = 2048, .heads = 32, .headsKv = 32, .headDim = 128, .headDimV = 128});
  const Bench first((*devices)[0], trial), second((*devices)[1], trial);
  const cuda::Driver &driver = devices->driver();
  const auto currentContext = [&] {
    cuda::Context context = nullptr;
    driver.check(driver.contextGetCurrent(&context), driver.contextGetCurrent, "asking");
    return context;
  };
  const cuda::CurrentContext current(driver, first.device.context());
  // 1. By the stream.
  second.attend();
  CHECK(currentContext() == first.device.context());
  const Bytes expected = second.result();
  checkResult(expected, trial);
  // 2. By the arrays, in the default stream, which the copies of result() wait for.
  second.poison(trial);
  second.attendIn(nullptr);
  CHECK(currentContext() == first.device.context());
  CHECK(second.result() == expected);
  // 3. Both at once.
  first.poison(trial);
  second.poison(trial);
  const auto work = [](const Bench &bench) {
    for (int i = 0; i < 50; ++i)
      bench.attend();
  };
  std::thread other([&] { work(second); });
  work(first);
  other.join();
  CHECK(first.result() == expected);
  CHECK(second.result() == expected);
  CHECK(currentContext() == first.device.context());
}
