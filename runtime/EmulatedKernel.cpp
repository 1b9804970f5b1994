#include "runtime/EmulatedKernel.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/Binding.h"
#include "runtime/emulate/CodeObject.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

using namespace sectile;

/// The memory that an array spans. `view`: its address, sizes and strides.
static std::optional<emulate::MemoryRange> spanOf(const Parameter &parameter, const int64_t *view) {
  const int64_t bytes = typeBytes(parameter.type);
  int64_t low = 0, high = 0;
  for (int64_t d = 0; d < parameter.rank; ++d) {
    const int64_t size = view[1 + d], reach = (size - 1) * view[1 + parameter.rank + d];
    if (size == 0)
      return std::nullopt;
    (reach < 0 ? low : high) += reach;
  }
  const auto address = static_cast<uint64_t>(view[0]);
  return emulate::MemoryRange{address + static_cast<uint64_t>(low * bytes),
                              address + static_cast<uint64_t>((high + 1) * bytes),
                              parameter.access != Parameter::Access::input, parameter.name};
}

EmulatedKernel::EmulatedKernel(const Artifact &artifact, std::shared_ptr<const emulate::CodeObject> object)
    : artifact(artifact), object(std::move(object)) {
  for (const auto &[name, value] : artifact.resources)
    if (name == "threads")
      groupThreads = static_cast<uint32_t>(value);
}

llvm::Expected<std::unique_ptr<EmulatedKernel>> EmulatedKernel::load(const Artifact &artifact) {
  llvm::Expected<std::shared_ptr<const emulate::CodeObject>> object = emulate::CodeObject::load(artifact.binary());
  if (!object)
    return object.takeError();
  std::unique_ptr<EmulatedKernel> kernel(new EmulatedKernel(artifact, std::move(*object)));
  if (kernel->groupThreads == 0)
    return internalError("the kernel '" + artifact.entry + "' does not say how many threads a work-group has");
  return kernel;
}

llvm::Expected<emulate::Counters> EmulatedKernel::run(const int64_t *words, const Grid &grid, int threads) const {
  // 1. The kernel's arguments: the words, then the grid.
  std::vector<emulate::MemoryRange> memory;
  const int64_t *end = words;
  for (const Parameter &parameter : artifact.parameters) {
    if (parameter.access != Parameter::Access::scalar)
      if (std::optional<emulate::MemoryRange> range = spanOf(parameter, end))
        memory.push_back(std::move(*range));
    end += argumentWords(parameter);
  }
  ArgumentWords arguments(words, end);
  arguments.append({grid.x, grid.y, grid.z});
  // 2. A grid of one dimension, as on a GPU.
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const int64_t groups = grid.x * grid.y * grid.z; // Binding.h checks that it fits
  if (groups > most)
    return userError(llvm::formatv("kernel '{0}': grid {1} x {2} x {3} has {4} programs; legal on a GPU: up to {5}",
                                   artifact.entry, grid.x, grid.y, grid.z, groups, most));
  if (groups == 0)
    return emulate::Counters();
  return emulate::run(*object, artifact.entry,
                      {.groups = static_cast<uint32_t>(groups),
                       .threads = groupThreads,
                       .kernarg = arguments,
                       .memory = memory,
                       .workers = static_cast<unsigned>(std::max(threads, 1))});
}
