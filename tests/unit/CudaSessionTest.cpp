// Sessions on GPUs: targets, streams, what is compiled and loaded when, and what is refused before anything is
// launched.
#include "tests/support/Environment.h"
#include "tests/support/RuntimeKernels.h"
#include "tests/unit/CudaKernels.h"

#include "sectile/Devices.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

constexpr const char *noDriver = "/nowhere/libcuda.so.1";

/// Fake GPUs and sessions on them.
struct Gpus {
  FakeCuda &fake = FakeCuda::get();
  std::vector<std::string> lines; ///< of the log

  explicit Gpus(std::vector<FakeDevice> devices = {{"Fake H200", 9, 0}, {"Fake H200", 9, 0}}) {
    fake.reset(std::move(devices));
  }
  Options options(const std::string &target = "cuda") {
    Options result;
    result.target = target;
    result.cache = "off";
    result.cudaDriver = FakeCuda::library();
    result.toolkit = "none"; // the driver assembles, on every machine alike
    result.logLevel = 2;
    result.log = [this](int, const std::string &line) { lines.push_back(line); };
    return result;
  }
  Stream stream(int device) { return Stream::cuda(fake.makeStream(fake.primaryContext(device))); }
  ArrayView array(int device) { return ArrayView(fake.allocate(device, 40), Type::f32, {10}); }
};

void scale(Session &session, const Stream &stream, const ArrayView &x, const ArrayView &y, const Grid &grid = {3}) {
  session.launch(stream, scaleKernel, {4, 0}, grid, {x, y, 2.0f});
}

} // namespace

TEST_CASE("a launch on a GPU compiles once, for the device") {
  Gpus gpus;
  Session session(gpus.options());
  CHECK_THAT(session.target(), StartsWith("nvptx:sm_90a"));
  CHECK_THAT(gpus.lines.at(0), Contains("session on nvptx:sm_90a on cuda:0 (Fake H200, sm_90) and others of its kind"));
  const ArrayView x = gpus.array(0), y = gpus.array(0);
  const Stream stream = gpus.stream(0);
  for (int i = 0; i < 3; ++i)
    scale(session, stream, x, y);
  CHECK(session.counters().compilations == 1);
  CHECK(session.counters().launches == 3);
  CHECK(session.counters().memoryHits == 2);
  REQUIRE(gpus.fake.launches().size() == 3);
  const FakeLaunch launch = gpus.fake.launches()[2];
  CHECK(launch.stream == stream.handle());
  CHECK(launch.words == std::vector<int64_t>{reinterpret_cast<intptr_t>(x.data), 10, 1,
                                             reinterpret_cast<intptr_t>(y.data), 10, 1, 0x40000000, 3, 1, 1});
  CHECK(gpus.fake.current() == nullptr);

  auto executable = session.prepare(scaleKernel, {4, 0}, {x, y, 2.0f});
  CHECK(launch.threads == 32u * static_cast<unsigned>(executable->schedule().warps));
  for (const char *name : {"registers", "spill_bytes", "shared_bytes", "threads", "occupancy_blocks"})
    CHECK(std::ranges::count(executable->resources(), name, &std::pair<std::string, int64_t>::first) == 1);
  CHECK(executable->stages().front().name == "tile");
  CHECK(executable->stages().back().name == "cubin"); // the driver's
  CHECK_THAT(executable->stages().back().text, Contains("FAKE sm_90"));
}

TEST_CASE("what an assembler made is loaded as it is") {
  Gpus gpus;
  gpus.fake.setParameterBytes(80);
  Options options = gpus.options();
  options.toolkit = "";
  Session session(options);
  scale(session, gpus.stream(0), gpus.array(0), gpus.array(0));
  CHECK(gpus.fake.launches().size() == 1);
  CHECK(std::ranges::count(gpus.fake.calls(), "cuLinkCreate") == (session.target() == "nvptx:sm_90a:driver"));
}

