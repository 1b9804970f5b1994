// Sessions on real GPUs: streams, graphs, memory, the second device.
#include "tests/support/CudaGraph.h"
#include "tests/support/LateProducer.h"
#include "tests/support/RuntimeKernels.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/cuda/Memory.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <iostream>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;

namespace {

using Floats = std::vector<float>;

/// One device, with memory for ten numbers in and ten out, and a stream.
struct Bench {
  explicit Bench(size_t ordinal = 0)
      : devices(valueOrThrow(cuda::Devices::open(""))), device((*devices)[ordinal]), x(device, 40), y(device, 40),
        queue(device), stream(Stream::cuda(queue.handle())) {
    set(Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  }
  static Options options(const std::string &target) {
    Options result;
    result.target = target;
    result.cache = "off";
    return result;
  }
  void set(const Floats &values) {
    x.upload(values.data());
    y.upload(Floats(10, -1).data());
  }
  ArrayView in() const { return ArrayView(x.data(), Type::f32, {10}); }
  ArrayView out() const { return ArrayView(y.data(), Type::f32, {10}); }
  void scale(Session &session, float factor = 2) {
    session.launch(stream, scaleKernel, {4, 0}, {3}, {in(), out(), factor});
  }
  Floats result() const {
    queue.synchronize();
    Floats values(10);
    y.download(values.data());
    return values;
  }

  std::shared_ptr<const cuda::Devices> devices;
  const cuda::Device &device;
  cuda::Memory x, y;
  cuda::OwnedStream queue;
  Stream stream;
};

const Floats doubled{2, 4, 6, 8, 10, 12, 14, 16, 18, 20};

} // namespace

TEST_CASE("a launch on a device runs, and a second one costs nothing more") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  Bench bench;
  Session session(Bench::options(targetUnderTest()));
  bench.scale(session);
  CHECK(bench.result() == doubled);
  bench.set(Floats(10, 3));
  bench.scale(session, -1);
  CHECK(bench.result() == Floats(10, -3));
  CHECK(session.counters().compilations == 1);
  CHECK(session.counters().memoryHits == 1);
  // The default stream as well.
  bench.set(Floats(10, 3));
  session.launch(Stream::cuda(nullptr), scaleKernel, {4, 0}, {3}, {bench.in(), bench.out(), 2.0f});
  Floats values(10);
  bench.y.download(values.data()); // in that stream
  CHECK(values == Floats(10, 6));
}

TEST_CASE("a launch runs after what is in its stream already, and the call does not wait for it") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  Bench bench;
  Session session(Bench::options(targetUnderTest()));
  const LateProducer producer(bench.devices);
  const auto fillLate = [&](float value) { producer.launch(bench.device, bench.queue.handle(), bench.in(), value); };
  fillLate(1);
  bench.scale(session);
  CHECK(bench.result() == Floats(10, 2));
  for (float value : {3.0f, 5.0f}) {
    const auto begin = std::chrono::steady_clock::now();
    fillLate(value);
    bench.scale(session);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(25));
    CHECK(bench.result() == Floats(10, 2 * value));
  }
}

TEST_CASE("a graph holds launches; what is not compiled is refused, and the capture goes on") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  Bench bench;
  Session session(Bench::options(targetUnderTest()));
  // 1. Capture: a refusal, then the launch.
  const CudaGraph graph(bench.device, bench.queue.handle(), [&] {
    CHECK_THROWS_AS(bench.scale(session), UserError);
    CHECK_THROWS_WITH(bench.scale(session), Contains("would have to be compiled while stream 0x"));
    session.prepare(scaleKernel, {4, 0}, {bench.in(), bench.out(), 2.0f});
    bench.scale(session);
  });
  CHECK(bench.result() == Floats(10, -1)); // captured is not run
  // 2. Replay, with new input.
  for (float value : {1.0f, 4.0f, -2.5f}) {
    bench.set(Floats(10, value));
    graph.launch();
    CHECK(bench.result() == Floats(10, 2 * value));
  }
}

TEST_CASE("memory that the device does not reach is refused, whatever else the driver knows is not") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  Bench bench;
  Session session(Bench::options(targetUnderTest()));
  Floats host(10, 1);
  const ArrayView unknown(host.data(), Type::f32, {10});
  CHECK_THROWS_AS(session.launch(bench.stream, scaleKernel, {4, 0}, {3}, {unknown, bench.out(), 2.0f}), UserError);
  CHECK_THROWS_WITH(session.launch(bench.stream, scaleKernel, {4, 0}, {3}, {unknown, bench.out(), 2.0f}),
                    Contains("argument 'x' is in host memory that the driver does not know"));
  CHECK(bench.result() == Floats(10, -1));

  const cuda::Library library("libcuda.so.1");
  const cuda::Entry<void *, size_t, unsigned> registerMemory{library, "cuMemHostRegister_v2"};
  const cuda::Entry<void *> unregisterMemory{library, "cuMemHostUnregister"};
  const cuda::Driver &driver = bench.devices->driver();
  const cuda::CurrentContext current(driver, bench.device.context());
  driver.check(registerMemory(host.data(), host.size() * sizeof(float), 0), registerMemory, "registering");
  session.launch(bench.stream, scaleKernel, {4, 0}, {3}, {unknown, bench.out(), 2.0f});
  CHECK(bench.result() == Floats(10, 2));
  driver.check(unregisterMemory(host.data()), unregisterMemory, "unregistering");
}

TEST_CASE("the second device, with the first one current, and both from threads") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  Bench first;
  if (first.devices->size() < 2) {
    std::cout << "one device only: the second one was not tested here (tests/unit/Cuda*.cpp do, on a fake)\n";
    return;
  }
  Bench second(1);
  Session session(Bench::options(targetUnderTest()));
  const cuda::Driver &driver = first.devices->driver();
  const auto currentContext = [&] {
    cuda::Context context = nullptr;
    driver.check(driver.contextGetCurrent(&context), driver.contextGetCurrent, "asking");
    return context;
  };
  const cuda::CurrentContext current(driver, first.device.context());
  second.scale(session);
  CHECK(second.result() == doubled);
  CHECK(currentContext() == first.device.context());
  CHECK_THROWS_WITH(session.launch(second.stream, scaleKernel, {4, 0}, {3}, {first.in(), second.out(), 2.0f}),
                    Contains("argument 'x' is in memory of cuda:0"));

  const auto work = [&](Bench &bench) {
    for (int i = 0; i < 100; ++i)
      bench.scale(session, static_cast<float>(i));
  };
  std::thread other([&] { work(second); });
  work(first);
  other.join();
  CHECK(first.result() == second.result());
  CHECK(first.result()[9] == 990);
  CHECK(currentContext() == first.device.context());
}
