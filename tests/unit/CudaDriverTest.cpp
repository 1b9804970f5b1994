// Finding the driver and the GPUs, and whose code runs where.
#include "tests/unit/CudaKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;

TEST_CASE("no library, another library, no GPU: each says so") {
  CHECK_THAT(llvm::toString(cuda::Devices::open("/nowhere/libcuda.so.1").takeError()),
             Contains("no NVIDIA driver: ") && Contains("/nowhere/libcuda.so.1"));
  CHECK_THAT(llvm::toString(cuda::Devices::open("libm.so.6").takeError()),
             Contains("the NVIDIA driver 'libm.so.6' has no cuInit, ") &&
                 Contains("needed is one for CUDA 11.8 or newer"));
  FakeCuda::get().reset({});
  CHECK(llvm::toString(cuda::Devices::open(FakeCuda::library()).takeError()) ==
        "the NVIDIA driver does not start: cuInit: CUDA_ERROR_NO_DEVICE (words of the driver)");
}

TEST_CASE("what a GPU can do is read without using it") {
  FakeMachine machine({{"Fake A100", 8, 0, 166912}, {"Fake H200", 9, 0}});
  REQUIRE(machine.machine.devices->size() == 2);
  CHECK(machine.device(0).text() == "cuda:0 (Fake A100, sm_80)");
  CHECK(machine.device(0).sharedPerBlock == 166912);
  CHECK(machine.device(1).sm == 90);
  CHECK(machine.machine.devices->list() == "cuda:0 (Fake A100, sm_80), cuda:1 (Fake H200, sm_90)");
  CHECK_FALSE(machine.fake.everCreated(0));
  CHECK_FALSE(machine.fake.everCreated(1));
}

TEST_CASE("a primary context is retained once and given back") {
  FakeMachine machine;
  CHECK(machine.device(1).context() == machine.device(1).context());
  CHECK(machine.fake.retained(1) == 1);
  CHECK(machine.fake.retained(0) == 0);
  machine.machine.devices.reset();
  CHECK(machine.fake.retained(1) == 0);
}

TEST_CASE("the current context is restored, also on an empty stack and after an error") {
  FakeMachine machine;
  const cuda::Driver &driver = machine.machine.devices->driver();
  for (void *before : {static_cast<void *>(nullptr), machine.fake.primaryContext(0), machine.fake.makeContext(1)}) {
    machine.fake.setCurrent(before);
    try {
      const cuda::CurrentContext current(driver, machine.device(1).context());
      CHECK(machine.fake.current() == machine.fake.primaryContext(1));
      throw 0;
    } catch (int) {
    }
    CHECK(machine.fake.current() == before);
  }
  machine.fake.setCurrent(machine.fake.primaryContext(1));
  machine.fake.forgetCalls();
  {
    const cuda::CurrentContext current(driver, machine.device(1).context());
  }
  CHECK(machine.fake.calls() == std::vector<std::string>{"cuCtxGetCurrent"}); // nothing to change
}

TEST_CASE("a driver's error has its name and text") {
  FakeMachine machine;
  const cuda::Driver &driver = machine.machine.devices->driver();
  CHECK(driver.describe("cuX", cuda::Status::outOfMemory) == "cuX: CUDA_ERROR_OUT_OF_MEMORY (words of the driver)");
  CHECK(driver.describe("cuX", cuda::Status{12345}) == "cuX: error 12345");
  CHECK(messageOf<DeviceError>([&] { driver.check(cuda::Status::invalidValue, driver.init, "asking"); }) ==
        "asking: cuInit: CUDA_ERROR_INVALID_VALUE (words of the driver)");
  CHECK_THAT(messageOf<DeviceError>([&] { driver.check(cuda::Status::illegalAddress, driver.init, "asking"); }),
             Contains("CUDA_ERROR_ILLEGAL_ADDRESS") && Contains("a kernel that was launched earlier"));
}

TEST_CASE("architectures: what runs where") {
  using cuda::Architecture;
  const Architecture sm80 = *Architecture::ofTarget("nvptx:sm_80"), sm90a = *Architecture::ofTarget("nvptx:sm_90a:x"),
                     sm120 = *Architecture::ofTarget("nvptx:sm_120:none");
  CHECK((sm80.sm == 80 && !sm80.specific && sm80.name() == "sm_80"));
  CHECK((sm90a.sm == 90 && sm90a.specific && sm90a.name() == "sm_90a"));
  CHECK(sm120.sm == 120);
  for (const char *bad : {"cpu", "nvptx", "nvptx:", "nvptx:sm_", "nvptx:sm_90x", "nvptx:gfx942", "nvptx:sm_90ab"})
    CHECK_FALSE(Architecture::ofTarget(bad));

  CHECK((sm80.binaryRunsOn(80) && sm80.binaryRunsOn(86) && sm80.binaryRunsOn(89)));
  CHECK((!sm80.binaryRunsOn(75) && !sm80.binaryRunsOn(90)));
  CHECK((sm80.ptxRunsOn(90) && sm80.ptxRunsOn(120) && !sm80.ptxRunsOn(75)));
  CHECK((sm90a.binaryRunsOn(90) && sm90a.ptxRunsOn(90)));
  CHECK((!sm90a.binaryRunsOn(100) && !sm90a.ptxRunsOn(100) && !sm90a.ptxRunsOn(89)));
  CHECK((!sm120.binaryRunsOn(100) && sm120.binaryRunsOn(121)));
}

TEST_CASE("the first GPU that runs an architecture") {
  FakeMachine machine({{"Fake A100", 8, 0}, {"Fake H200", 9, 0}});
  const auto first = [&](const char *target) {
    const cuda::Device *device = machine.machine.devices->firstToRun(*cuda::Architecture::ofTarget(target));
    return device ? device->ordinal : -1;
  };
  CHECK(first("nvptx:sm_75") == 0);
  CHECK(first("nvptx:sm_80") == 0);
  CHECK(first("nvptx:sm_86") == 1);
  CHECK(first("nvptx:sm_90a") == 1);
  CHECK(first("nvptx:sm_100a") == -1);
}
