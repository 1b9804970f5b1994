// Loading code on GPUs: which stage, what is prepared, what is refused, and that nothing is left behind.
#include "tests/unit/CudaKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;

TEST_CASE("code is loaded once a device, and unloaded") {
  FakeLaunches f;
  CHECK(f.kernel->find(f.device(1)) == nullptr);
  const cuda::Kernel::Code &code = f.kernel->load(f.device(1));
  CHECK(&f.kernel->load(f.device(1)) == &code);
  CHECK(f.kernel->find(f.device(1)) == &code);
  CHECK(f.kernel->find(f.device(0)) == nullptr);
  CHECK(f.fake.modules() == 1);
  CHECK_FALSE(f.fake.everCreated(0));
  CHECK((code.registers == 96 && code.spillBytes == 16 && code.blocksPerMultiprocessor == 3));
  f.kernel->load(f.device(0));
  CHECK(f.fake.modules() == 2);
  f.kernel.reset();
  CHECK(f.fake.modules() == 0);
  CHECK(f.fake.current() == nullptr);
}

TEST_CASE("the driver assembles PTX once for the cache, where it is for this very architecture") {
  FakeLaunches f;
  const Stage *cubin = assemble(f.entry, f.device(0));
  REQUIRE(cubin);
  CHECK(cubin->name == "cubin");
  CHECK(cubin->file == "kernel.cubin");
  CHECK_THAT(cubin->text, Contains("FAKE sm_90"));
  CHECK(f.entry.artifact.stages.back().text == cubin->text);
  CHECK(assemble(f.entry, f.device(0)) == nullptr); // nothing left to do
  f.kernel->load(f.device(0));
  CHECK(f.fake.modules() == 1);

  CacheEntry other = scaleEntry("sm_80");
  CHECK(assemble(other, f.device(0)) == nullptr);
  CHECK(other.artifact.stages.back().name == "ptx");

  CacheEntry bad = scaleEntry();
  bad.artifact.stages.back().text = "nonsense";
  CHECK_THAT(messageOf<DeviceError>([&] { assemble(bad, f.device(0)); }),
             Contains("kernel 'scale' cannot be assembled for cuda:0 (Fake H200, sm_90)") &&
                 Contains("cuLinkAddData_v2: CUDA_ERROR_INVALID_PTX"));
  CHECK(f.fake.current() == nullptr);
}

TEST_CASE("PTX for an older architecture is assembled by the driver, machine code is not offered to it") {
  FakeLaunches f(scaleEntry("sm_80"), {{"Fake H200", 9, 0}, {"Fake A10", 8, 6}, {"Fake T4", 7, 5}});
  f.entry.artifact.stages.push_back({"cubin", "kernel.cubin", "\177FAKE sm_80\n" + f.entry.artifact.stages[1].text});
  f.entry.artifact.stages.push_back({"sass", "kernel.sass", "for people"});
  f.kernel->load(f.device(0));
  f.kernel->load(f.device(1));
  CHECK(messageOf<DeviceError>([&] { f.kernel->load(f.device(2)); }) ==
        "kernel 'scale' was compiled for nvptx:sm_80:none, which cuda:2 (Fake T4, sm_75) does not run");
}

TEST_CASE("what the assembler says is in the error") {
  CacheEntry entry = scaleEntry();
  entry.artifact.stages.back().text = "nonsense";
  FakeLaunches f(entry);
  CHECK(messageOf<DeviceError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'scale': cuda:0 (Fake H200, sm_90) cannot load its ptx [ptxas fatal : no .target]: cuModuleLoadDataEx: "
        "CUDA_ERROR_INVALID_PTX (words of the driver)");
  f.fake.fail("cuModuleLoadDataEx", 222);
  CHECK_THAT(messageOf<DeviceError>([&] { f.kernel->load(f.device(0)); }),
             Contains("CUDA_ERROR_UNSUPPORTED_PTX_VERSION") || Contains("the driver is for CUDA 13.0"));
}