namespace {
/// A program nvdisasm, first on PATH, that counts its runs.
class Disassembler {
public:
  explicit Disassembler(const std::string &commands) {
    const std::string path = folder / "bin/nvdisasm";
    writeFile(path, "#!/bin/sh\necho run >> " + folder / "runs" + "\n" + commands + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  size_t runs() const {
    const std::string lines = readFile(folder.path() / "runs");
    return static_cast<size_t>(std::ranges::count(lines, '\n'));
  }

private:
  ScratchFolder folder;
  const std::string path = folder / "bin" + ":" + std::getenv("PATH");
  const Environment environment{{"PATH", path.c_str()}};
};
} // namespace

TEST_CASE("SASS is listed for who looks at the stages, once, and is not cached") {
  Gpus gpus;
  gpus.fake.setParameterBytes(80);
  const ArrayView x = gpus.array(0), y = gpus.array(0);
  ScratchFolder folder;
  Options options = gpus.options();
  options.toolkit = "";
  options.cache = folder / "cache";
  std::string key;
  {
    const Disassembler disassembler("echo THE LISTING");
    Session session(options);
    scale(session, gpus.stream(0), x, y);
    auto executable = session.prepare(scaleKernel, {4, 0}, {x, y, 2.0f});
    key = executable->key();
    CHECK(disassembler.runs() == 0);
    const Stage &last = executable->stages().back();
    CHECK(last.name == "sass");
    CHECK(last.file == "kernel.sass");
    CHECK(last.text == "THE LISTING\n");
    CHECK(executable->stages().end()[-2].name == "cubin");
    CHECK(disassembler.runs() == 1);
  }
  {
    const Disassembler disassembler("echo ANOTHER ONE");
    options.dump = folder / "dump";
    Session session(options);
    scale(session, gpus.stream(0), x, y);
    CHECK(session.counters().diskHits == 1);
    CHECK(readFile(folder.path() / "dump" / ("scale-" + key.substr(0, 12)) / "kernel.sass") == "ANOTHER ONE\n");
    CHECK(disassembler.runs() == 1);
  }
  options.dump = "";
  {
    const Disassembler broken("echo what is sm_90a >&2; exit 3");
    Session session(options);
    scale(session, gpus.stream(0), x, y);
    const Stage last = session.prepare(scaleKernel, {4, 0}, {x, y, 2.0f})->stages().back();
    CHECK(last.name == "sass");
    CHECK_THAT(last.text, StartsWith("// not disassembled: ") && Contains("code 3") && Contains("what is sm_90a"));
  }
}

TEST_CASE("a dump of what was compiled has its SASS") {
  Gpus gpus;
  ScratchFolder folder;
  const Disassembler disassembler("echo THE LISTING");
  const auto dumped = [&](const std::string &toolkit) {
    gpus.fake.setParameterBytes(80);
    Options options = gpus.options();
    options.toolkit = toolkit;
    options.dump = folder / ("dump" + toolkit);
    Session session(options);
    session.prepare(scaleKernel, {4, 0}, {gpus.array(0), gpus.array(0), 2.0f});
    for (const auto &kernel : std::filesystem::directory_iterator(options.dump))
      return readFile(kernel.path() / "kernel.sass");
    return std::string("no dump");
  };
  CHECK(dumped("") == "THE LISTING\n");
  CHECK(dumped("none").empty()); // none of the toolkit's programs is used
}

TEST_CASE("code assembled by the driver is found on disk by the next session") {
  Gpus gpus;
  ScratchFolder folder;
  const ArrayView x = gpus.array(0), y = gpus.array(0);
  const Stream stream = gpus.stream(0);
  Options options = gpus.options();
  options.cache = folder.path().string();
  {
    Session first(options);
    scale(first, stream, x, y);
  }
  CHECK(gpus.fake.modules() == 0);
  CHECK(gpus.fake.retained(0) == 0);
  gpus.fake.forgetCalls();
  Session second(options);
  scale(second, stream, x, y);
  CHECK(second.counters().diskHits == 1);
  CHECK(second.counters().compilations == 0);
  CHECK(std::ranges::count(gpus.fake.calls(), "cuLinkCreate") == 0);
  CHECK(gpus.fake.launches().size() == 2);
}

//===-- targets -------------------------------------------------------------------------------------------------===//

TEST_CASE("without a target: the first GPU, else the host, and the log says why") {
  Gpus gpus({{"Fake A100", 8, 0}, {"Fake H200", 9, 0}});
  Session onGpu(gpus.options(""));
  CHECK_THAT(onGpu.target(), StartsWith("nvptx:sm_80"));
  CHECK_THAT(gpus.lines.back(), Contains("target not given: cuda:0 (Fake A100, sm_80) was found"));

  Options options = gpus.options("");
  options.cudaDriver = noDriver;
  Session onHost(options);
  CHECK_THAT(onHost.target(), StartsWith("cpu:"));
  CHECK_THAT(gpus.lines.back(), Contains("target not given: no NVIDIA driver: ") && Contains(noDriver));

  gpus.fake.reset({{"Fake K80", 3, 7}});
  Session tooOld(gpus.options(""));
  CHECK_THAT(tooOld.target(), StartsWith("cpu:"));
  CHECK_THAT(gpus.lines.back(), Contains("target not given: ") && Contains("3.7"));
}

TEST_CASE("a target names one device, any of a kind, or an architecture") {
  Gpus gpus({{"Fake A100", 8, 0}, {"Fake H200", 9, 0}});
  const auto launched = [&](const std::string &target, int device) {
    Session session(gpus.options(target));
    scale(session, gpus.stream(device), gpus.array(device), gpus.array(device));
    CHECK(gpus.fake.launches().back().device == device);
    return session.target().substr(0, session.target().find(':', 6));
  };
  CHECK(launched("cuda", 0) == "nvptx:sm_80");
  CHECK(launched("cuda:1", 1) == "nvptx:sm_90a");
  CHECK(launched("nvptx:sm_80", 0) == "nvptx:sm_80");
  CHECK(launched("nvptx:sm_80", 1) == "nvptx:sm_80"); // the driver assembles it for the newer device
  CHECK(launched("cuda", 1) == "nvptx:sm_80");
  CHECK_THAT(messageOf<UserError>([&] { launched("cuda:1", 0); }), Contains("the session is on cuda:1"));
  CHECK_THAT(messageOf<UserError>([&] { launched("nvptx:sm_90a", 0); }), Contains("does not run code for sm_90a"));
}

TEST_CASE("targets that are not there say what is") {
  Gpus gpus;
  const auto create = [&](Options options) { Session session(options); };
  CHECK(messageOf<DeviceError>([&] { create(gpus.options("cuda:7")); }) ==
        "target 'cuda:7': there is no such GPU; there are cuda:0 (Fake H200, sm_90), cuda:1 (Fake H200, sm_90)");
  CHECK_THAT(messageOf<UserError>([&] { create(gpus.options("cuda:x")); }),
             Contains("target 'cuda:x' is unknown; legal: 'cuda'"));
  CHECK_THAT(messageOf<DeviceError>([&] { create(gpus.options("hip")); }),
             Contains("'hip' is not part of this version"));
  Options options = gpus.options();
  options.cudaDriver = noDriver;
  CHECK_THAT(messageOf<DeviceError>([&] { create(options); }), StartsWith("target 'cuda': no NVIDIA driver: "));
  options = gpus.options();
  options.threads = 2;
  CHECK_THAT(messageOf<UserError>([&] { create(options); }), Contains("option 'threads' is 2") && Contains("legal: 0"));
}

TEST_CASE("an architecture that no device here has is compiled for, not run") {
  for (const bool driver : {true, false}) {
    Gpus gpus;
    Options options = gpus.options("nvptx:sm_120");
    if (!driver)
      options.cudaDriver = noDriver;
    Session session(options);
    const ArrayView nowhere(nullptr, Type::f32, {10});
    CHECK(session.prepare(scaleKernel, {4, 0}, {nowhere, nowhere, 2.0f})->stages().size() >= 4);
    const std::string message =
        messageOf<DeviceError>([&] { scale(session, Stream::cuda(nullptr), nowhere, nowhere); });
    CHECK_THAT(message, Contains("kernel 'scale' is for nvptx:sm_120, and this machine cannot run it, as "));
    CHECK_THAT(message, driver ? Contains("none of its GPUs runs code for sm_120: there are cuda:0 (Fake H200, sm_90)")
                               : Contains("there is no NVIDIA driver"));
    CHECK(gpus.fake.launches().empty());
  }
}

TEST_CASE("streams of the wrong kind are refused") {
  Gpus gpus;
  Session onGpu(gpus.options()), onHost(gpus.options("interpret"));
  float memory[10] = {};
  const ArrayView array(memory, Type::f32, {10});
  CHECK(
      messageOf<UserError>([&] { scale(onGpu, Stream::host(), array, array); }) ==
      "kernel 'scale': the stream is Stream::host(), the session is on nvptx:sm_90a; legal: Stream::cuda(stream) with "
      "arrays in device memory, or a session of the target 'cpu'");
  CHECK(messageOf<UserError>([&] { scale(onHost, Stream::cuda(nullptr), array, array); }) ==
        "kernel 'scale': the stream is a CUDA stream, the session is on interpret; legal: Stream::host()");
  CHECK(onGpu.counters().compilations + onHost.counters().compilations == 0);
}

TEST_CASE("a session on the host refuses device memory for kernels that it has not launched") {
  Gpus gpus;
  CHECK(findDevices(gpus.options()).size() == 5); // somebody uses the driver
  Session session(gpus.options("interpret"));
  float memory[10] = {};
  const ArrayView host(memory, Type::f32, {10});
  const ArrayView managed(gpus.fake.allocate(0, 40, FakeCuda::Memory::managed), Type::f32, {10});
  for (int i = 0; i < 2; ++i)
    CHECK(messageOf<UserError>([&] { scale(session, Stream::host(), host, gpus.array(0)); }) ==
          "kernel 'scale': argument 2 of 3 is in the memory of a GPU, and the session is on the host; legal: host "
          "memory, managed memory, or a session of the target 'cuda'");
  CHECK(session.counters().launches == 0);
  scale(session, Stream::host(), managed, managed);
  CHECK(session.counters().launches == 1);
}

//===-- capture -------------------------------------------------------------------------------------------------===//

TEST_CASE("what is compiled is captured, what is not is refused, and the capture goes on") {
  Gpus gpus;
  Session session(gpus.options());
  const ArrayView x = gpus.array(0), y = gpus.array(0), x1 = gpus.array(1), y1 = gpus.array(1);
  const Stream stream = gpus.stream(0), stream1 = gpus.stream(1);
  gpus.fake.beginCapture(stream.handle());
  CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, x, y); }),
             Contains("kernel 'scale': it would have to be compiled while stream 0x") &&
                 Contains("is being captured into a graph"));
  CHECK(session.counters().compilations == 0);
  session.prepare(scaleKernel, {4, 0}, {x, y, 2.0f}); // in no stream
  gpus.fake.forgetCalls();
  scale(session, stream, x, y);
  for (const std::string &call : gpus.fake.calls())
    CHECK(std::set<std::string>{"cuStreamGetCtx", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuPointerGetAttribute",
                                "cuLaunchKernelEx"}
              .contains(call));
  CHECK(gpus.fake.endCapture(stream.handle()));
  REQUIRE(gpus.fake.launches().size() == 1);
  CHECK(gpus.fake.launches()[0].captured);

  gpus.fake.beginCapture(stream1.handle());
  CHECK_THAT(messageOf<UserError>([&] { scale(session, stream1, x1, y1); }),
             Contains("it would have to be loaded on cuda:1 (Fake H200, sm_90) while stream 0x"));
  CHECK(gpus.fake.endCapture(stream1.handle()));
  CHECK(gpus.fake.launches().size() == 1);
}

