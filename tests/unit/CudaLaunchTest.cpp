// Launches on GPUs: the device, the words that the kernel gets, what is refused, and the rules of capture.
#include "tests/unit/CudaKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <set>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;
using Memory = FakeCuda::Memory;

static int64_t address(const ArrayView &view) { return reinterpret_cast<intptr_t>(view.data); }

TEST_CASE("one struct of words, a flat grid, the caller's stream") {
  FakeLaunches f;
  const ArrayView x = f.array(0), y = f.array(0);
  const cuda::StreamHandle stream = f.stream(0);
  f.launch(stream, {x, y, 2.0f}, {3, 5, 7});
  REQUIRE(f.fake.launches().size() == 1);
  const FakeLaunch launch = f.fake.launches()[0];
  CHECK(launch.function == "scale");
  CHECK(launch.stream == stream);
  CHECK((launch.blocks == 105 && launch.threads == threads && launch.sharedBytes == sharedBytes));
  CHECK(launch.words == std::vector<int64_t>{address(x), 10, 1, address(y), 10, 1, 0x40000000, 3, 5, 7});
}

TEST_CASE("a cached launch asks the driver for little and leaves nothing changed") {
  FakeLaunches f;
  const ArrayView x = f.array(1), y = f.array(1);
  const cuda::StreamHandle stream = f.stream(1);
  f.launch(stream, {x, y, 2.0f});
  f.fake.forgetCalls();
  f.launch(stream, {x, y, 2.0f});
  CHECK(f.fake.calls() == std::vector<std::string>{"cuStreamGetCtx", "cuCtxGetCurrent", "cuCtxSetCurrent",
                                                   "cuPointerGetAttribute", "cuPointerGetAttribute", "cuLaunchKernelEx",
                                                   "cuCtxSetCurrent"});
  CHECK(f.fake.current() == nullptr);
}

TEST_CASE("where there is one GPU a default stream's device is not asked for") {
  FakeLaunches f(scaleEntry(), {{"Fake H200", 9, 0}});
  const ArrayView x = f.array(0), y = f.array(0);
  f.fake.setCurrent(f.fake.primaryContext(0));
  f.launch(nullptr, {x, y, 2.0f});
  f.fake.forgetCalls();
  f.launch(nullptr, {x, y, 2.0f});
  CHECK(f.fake.calls() == std::vector<std::string>{"cuCtxGetCurrent", "cuPointerGetAttribute", "cuPointerGetAttribute",
                                                   "cuLaunchKernelEx"});
  float host[10];
  CHECK_THAT(messageOf<UserError>([&] { f.launch(nullptr, {x, ArrayView(host, Type::f32, {10}), 2.0f}); }),
             Contains("argument 'y' is host memory that the driver does not know") ||
                 Contains("argument 'y' is in host"));
}

TEST_CASE("grids of more programs than a launch can have are refused with the numbers") {
  FakeLaunches f;
  const ArrayView x = f.array(0), y = f.array(0);
  f.launch(f.stream(0), {x, y, 2.0f}, {2147483647, 1, 1});
  f.launch(f.stream(0), {x, y, 2.0f}, {1, 65536, 30000}); // y and z would be too large by themselves
  CHECK(f.fake.launches().size() == 2);
  CHECK(f.fake.launches()[1].blocks == 65536u * 30000u);
  CHECK(messageOf<UserError>([&] { f.launch(f.stream(0), {x, y, 2.0f}, {65536, 32768, 1}); }) ==
        "kernel 'scale': grid 65536 x 32768 x 1 has 2147483648 programs; legal on a GPU: up to 2147483647");
  CHECK(f.fake.launches().size() == 2);
}

//===-- devices -------------------------------------------------------------------------------------------------===//

TEST_CASE("the stream says which device, whatever context is current") {
  FakeLaunches f;
  for (void *before : {static_cast<void *>(nullptr), f.fake.primaryContext(0), f.fake.makeContext(0)}) {
    f.fake.setCurrent(before);
    f.launch(f.stream(1), {f.array(1), f.array(1), 2.0f});
    CHECK(f.fake.launches().back().device == 1);
    CHECK(f.fake.current() == before);
  }
  CHECK_FALSE(f.fake.retained(0));
}

