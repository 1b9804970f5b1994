// Attention calls on fake GPUs: in which stream and on which device they are launched, and what else they ask for.
// What real GPUs make of it is in tests/attention/StreamsTest.cpp.
#include "tests/support/fake_cuda/FakeCuda.h"

#include "sectile/Attention.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Two GPUs, and a session that follows the stream.
struct Gpus {
  FakeCuda &fake = FakeCuda::get();
  Session session;

  Gpus() : session(options(fake)) {}
  static Options options(FakeCuda &fake) {
    fake.reset({{"Fake H200", 9, 0}, {"Fake H200", 9, 0}});
    Options result;
    result.target = "cuda";
    result.cache = "off";
    result.cudaDriver = FakeCuda::library();
    result.toolkit = "none"; // the driver assembles
    return result;
  }
  void *stream(int device) { return fake.makeStream(fake.primaryContext(device)); }
  /// Whether all that was asked for since forgetCalls() may be captured, and is a launch or has no effect.
  bool onlyLaunched() const {
    const std::set<std::string> harmless{"cuStreamGetCtx", "cuCtxGetCurrent", "cuCtxSetCurrent",
                                         "cuPointerGetAttribute", "cuLaunchKernelEx"};
    return std::ranges::all_of(fake.calls(), [&](const std::string &call) { return harmless.contains(call); });
  }
};

/// The arrays of a call on one device.
struct Call {
  ArrayView q, k, v, out, lse;
  AttentionOptions options;

  Call(FakeCuda &fake, int device, float dropout) {
    const auto array = [&](Type type, std::initializer_list<int64_t> sizes) {
      ArrayView view(nullptr, type, sizes);
      view.data = fake.allocate(device, static_cast<size_t>(view.elements() * typeBytes(type)));
      return view;
    };
    for (ArrayView *view : {&q, &k, &v, &out})
      *view = array(Type::f16, {2, 256, 12, 64});
    lse = array(Type::f32, {2, 12, 256});
    options.keyLengths = array(Type::i32, {2});
    options.dropout = dropout;
  }
  void attend(Session &session, void *stream) const {
    attentionForward(session, Stream::cuda(stream), q, k, v, out, lse, options);
  }
};

} // namespace

TEST_CASE("A31 flash-attention#165 and #1164: a captured call is the launch of an eager one") {
  Gpus gpus;
  Call call(gpus.fake, 0, 0.1f);
  void *const stream = gpus.stream(0);
  call.attend(gpus.session, stream);
  gpus.fake.beginCapture(stream);
  gpus.fake.forgetCalls();
  call.attend(gpus.session, stream);
  CHECK(gpus.onlyLaunched());
  // Other masks: the seed is a number of the launch, and no reason to compile.
  call.options.seed = 18;
  call.attend(gpus.session, stream);
  CHECK(gpus.onlyLaunched());
  CHECK(gpus.fake.endCapture(stream));

  const std::vector<FakeLaunch> launches = gpus.fake.launches();
  REQUIRE(launches.size() == 3);
  CHECK((!launches[0].captured && launches[1].captured && launches[2].captured));
  CHECK(launches[1].words == launches[0].words);
  CHECK(launches[2].words != launches[0].words);
  // Lengths are read when the graph runs: their address is in the launch.
  CHECK(std::ranges::count(launches[1].words, reinterpret_cast<intptr_t>(call.options.keyLengths->data)) == 1);
}

TEST_CASE("A46 triton#2441, flashinfer#924 and #452: device 1 while device 0 is current") {
  Gpus gpus;
  const Call call(gpus.fake, 1, 0);
  void *const stream = gpus.stream(1);
  for (void *before : {static_cast<void *>(nullptr), gpus.fake.primaryContext(0)})
    for (void *in : {stream, static_cast<void *>(nullptr)}) { // the default stream is that of the arrays' device
      gpus.fake.setCurrent(before);
      call.attend(gpus.session, in);
      CHECK(gpus.fake.launches().back().device == 1);
      CHECK(gpus.fake.launches().back().stream == in);
      CHECK(gpus.fake.current() == before);
    }
  CHECK(gpus.fake.launches().size() == 4);
  CHECK(gpus.session.counters().compilations == 1);
}

TEST_CASE("A46: threads on both devices") {
  Gpus gpus;
  constexpr size_t rounds = 50;
  std::atomic<size_t> restored = 0;
  const auto work = [&](const Call &call, void *stream, void *before) {
    gpus.fake.setCurrent(before);
    for (size_t i = 0; i < rounds; ++i) {
      call.attend(gpus.session, stream);
      restored += gpus.fake.current() == before;
    }
  };
  const Call calls[] = {{gpus.fake, 0, 0}, {gpus.fake, 1, 0}};
  void *const streams[] = {gpus.stream(0), gpus.stream(1)};
  void *const contexts[] = {gpus.fake.primaryContext(0), gpus.fake.primaryContext(1)};
  std::thread other(work, std::cref(calls[1]), streams[1], contexts[0]);
  work(calls[0], streams[0], contexts[1]);
  other.join();
  CHECK(restored == 2 * rounds);
  const std::vector<FakeLaunch> launches = gpus.fake.launches();
  for (int device : {0, 1})
    CHECK(std::ranges::count_if(launches, [&](const FakeLaunch &launch) {
            return launch.device == device && launch.stream == streams[device];
          }) == rounds);
}

TEST_CASE("A47 candle#3596 and flash-attention#2505: nothing is launched outside the caller's stream") {
  for (const float dropout : {0.0f, 0.2f}) {
    INFO("dropout " << dropout);
    Gpus gpus;
    const Call call(gpus.fake, 0, dropout);
    void *const stream = gpus.stream(0);
    call.attend(gpus.session, stream);
    gpus.fake.forgetCalls();
    call.attend(gpus.session, stream);
    CHECK(gpus.onlyLaunched()); // no copy, no memset, no event
    CHECK(gpus.fake.launches().size() == 2);
    for (const FakeLaunch &launch : gpus.fake.launches())
      CHECK(launch.stream == stream);
  }
}