TEST_CASE("compiling beside a capture in another stream leaves it whole") {
  Gpus gpus;
  Session session(gpus.options());
  const Stream captured = gpus.stream(0);
  gpus.fake.beginCapture(captured.handle());
  scale(session, gpus.stream(0), gpus.array(0), gpus.array(0));
  CHECK(gpus.fake.launches().size() == 1);
  CHECK(gpus.fake.endCapture(captured.handle()));
}

//===-- refusals ------------------------------------------------------------------------------------------------===//

TEST_CASE("nothing is launched on bad input") {
  Gpus gpus;
  Session session(gpus.options());
  const ArrayView x = gpus.array(0), y = gpus.array(0), elsewhere = gpus.array(1);
  const Stream stream = gpus.stream(0);
  float memory[10] = {};
  const ArrayView host(memory, Type::f32, {10}), null(nullptr, Type::f32, {10});
  ArrayView repeated = y, misaligned = x;
  repeated.strides[0] = 0;
  misaligned.data = static_cast<char *>(x.data) + 2;
  for (const bool warm : {false, true}) {
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, host, y); }), Contains("'x' is in host memory"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, host, y, {0}); }), Contains("'x' is in host memory"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, x, elsewhere); }),
               Contains("'y' is in memory of cuda:1"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, null, y); }), Contains("'x' has no memory"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, x, repeated); }), Contains("'y' is written"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, misaligned, y); }), Contains("'x' must be aligned"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, x, y, {-1}); }), Contains("grid size x is -1"));
    CHECK_THAT(messageOf<UserError>([&] { scale(session, stream, x, y, {1 << 20, 1 << 20}); }),
               Contains("legal on a GPU: up to 2147483647"));
    CHECK_THAT(messageOf<UserError>([&] { session.launch(stream, scaleKernel, {4, 0}, {1}, {x, y}); }),
               Contains("takes 3 arguments"));
    CHECK_THAT(
        messageOf<UserError>([&] { session.launch(stream, scaleKernel, {4, 0}, {1}, {x, y, 2.0f}, {.threads = 1}); }),
        Contains("threads"));
    CHECK(gpus.fake.launches().empty());
    CHECK(gpus.fake.current() == nullptr);
    if (!warm)
      session.prepare(scaleKernel, {4, 0}, {x, y, 2.0f});
  }
  CHECK(session.counters().launches == 0);
  scale(session, stream, x, y, {0}); // legal, and nothing to run
  CHECK(gpus.fake.launches().empty());
  CHECK(session.counters().launches == 1);
}