TEST_CASE("a default stream is that of the arrays' device") {
  FakeLaunches f;
  for (uintptr_t handle : {0, 1, 2}) {
    const auto stream = reinterpret_cast<cuda::StreamHandle>(handle);
    f.launch(stream, {f.array(1), f.array(1), 2.0f});
    CHECK(f.fake.launches().back().device == 1);
    CHECK(f.fake.launches().back().stream == stream);
    const ArrayView empty(nullptr, Type::f32, {0});
    f.launch(stream, {empty, empty, 2.0f}); // nobody says where
    CHECK(f.fake.launches().back().device == 0);
  }
  f.machine.only = true;
  CHECK_THAT(
      messageOf<UserError>([&] { f.launch(nullptr, {f.array(1), f.array(1), 2.0f}); }),
      Contains("argument 'x' is in memory of cuda:1, which cuda:0 (Fake H200, sm_90), where the launch is, does not"));
}

TEST_CASE("streams that a session cannot use are refused, saying why") {
  FakeLaunches f(scaleEntry(), {{"Fake H200", 9, 0}, {"Fake H200", 9, 0}, {"Fake A100", 8, 0}});
  const auto refusal = [&](cuda::StreamHandle stream, int device) {
    return messageOf<UserError>([&] { f.launch(stream, {f.array(device), f.array(device), 2.0f}); });
  };
  CHECK_THAT(refusal(f.stream(2), 2),
             Contains("the launch would be on cuda:2 (Fake A100, sm_80), which does not run code "
                      "for sm_90a") &&
                 Contains("legal: a session of the target 'cuda:2'"));
  CHECK_THAT(refusal(f.streamIn(f.fake.makeContext(1)), 1),
             Contains("kernel 'scale': stream 0x") &&
                 Contains("belongs to a context of cuda:1 (Fake H200, sm_90) that is "
                          "not the device's primary one"));
  f.machine.only = true;
  CHECK_THAT(refusal(f.stream(1), 1),
             Contains("belongs to cuda:1 (Fake H200, sm_90), the session is on cuda:0 (Fake H200, sm_90)") &&
                 Contains("the target 'cuda', which follows the stream"));
  CHECK(f.fake.launches().empty());
}

//===-- memory --------------------------------------------------------------------------------------------------===//

TEST_CASE("arrays that the device does not reach are refused by name") {
  FakeLaunches f;
  float host[10] = {};
  const ArrayView here = f.array(0), there = f.array(1), mine(host, Type::f32, {10});
  const cuda::StreamHandle stream = f.stream(0);
  CHECK(
      messageOf<UserError>([&] { f.launch(stream, {here, there, 2.0f}); }) ==
      "kernel 'scale': argument 'y' is in memory of cuda:1, which cuda:0 (Fake H200, sm_90), where the launch is, does "
      "not reach; legal: memory of cuda:0, managed memory, or host memory that was allocated by or registered with the "
      "driver");
  CHECK(
      messageOf<UserError>([&] { f.launch(stream, {mine, here, 2.0f}); }) ==
      "kernel 'scale': argument 'x' is in host memory that the driver does not know, and the launch is on cuda:0 (Fake "
      "H200, sm_90); legal: memory of cuda:0, managed memory, or host memory that was allocated by or registered with "
      "the driver");
  CHECK(f.fake.launches().empty());
  CHECK(f.fake.current() == nullptr);

  f.launch(stream, {f.array(1, Memory::managed), f.array(1, Memory::pinned), 2.0f});
  const ArrayView nowhere(host, Type::f32, {0}); // no element
  f.launch(stream, {nowhere, nowhere, 2.0f});
  CHECK(f.fake.launches().size() == 2);
}

TEST_CASE("an array's address is checked where its first element is") {
  FakeLaunches f;
  ArrayView reversed = f.array(0);
  reversed.data = static_cast<float *>(reversed.data) + 9;
  reversed.strides[0] = -1;
  f.launch(f.stream(0), {reversed, f.array(0), 2.0f});
  CHECK(f.fake.launches().at(0).words[2] == -1);
}

