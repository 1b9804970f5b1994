// The compiler's face to the runtime: a traced kernel in, stages and machine code out.
#pragma once

#include "compiler/dsl/TracedKernel.h"
#include "compiler/support/StageSink.h"
#include "compiler/support/TensorMap.h"
#include "compiler/targets/Target.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace sectile {

struct Artifact {
  std::vector<Stage> stages;         ///< in order; the last one is what runs
  Resources resources;               ///< "scratch_bytes" (per thread), "code_bytes", …
  std::vector<Parameter> parameters; ///< what a launch must bind
  std::string entry;                 ///< the symbol to call (cpu)
  std::vector<TensorMap> tensorMaps; ///< what the kernel's parameter begins with (nvptx)

  /// cpu: an ELF object; interpret: the tile stage.
  const std::string &binary() const { return stages.back().text; }
};

/// Compiles a copy of the traced module; `kernel` stays as it was. `schedule` is complete. `sink` may be null.
llvm::Expected<Artifact> compile(const TracedKernel &kernel, const Target &target, const Schedule &schedule,
                                 StageSink *sink);

/// The `sass` stage of a `cubin`, by a disassembler found as Options::toolkit says; nothing when there is none. If it
/// fails, the stage's text says why.
std::optional<Stage> listingOf(const Stage &cubin, llvm::StringRef toolkit);

/// Identifies everything that shapes the output: traced IR without locations, schedule, full target, compiler build.
/// 32 hexadecimal digits.
std::string contentKey(const TracedKernel &kernel, const Target &target, const Schedule &schedule);

/// Identifies this build of the compiler: version, LLVM version, and a fingerprint of its own sources.
const std::string &buildId();

/// The host function behind Artifact::entry, called once a program of the grid.
///   arguments: for every parameter in order, 64-bit words: a view has its address, its `rank` sizes and its `rank`
///              strides (in elements); a scalar has its bits in the low 32.
///   scratch:   resources["scratch_bytes"] bytes, aligned to 64, private to the calling thread, contents undefined.
using HostEntry = void (*)(const int64_t *arguments, int32_t x, int32_t y, int32_t z, void *scratch);

} // namespace sectile