TEST_CASE("a device error while compiling is not remembered") {
  Gpus gpus;
  Session session(gpus.options());
  const ArrayView x = gpus.array(0), y = gpus.array(0);
  const Stream stream = gpus.stream(0);
  gpus.fake.fail("cuModuleLoadDataEx", 2);
  CHECK_THAT(messageOf<DeviceError>([&] { scale(session, stream, x, y); }),
             Contains("kernel 'scale'") && Contains("cuModuleLoadDataEx: CUDA_ERROR_OUT_OF_MEMORY"));
  scale(session, stream, x, y);
  CHECK(gpus.fake.launches().size() == 1);
}

//===-- threads, lifetime ---------------------------------------------------------------------------------------===//

TEST_CASE("sessions in threads on different devices share nothing") {
  Gpus gpus;
  std::atomic<int> right = 0;
  const auto work = [&](int device, const ArrayView &x, const ArrayView &y, const Stream &stream) {
    void *const before = gpus.fake.primaryContext(1 - device);
    gpus.fake.setCurrent(before);
    for (int i = 0; i < 3; ++i) {
      Options options = gpus.options("cuda:" + std::to_string(device));
      options.log = [](int, const std::string &) {};
      Session session(options);
      scale(session, stream, x, y);
      scale(session, stream, x, y);
      right += session.counters().compilations == 1 && gpus.fake.current() == before;
    }
  };
  std::thread other(work, 1, gpus.array(1), gpus.array(1), gpus.stream(1));
  work(0, gpus.array(0), gpus.array(0), gpus.stream(0));
  other.join();
  CHECK(right == 6);
  CHECK(std::ranges::count(gpus.fake.launches(), 0, &FakeLaunch::device) == 6);
  CHECK(std::ranges::count(gpus.fake.launches(), 1, &FakeLaunch::device) == 6);
  CHECK(gpus.fake.modules() == 0);
  CHECK(gpus.fake.retained(0) + gpus.fake.retained(1) == 0);
}