//===-- failures ------------------------------------------------------------------------------------------------===//

TEST_CASE("whatever fails at a launch: named, nothing launched, the current context as before") {
  // `which`: the call of that function, from the launch's first on.
  for (const auto &[function, which] : {std::pair("cuStreamGetCtx", 0),
                                        {"cuCtxGetCurrent", 0},
                                        {"cuCtxSetCurrent", 0},
                                        {"cuPointerGetAttribute", 0},
                                        {"cuPointerGetAttribute", 1},
                                        {"cuLaunchKernelEx", 0}}) {
    INFO(function << " " << which);
    FakeLaunches f;
    const ArrayView x = f.array(1), y = f.array(1);
    const cuda::StreamHandle stream = f.stream(1);
    f.kernel->load(f.device(1));
    void *const before = f.fake.primaryContext(0);
    f.fake.setCurrent(before);
    f.fake.fail(function, 700, which);
    const std::string message = messageOf<DeviceError>([&] { f.launch(stream, {x, y, 2.0f}); });
    CHECK_THAT(message, Contains(function) && Contains("CUDA_ERROR_ILLEGAL_ADDRESS (words of the driver)"));
    if (std::string(function).find("cuCtx") != 0)
      CHECK_THAT(message, Contains("kernel 'scale'"));
    CHECK(f.fake.launches().empty());
    CHECK(f.fake.current() == before);
    f.launch(stream, {x, y, 2.0f});
    CHECK(f.fake.launches().size() == 1);
  }
}

TEST_CASE("a launch that the driver refuses says all that it was asked for") {
  FakeLaunches f;
  f.fake.fail("cuLaunchKernelEx", 2);
  CHECK(messageOf<DeviceError>([&] { f.launch(f.stream(0), {f.array(0), f.array(0), 2.0f}, {3, 2}); }) ==
        "kernel 'scale' on cuda:0 (Fake H200, sm_90), 6 blocks of 128 threads and 1000 bytes of shared memory: "
        "cuLaunchKernelEx: CUDA_ERROR_OUT_OF_MEMORY (words of the driver)");
}

//===-- capture -------------------------------------------------------------------------------------------------===//

TEST_CASE("a launch can be captured, and what would have to come before is refused") {
  FakeLaunches f;
  const ArrayView x = f.array(0), y = f.array(0);
  const cuda::StreamHandle stream = f.stream(0);
  cuda::refuseDuringCapture(f.device(0), "scale", stream, "compiled"); // no capture yet
  f.launch(stream, {x, y, 2.0f});
  f.fake.beginCapture(stream);
  f.launch(stream, {x, y, 2.0f});
  CHECK(f.fake.launches().back().captured);
  CHECK_THAT(messageOf<UserError>([&] { cuda::refuseDuringCapture(f.device(0), "scale", stream, "compiled"); }),
             Contains("kernel 'scale': it would have to be compiled while stream 0x") &&
                 Contains("is being captured into a graph; legal: prepare or launch it once"));
  CHECK(f.fake.endCapture(stream));
  CHECK(f.fake.current() == nullptr);
}

//===-- threads -------------------------------------------------------------------------------------------------===//

TEST_CASE("threads launch on two devices at once") {
  FakeLaunches f;
  constexpr int rounds = 200;
  std::vector<std::thread> all;
  std::atomic<int> restored = 0;
  for (int device : {0, 1, 0, 1}) {
    const ArrayView x = f.array(device), y = f.array(device);
    const cuda::StreamHandle stream = f.stream(device);
    void *const before = f.fake.primaryContext(1 - device);
    all.emplace_back([&f, &restored, x, y, stream, before] {
      f.fake.setCurrent(before);
      for (int i = 0; i < rounds; ++i) {
        f.launch(stream, {x, y, 2.0f});
        restored += f.fake.current() == before;
      }
    });
  }
  for (std::thread &thread : all)
    thread.join();
  CHECK(restored == 4 * rounds);
  CHECK(f.fake.launches().size() == 4 * rounds);
  CHECK(f.fake.modules() == 2);
}
