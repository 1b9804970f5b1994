// LLVM's AMDGPU backend.
#pragma once

#include "compiler/targets/amdgcn/Amdgcn.h"

#include <memory>

namespace llvm {
class Target;
class TargetMachine;
} // namespace llvm

namespace sectile::amdgcn {

inline constexpr llvm::StringLiteral tripleName = "amdgcn-amd-amdhsa";

/// Registers itself with LLVM on first use.
const llvm::Target &backend();
std::unique_ptr<llvm::TargetMachine> targetMachine(const Target &target);

} // namespace sectile::amdgcn