TEST_CASE("an executable keeps its code when its session ends") {
  Gpus gpus;
  std::shared_ptr<const Executable> executable;
  {
    Session session(gpus.options());
    executable = session.prepare(scaleKernel, {4, 0}, {gpus.array(0), gpus.array(0), 2.0f});
  }
  CHECK(gpus.fake.modules() == 1);
  executable.reset();
  CHECK(gpus.fake.modules() == 0);
  CHECK(gpus.fake.retained(0) == 0);
}

//===-- devices -------------------------------------------------------------------------------------------------===//

TEST_CASE("what there is, and why not") {
  Gpus gpus({{"Fake H200", 9, 0}, {"Fake K80", 3, 7}});
  std::vector<DeviceInfo> all = findDevices(gpus.options());
  REQUIRE(all.size() == 5);
  CHECK((all[0].target == "cpu" && all[0].obstacle.empty() && !all[0].preferred));
  CHECK((all[1].target == "interpret" && all[1].obstacle.empty()));
  CHECK((all[2].target == "cuda:0" && all[2].name == "Fake H200" && all[2].code == "nvptx:sm_90a" && all[2].preferred));
  CHECK((all[2].multiprocessors == 132 && all[2].driverVersion == 13000 && all[2].sharedPerBlock == 232448));
  CHECK((all[3].target == "cuda:1" && all[3].name == "Fake K80" && !all[3].preferred));
  CHECK_THAT(all[3].obstacle, Contains("3.7"));
  CHECK((all[4].target == "hip" && !all[4].obstacle.empty()));
  CHECK_FALSE(gpus.fake.everCreated(0));

  Options options = gpus.options();
  options.cudaDriver = noDriver;
  all = findDevices(options);
  REQUIRE(all.size() == 4);
  CHECK(all[0].preferred);
  CHECK(all[2].target == "cuda");
  CHECK_THAT(all[2].obstacle, Contains("no NVIDIA driver"));
}
