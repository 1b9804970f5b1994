// A kernel as the compiler hands it to the runtime, written by hand, and a fake GPU to run it on.
#pragma once

#include "tests/support/fake_cuda/FakeCuda.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/cuda/Launch.h"

namespace sectile::test {

inline constexpr int sharedBytes = 1000, threads = 128;

/// y = factor * x: two views of rank 1 and a scalar, that is 3 + 3 + 1 + 3 words.
inline CacheEntry scaleEntry(const std::string &architecture = "sm_90a") {
  const std::string ptx = ".version 8.0\n.target " + architecture + "\n.address_size 64\n" +
                          ".visible .entry scale(.param .align 8 .b8 arguments[80]) { ret; }\n";
  Artifact artifact;
  artifact.stages = {{"tile", "tile.mlir", "tile"}, {"ptx", "kernel.ptx", ptx}};
  artifact.resources = {{"threads", threads}, {"shared_bytes", sharedBytes}};
  artifact.parameters = {{"x", Parameter::Access::input, Type::f32, 1},
                         {"y", Parameter::Access::output, Type::f32, 1},
                         {"factor", Parameter::Access::scalar, Type::f32, 0}};
  artifact.entry = "scale";
  return {"build", "0123", "scale", "nvptx:" + architecture + ":none", {}, artifact};
}

inline void setResource(CacheEntry &entry, const std::string &name, int64_t value) {
  for (auto &[key, current] : entry.artifact.resources)
    if (key == name)
      current = value;
}

/// What a session on fake GPUs has.
struct FakeMachine {
  FakeCuda &fake;
  cuda::Machine machine;

  explicit FakeMachine(std::vector<FakeDevice> devices = {{"Fake H200", 9, 0}, {"Fake H200", 9, 0}},
                       const std::string &architecture = "sm_90a", const char *library = FakeCuda::library())
      : fake(FakeCuda::get(library)) {
    fake.reset(std::move(devices));
    machine.devices = valueOrThrow(cuda::Devices::open(library));
    machine.architecture = *cuda::Architecture::ofTarget("nvptx:" + architecture);
    machine.preferred = &(*machine.devices)[0];
  }
  const cuda::Device &device(size_t ordinal) const { return (*machine.devices)[ordinal]; }
  cuda::StreamHandle stream(int device) { return streamIn(fake.primaryContext(device)); }
  cuda::StreamHandle streamIn(void *context) { return static_cast<cuda::StreamHandle>(fake.makeStream(context)); }
  ArrayView array(int device, FakeCuda::Memory kind = FakeCuda::Memory::device) {
    return ArrayView(fake.allocate(device, 40, kind), Type::f32, {10});
  }
};

/// A kernel on it, launched as a session does.
struct FakeLaunches : FakeMachine {
  CacheEntry entry;
  std::unique_ptr<cuda::Kernel> kernel;

  explicit FakeLaunches(CacheEntry given = scaleEntry(),
                        std::vector<FakeDevice> devices = {{"Fake H200", 9, 0}, {"Fake H200", 9, 0}},
                        const char *library = FakeCuda::library())
      : FakeMachine(std::move(devices), "sm_90a", library), entry(std::move(given)),
        kernel(valueOrThrow(cuda::Kernel::create(machine.devices, entry))) {
    machine.architecture = *cuda::Architecture::ofTarget(entry.target);
  }

  void launch(cuda::StreamHandle stream, std::span<const Argument> arguments, const Grid &grid = {3}) {
    const cuda::Device &device = cuda::deviceOf(machine, entry.name.c_str(), stream, arguments);
    const cuda::Kernel::Code &code = kernel->load(device);
    ArgumentWords words;
    bindArguments(entry.name, entry.artifact.parameters, arguments, words);
    cuda::launch(*kernel, code, stream, grid, entry.artifact.parameters, arguments, words);
  }
  void launch(cuda::StreamHandle stream, std::initializer_list<Argument> arguments, const Grid &grid = {3}) {
    launch(stream, std::span(arguments.begin(), arguments.size()), grid);
  }
};

/// The message of what `body` throws, which must be an E.
template <class E, class Body> std::string messageOf(Body &&body) {
  try {
    body();
  } catch (const E &error) {
    return error.what();
  } catch (const std::exception &error) {
    return std::string("another kind of error: ") + error.what();
  }
  return "nothing thrown";
}

} // namespace sectile::test
