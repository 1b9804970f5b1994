#include "tests/conformance/Harness.h"

#include "tests/support/Arguments.h"

#include "compiler/Compiler.h"
#include "compiler/interpret/Interpreter.h"
#include "compiler/support/Diagnostic.h"
#include "runtime/host/HostCode.h"

#include "sectile/Error.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

using namespace sectile;

namespace {

std::string &target() {
  static std::string name = "interpret";
  return name;
}

int64_t scratchBytes(const Artifact &artifact) {
  for (const auto &[name, value] : artifact.resources)
    if (name == "scratch_bytes")
      return value;
  return 0;
}

} // namespace

const std::string &conformance::targetName() { return target(); }
void conformance::setTargetName(std::string name) { target() = std::move(name); }

struct conformance::Program::Compiled {
  Artifact artifact;
  std::shared_ptr<HostCode> code;
};

conformance::Program::Program(const std::function<void(Trace &)> &body, std::vector<ArgumentFacts> facts,
                              Schedule schedule)
    : traced([&] {
        const Target resolved = valueOrThrow(resolveTarget(targetName()));
        schedule = valueOrThrow(completeSchedule(schedule, resolved));
        return trace("conformance", body, schedule, facts);
      }()) {
  const Target resolved = valueOrThrow(resolveTarget(targetName()));
  if (resolved.kind == Target::Kind::interpret)
    return;
  Artifact artifact = valueOrThrow(compile(traced, resolved, schedule, /*sink=*/nullptr));
  std::shared_ptr<HostCode> code = valueOrThrow(HostCode::load(artifact.binary(), artifact.entry));
  compiled = std::make_unique<Compiled>(Compiled{std::move(artifact), std::move(code)});
}

conformance::Program::~Program() = default;

void conformance::Program::run(const std::vector<Argument> &arguments, Grid grid) const {
  const std::vector<int64_t> words = test::packArguments(arguments);
  const int64_t programs = grid.x * grid.y * grid.z;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  std::optional<std::string> failure;
  const auto work = [&] {
    const int64_t bytes = compiled ? scratchBytes(compiled->artifact) : 0;
    // Scratch memory is aligned to 64, and its contents are undefined: NaN in every float type.
    std::vector<char> memory(bytes + 64, '\xff');
    void *scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
    for (int64_t i; (i = next++) < programs;) {
      const auto x = static_cast<int32_t>(i % grid.x), y = static_cast<int32_t>(i / grid.x % grid.y),
                 z = static_cast<int32_t>(i / grid.x / grid.y);
      if (compiled) {
        compiled->code->entry()(words.data(), x, y, z, scratch);
      } else if (llvm::Error error = interpret(traced, words.data(), x, y, z)) {
        const std::scoped_lock lock(mutex);
        failure = llvm::toString(std::move(error));
      }
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < std::min<int64_t>(programs, 4); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  if (failure)
    throw UserError(*failure);
}

std::vector<ArgumentFacts> conformance::factsOf(const std::vector<Argument> &arguments) {
  std::vector<ArgumentFacts> facts;
  for (const Argument &argument : arguments) {
    ArgumentFacts &fact = facts.emplace_back();
    if (const auto *view = std::get_if<ArrayView>(&argument))
      fact.unitStride = view->strides[view->rank - 1] == 1 || view->sizes[view->rank - 1] <= 1;
  }
  return facts;
}

void conformance::run(const std::function<void(Trace &)> &body, const std::vector<Argument> &arguments, Grid grid) {
  Program(body, factsOf(arguments)).run(arguments, grid);
}
