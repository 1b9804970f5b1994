#include "tests/conformance/Harness.h"

#ifdef SECTILE_EMULATOR
#include "tests/emulate/WarpEmulator.h"
#endif
#include "tests/support/Arguments.h"
#include "tests/support/CudaDevice.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include "compiler/Compiler.h"
#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/EmulatedKernel.h"
#include "runtime/host/HostCode.h"

#include "sectile/Error.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

using namespace sectile;
using test::CudaDevice;

/// What runs.
class conformance::Program::Code {
public:
  virtual ~Code() = default;
  virtual void run(const std::vector<int64_t> &words, Grid grid) const = 0;
};

namespace {

/// The best code for the device that is there.
std::string deviceTargetName() {
  const auto [major, minor] = CudaDevice::get().capability();
  return valueOrThrow(nvidiaTargetName(major, minor));
}

Target targetUnderTest() {
  if (const std::optional<std::string> emulated = test::emulatedTarget())
    return valueOrThrow(resolveTarget(*emulated, /*toolkit=*/"none"));
  const std::string &name = test::targetUnderTest();
  const bool isAmd = name.starts_with("emulate:"); // the others are above
  return valueOrThrow(resolveTarget(name == "cuda" ? deviceTargetName()
                                    : isAmd        ? "amdgcn" + name.substr(name.find(':'))
                                                   : name));
}

int64_t resource(const Artifact &artifact, std::string_view wanted) {
  for (const auto &[name, value] : artifact.resources)
    if (name == wanted)
      return value;
  return 0;
}

/// Calls `program(x, y, z)` for the whole grid from up to four threads. `start` makes a thread's function.
template <class Start> void onFourThreads(Grid grid, const Start &start) {
  const int64_t programs = grid.x * grid.y * grid.z;
  std::atomic<int64_t> next = 0;
  const auto work = [&] {
    auto program = start();
    for (int64_t i; (i = next++) < programs;)
      program(static_cast<int32_t>(i % grid.x), static_cast<int32_t>(i / grid.x % grid.y),
              static_cast<int32_t>(i / grid.x / grid.y));
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < std::min<int64_t>(programs, 4); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
}

} // namespace

class conformance::Program::Interpreted final : public Code {
public:
  explicit Interpreted(const TracedKernel &traced) : traced(traced) {}
  void run(const std::vector<int64_t> &words, Grid grid) const override {
    std::mutex mutex;
    std::optional<std::string> failure;
    onFourThreads(grid, [&] {
      return [&](int32_t x, int32_t y, int32_t z) {
        if (llvm::Error error = interpret(traced, words.data(), x, y, z)) {
          const std::scoped_lock lock(mutex);
          failure = llvm::toString(std::move(error));
        }
      };
    });
    if (failure)
      throw UserError(*failure);
  }

private:
  const TracedKernel &traced;
};

class conformance::Program::HostProgram final : public Code {
public:
  explicit HostProgram(const Artifact &artifact)
      : code(valueOrThrow(HostCode::load(artifact.binary(), artifact.entry))),
        scratchBytes(resource(artifact, "scratch_bytes")) {}
  void run(const std::vector<int64_t> &words, Grid grid) const override {
    onFourThreads(grid, [&] {
      // Scratch memory is aligned to 64, and its contents are undefined: NaN in every float type.
      return [&, memory = std::vector<char>(scratchBytes + 64, '\xff')](int32_t x, int32_t y, int32_t z) mutable {
        void *scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
        code->entry()(words.data(), x, y, z, scratch);
      };
    });
  }

private:
  std::shared_ptr<HostCode> code;
  int64_t scratchBytes;
};

class conformance::Program::CudaProgram final : public Code {
public:
  explicit CudaProgram(const Artifact &artifact)
      : function(imageFor(artifact), artifact.entry, static_cast<unsigned>(resource(artifact, "threads")),
                 static_cast<unsigned>(resource(artifact, "shared_bytes"))) {}
  void run(const std::vector<int64_t> &words, Grid grid) const override {
    if (grid.x * grid.y * grid.z == 0)
      return;
    std::vector<int64_t> all = words;
    all.insert(all.end(), {grid.x, grid.y, grid.z});
    function.launch(static_cast<unsigned>(grid.x * grid.y * grid.z), all);
  }

private:
  /// Machine code where it is for this device, else the PTX it was made from, for the driver to assemble.
  static const std::string &imageFor(const Artifact &artifact) {
    const std::string &tested = test::targetUnderTest();
    const char *wanted = tested == "cuda" || tested == deviceTargetName() ? "cubin" : "ptx";
    const Stage *ptx = nullptr;
    for (const Stage &stage : artifact.stages) {
      if (stage.name == wanted)
        return stage.text;
      if (stage.name == "ptx") // without an assembler there is no cubin
        ptx = &stage;
    }
    if (!ptx)
      throw InternalError("the artifact for target " + tested + " has no stage 'ptx'");
    return ptx->text;
  }
  CudaDevice::Function function;
};

/// A code object for an AMD GPU, on the product's emulator.
class conformance::Program::CodeObjectProgram final : public Code {
public:
  explicit CodeObjectProgram(Artifact given)
      : artifact(std::move(given)), kernel(valueOrThrow(EmulatedKernel::load(artifact))) {}
  void run(const std::vector<int64_t> &words, Grid grid) const override {
    valueOrThrow(kernel->run(words.data(), grid, /*threads=*/2));
  }

private:
  const Artifact artifact;
  std::unique_ptr<EmulatedKernel> kernel;
};

#ifdef SECTILE_EMULATOR
class conformance::Program::EmulatedProgram final : public Code {
public:
  explicit EmulatedProgram(const Artifact &artifact) : program(llvmStage(artifact)) {}
  void run(const std::vector<int64_t> &words, Grid grid) const override {
    std::vector<int64_t> all = words;
    all.insert(all.end(), {grid.x, grid.y, grid.z});
    program.launch(grid.x * grid.y * grid.z, all);
  }

private:
  static const std::string &llvmStage(const Artifact &artifact) {
    return llvm::find_if(artifact.stages, [](const Stage &stage) { return stage.name == "llvm"; })->text;
  }
  warps::BlockProgram program;
};
#endif

conformance::Program::Program(const std::function<void(Trace &)> &body, std::vector<ArgumentFacts> facts,
                              Schedule schedule)
    : Program(
          [&] {
            schedule = valueOrThrow(completeSchedule(schedule, targetUnderTest()));
            return trace("conformance", body, schedule, facts);
          }(),
          schedule) {}

conformance::Program::Program(const std::string &text)
    : Program(TracedKernel::parse(text, "conformance"), valueOrThrow(completeSchedule({}, targetUnderTest()))) {}

conformance::Program::Program(TracedKernel kernel, const Schedule &schedule) : traced(std::move(kernel)) {
  const Target target = targetUnderTest();
  if (target.kind == Target::Kind::interpret) {
    code = std::make_unique<Interpreted>(traced);
    return;
  }
  const Artifact artifact = valueOrThrow(compile(traced, target, schedule, /*sink=*/nullptr));
  if (target.kind == Target::Kind::cpu)
    code = std::make_unique<HostProgram>(artifact);
#ifdef SECTILE_EMULATOR
  else if (test::emulatedTarget())
    code = std::make_unique<EmulatedProgram>(artifact);
#endif
  else if (target.kind == Target::Kind::amdgcn)
    code = std::make_unique<CodeObjectProgram>(artifact);
  else
    code = std::make_unique<CudaProgram>(artifact);
}

conformance::Program::~Program() = default;

void conformance::Program::run(std::vector<Argument> arguments, Grid grid, const Adjust &adjust) const {
  std::vector<ArrayView> arrays;
  for (const Argument &argument : arguments)
    if (const auto *view = std::get_if<ArrayView>(&argument))
      arrays.push_back(*view);
  const test::TargetMemory memory(test::targetUnderTest(), arrays);
  for (Argument &argument : arguments)
    if (auto *view = std::get_if<ArrayView>(&argument))
      *view = memory.resident(*view);
  if (adjust)
    adjust(arguments);
  code->run(test::packArguments(arguments), grid);
  memory.fetch();
}

std::vector<ArgumentFacts> conformance::factsOf(const std::vector<Argument> &arguments) {
  std::vector<ArgumentFacts> facts;
  for (const Argument &argument : arguments) {
    ArgumentFacts &fact = facts.emplace_back();
    if (const auto *view = std::get_if<ArrayView>(&argument)) {
      fact.unitStride = view->strides[view->rank - 1] == 1 || view->sizes[view->rank - 1] <= 1;
      fact.aligned16 = reinterpret_cast<uintptr_t>(view->data) % 16 == 0; // so it will be in a device's memory
      for (int d = 0; d < view->rank - 1; ++d)
        fact.aligned16 &= view->sizes[d] <= 1 || view->strides[d] * typeBytes(view->type) % 16 == 0;
      fact.aligned16 &= view->sizes[view->rank - 1] * typeBytes(view->type) % 16 == 0;
    }
  }
  return facts;
}

void conformance::run(const std::function<void(Trace &)> &body, const std::vector<Argument> &arguments, Grid grid) {
  Program(body, factsOf(arguments)).run(arguments, grid);
}
