#include "compiler/support/Diagnostic.h"
#include "compiler/support/ScheduleFields.h"
#include "compiler/targets/Backend.h"
#include "compiler/targets/amdgcn/Amdgcn.h"
#include "compiler/targets/cpu/Cpu.h"
#include "compiler/targets/interpret/Interpret.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile {

/// Every backend. To add one: its folder, and its row here.
static constexpr Backend table[] = {
    {Target::Kind::cpu, "cpu", "'cpu' (this machine's processor) or 'cpu:<processor>' (an LLVM processor name)",
     "blockM, blockN, order, threads, vectorWidth", cpu::describe, cpu::completeSchedule, cpu::registerDialects,
     cpu::compile},
    {Target::Kind::nvptx, "nvptx", "'nvptx:<architecture>' (such as nvptx:sm_90a)",
     "blockM, blockN, order, warps, stages, specialize, overlap, softmax, persistent, registers", nvptx::describe,
     nvptx::completeSchedule, nvptx::registerDialects, nvptx::compile},
    {Target::Kind::amdgcn, "amdgcn", "'amdgcn:<processor>' (such as amdgcn:gfx942)",
     "blockM, blockN, order, warps, stages", amdgcn::describe, amdgcn::completeSchedule, amdgcn::registerDialects,
     amdgcn::compile},
    {Target::Kind::interpret, "interpret", "'interpret'", "blockM, blockN, order, threads, vectorWidth",
     interpreter::describe, interpreter::completeSchedule, interpreter::registerDialects, interpreter::compile},
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
  if (kind == Kind::interpret || kind == Kind::amdgcn)
    return name();
  if (kind == Kind::nvptx) // limits and instructions follow from the name
    return name() + ':' + nvptx::assemblerNames(nvidia);
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
  const Backend &backend = backendOf(target);
  for (const ScheduleField &field : scheduleFields()) {
    const int32_t value = field.of(schedule);
    if (value && !llvm::is_contained(llvm::split(backend.fields, ", "), field.name))
      return userError(llvm::formatv("schedule field '{0}' is {1}, and target '{2}' has no such field; its fields: {3}",
                                     field.name, field.text(value), target.name(), backend.fields));
    if (value < 0 || value > field.most)
      return userError(llvm::formatv("schedule field '{0}' is {1}; legal: {2}, or 0 for the target's choice",
                                     field.name, value, field.legal()));
  }
  return backend.complete(schedule, target);
}

} // namespace sectile
