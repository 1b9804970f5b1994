// LLVM's x86 code generator.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Target;
}

namespace sectile::cpu {

/// Kernels are freestanding ELF objects for this machine, wherever they were compiled.
constexpr llvm::StringLiteral tripleName = "x86_64-unknown-linux-gnu";

/// Registers the code generator with LLVM on first use.
const llvm::Target &x86Backend();

} // namespace sectile::cpu
