// An emulator of AMD GPUs: runs a kernel of a code object, as the card would get it, on the host and checks what no
// card checks. Everything of the launch is honoured: kernel descriptor, kernarg block, register file, LDS, barriers,
// waits.
//
//   auto code = emulate::CodeObject::load(elf);                      // gfx90a, gfx942, gfx950, gfx1100 or gfx1201
//   auto counters = emulate::run(**code, "kernel", {.groups = 4, .threads = 256, .kernarg = words, .memory = ranges});
//
// An error names kernel, group, wave, lane, instruction and values. Reported are: races in LDS, accesses outside of the
// given memory, values that depend on something nobody wrote, barriers that not all waves reach, loads that are used
// before their wait, loops without end, and instructions that the emulator lacks.
#pragma once

#include "runtime/emulate/CodeObject.h"
#include "runtime/emulate/Counters.h"

#include "llvm/ADT/ArrayRef.h"

namespace sectile::emulate {

/// What a kernel may touch beside its arguments, LDS and the segments of its code object.
struct MemoryRange {
  uint64_t begin = 0, end = 0;
  bool writable = false;
  std::string name;
};

struct Launch {
  uint32_t groups = 1;             ///< in one dimension
  uint32_t threads = 64;           ///< of a group
  llvm::ArrayRef<int64_t> kernarg; ///< the explicit arguments, 8 bytes each; the hidden ones follow by themselves
  llvm::ArrayRef<MemoryRange> memory;
  unsigned workers = 1;                ///< threads of the host
  uint64_t seed = 0;                   ///< the order in which the waves of a group run; 0: ascending
  uint64_t budget = uint64_t(1) << 32; ///< instructions that a wave may execute
};

llvm::Expected<Counters> run(const CodeObject &code, llvm::StringRef kernel, const Launch &launch);

} // namespace sectile::emulate
