#include "compiler/support/Diagnostic.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/interpret/Interpret.h"

#include "llvm/Support/FormatVariadic.h"

namespace sectile {

/// Every backend. To add one: its folder, and its row here.
static constexpr Backend table[] = {
    {Target::Kind::cpu, "cpu", "'cpu' (this machine's processor) or 'cpu:<processor>' (an LLVM processor name)",
     cpu::describe, cpu::completeSchedule, cpu::registerDialects, cpu::compile},
    {Target::Kind::interpret, "interpret", "'interpret'", interpreter::describe, interpreter::completeSchedule,
     interpreter::registerDialects, interpreter::compile},
};

llvm::ArrayRef<Backend> backends() { return table; }

const Backend &backendOf(const Target &target) {
  return *llvm::find_if(table, [&](const Backend &backend) { return backend.kind == target.kind; });
}

std::string Target::name() const {
  std::string text = backendOf(*this).name.str();
  return processor.empty() ? text : text + ':' + processor;
}

std::string Target::key() const {
  if (kind == Kind::interpret)
    return name();
  // The derived fields follow from the features, except the sizes of the caches.
  return llvm::formatv("{0}:{1}:l1={2}:l2={3}", name(), features, l1Bytes, l2Bytes);
}

llvm::Expected<Target> resolveTarget(llvm::StringRef name) {
  auto [kind, processor] = name.split(':');
  if (name.empty())
    kind = table[0].name;
  for (const Backend &backend : table)
    if (backend.name == kind)
      return backend.describe(processor);
  std::string legal;
  for (const Backend &backend : table)
    legal += (legal.empty() ? "" : ", ") + backend.legal.str();
  return userError(llvm::formatv("target '{0}' is unknown; legal: {1}", name, legal));
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target) {
  constexpr int32_t largestBlock = 4096, mostThreads = 4096;
  struct Field {
    const char *name;
    int32_t value, largest;
  };
  for (const Field &field :
       {Field{"blockM", schedule.blockM, largestBlock}, Field{"blockN", schedule.blockN, largestBlock},
        Field{"threads", schedule.threads, mostThreads}})
    if (field.value < 0 || field.value > field.largest)
      return userError(llvm::formatv("schedule field '{0}' is {1}; legal: 1 to {2}, or 0 for the target's choice",
                                     field.name, field.value, field.largest));
  return backendOf(target).complete(schedule, target);
}

} // namespace sectile
