#include "compiler/support/Diagnostic.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/interpret/Interpret.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile {

/// Every backend. To add one: its folder, and its row here.
static constexpr Backend table[] = {
    {Target::Kind::cpu, "cpu", "'cpu' (this machine's processor) or 'cpu:<processor>' (an LLVM processor name)",
     "blockM, blockN, threads, vectorWidth", cpu::describe, cpu::completeSchedule, cpu::registerDialects, cpu::compile},
    {Target::Kind::nvptx, "nvptx", "'nvptx:<architecture>' (such as nvptx:sm_90a)", "blockM, blockN, warps, stages",
     nvptx::describe, nvptx::completeSchedule, nvptx::registerDialects, nvptx::compile},
    {Target::Kind::interpret, "interpret", "'interpret'", "blockM, blockN, threads, vectorWidth", interpreter::describe,
     interpreter::completeSchedule, interpreter::registerDialects, interpreter::compile},
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
  if (kind == Kind::nvptx) // limits and instructions follow from the name
    return name() + ':' + nvptx::assemblerName(nvidia.assembler);
  // The derived fields follow from the features, except the sizes of the caches.
  return llvm::formatv("{0}:{1}:l1={2}:l2={3}", name(), features, l1Bytes, l2Bytes);
}

llvm::Expected<Target> resolveTarget(llvm::StringRef name, llvm::StringRef toolkit) {
  auto [kind, processor] = name.split(':');
  if (name.empty())
    kind = table[0].name;
  for (const Backend &backend : table)
    if (backend.name == kind)
      return backend.describe(processor, toolkit);
  std::string legal;
  for (const Backend &backend : table)
    legal += (legal.empty() ? "" : ", ") + backend.legal.str();
  return userError(llvm::formatv("target '{0}' is unknown; legal: {1}", name, legal));
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target) {
  constexpr int32_t largestBlock = 4096, mostThreads = 4096, mostWarps = 32, mostStages = 8, widest = 16;
  struct Field {
    const char *name;
    int32_t value, largest;
  };
  const Backend &backend = backendOf(target);
  for (const Field &field :
       {Field{"blockM", schedule.blockM, largestBlock}, Field{"blockN", schedule.blockN, largestBlock},
        Field{"warps", schedule.warps, mostWarps}, Field{"stages", schedule.stages, mostStages},
        Field{"threads", schedule.threads, mostThreads}, Field{"vectorWidth", schedule.vectorWidth, widest}}) {
    if (field.value && !llvm::is_contained(llvm::split(backend.fields, ", "), field.name))
      return userError(llvm::formatv("schedule field '{0}' is {1}, and target '{2}' has no such field; its fields: {3}",
                                     field.name, field.value, target.name(), backend.fields));
    if (field.value < 0 || field.value > field.largest)
      return userError(llvm::formatv("schedule field '{0}' is {1}; legal: 1 to {2}, or 0 for the target's choice",
                                     field.name, field.value, field.largest));
  }
  return backend.complete(schedule, target);
}

} // namespace sectile