TEST_CASE("shared memory beyond 48 KB is opted in to, and no more of it than there is") {
  CacheEntry entry = scaleEntry();
  SECTION("little: nothing to do") {
    FakeLaunches f(entry);
    f.launch(f.stream(0), {f.array(0), f.array(0), 2.0f});
    CHECK(f.fake.launches().at(0).sharedBytes == sharedBytes);
    CHECK(f.fake.carveout() == -1);
  }
  SECTION("much") {
    setResource(entry, "shared_bytes", 100000);
    FakeLaunches f(entry);
    f.launch(f.stream(0), {f.array(0), f.array(0), 2.0f});
    CHECK(f.fake.launches().at(0).sharedBytes == 100000);
    CHECK(f.fake.carveout() == 100);
  }
  SECTION("more than the device has") {
    setResource(entry, "shared_bytes", 240000);
    entry.schedule = {.blockM = 128, .stages = 4};
    FakeLaunches f(entry);
    CHECK(
        messageOf<DeviceError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'scale' needs 240000 bytes of shared memory a thread block, and cuda:0 (Fake H200, sm_90) has 232448; "
        "legal: a schedule with smaller tiles, fewer stages or warps (this one is blockM=128,stages=4)");
    CHECK(f.fake.modules() == 0);
  }
}

TEST_CASE("threads beyond what the registers allow are refused when the code is loaded") {
  CacheEntry entry = scaleEntry();
  setResource(entry, "threads", 1024);
  FakeLaunches f(entry);
  CHECK(messageOf<DeviceError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'scale' on cuda:0 (Fake H200, sm_90) can have 512 threads a block, as it uses 96 registers each; it "
        "needs 1024");
  CHECK(f.fake.modules() == 0);
}

TEST_CASE("a kernel that does not take what a launch passes is an internal error") {
  CacheEntry entry = scaleEntry();
  entry.artifact.parameters.pop_back();
  FakeLaunches f(entry);
  CHECK(messageOf<InternalError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'scale' takes a parameter of 80 bytes, not 72");
  CHECK(f.fake.modules() == 0);
  entry.artifact.resources.clear();
  CHECK_THAT(llvm::toString(cuda::Kernel::create(f.machine.devices, entry).takeError()),
             Contains("'threads' of kernel 'scale'"));
}

TEST_CASE("whatever fails while code is loaded: named, nothing left, the current context as before, and tried again") {
  for (const char *function :
       {"cuDevicePrimaryCtxRetain", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode",
        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuFuncGetParamInfo", "cuFuncSetAttribute", "cuFuncGetAttribute",
        "cuOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    INFO(function);
    CacheEntry entry = scaleEntry();
    setResource(entry, "shared_bytes", 100000);
    FakeLaunches f(entry);
    void *const before = f.fake.primaryContext(0);
    f.fake.setCurrent(before);
    f.fake.fail(function, 2);
    const std::string message = messageOf<DeviceError>([&] { f.kernel->load(f.device(1)); });
    CHECK_THAT(message, Contains(function) && Contains("CUDA_ERROR_OUT_OF_MEMORY (words of the driver)"));
    CHECK(f.fake.current() == before);
    CHECK(f.fake.modules() == 0);
    f.kernel->load(f.device(1));
    CHECK(f.fake.modules() == 1);
    CHECK(f.fake.current() == before);
  }
  for (const char *function : {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete"}) {
    INFO(function);
    FakeLaunches f;
    f.fake.fail(function, 2);
    CHECK_THAT(messageOf<DeviceError>([&] { assemble(f.entry, f.device(1)); }),
               Contains("kernel 'scale'") && Contains(function) && Contains("CUDA_ERROR_OUT_OF_MEMORY"));
    CHECK(f.fake.current() == nullptr);
    CHECK(f.entry.artifact.stages.size() == 2);
  }
}

TEST_CASE("loading does not disturb a capture") {
  FakeLaunches f;
  void *const stream = f.fake.makeStream(f.fake.primaryContext(0));
  f.fake.beginCapture(stream);
  assemble(f.entry, f.device(0));
  f.kernel->load(f.device(0));
  f.kernel.reset();
  CHECK(f.fake.endCapture(stream));
}
