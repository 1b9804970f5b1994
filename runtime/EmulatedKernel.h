// A code object for an AMD GPU, run by the emulator of its instructions.
#pragma once

#include "compiler/Compiler.h"
#include "runtime/emulate/Emulate.h"
#include "sectile/Session.h"

#include <memory>

namespace sectile {

namespace emulate {
class CodeObject;
}

class EmulatedKernel {
public:
  /// `artifact` outlives this.
  static llvm::Expected<std::unique_ptr<EmulatedKernel>> load(const Artifact &artifact);

  /// Runs every program of the grid. `words` as in HostEntry: the memory that its arrays span is all that the kernel may
  /// touch. What the kernel does wrong is a device error.
  llvm::Expected<emulate::Counters> run(const int64_t *words, const Grid &grid, int threads) const;

private:
  EmulatedKernel(const Artifact &artifact, std::shared_ptr<const emulate::CodeObject> object);

  const Artifact &artifact;
  const std::shared_ptr<const emulate::CodeObject> object;
  uint32_t groupThreads = 0;
};

} // namespace sectile
