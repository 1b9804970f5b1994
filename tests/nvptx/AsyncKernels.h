// Hand-written kernels of the block dialect with rings, roles and products in flight, and how they are lowered.
#pragma once

#include "compiler/targets/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace sectile {

/// The kernel @products that BlockAsync.td documents: products of one tile with all others, summed up.
std::string documentedExample();
/// tests/ir/lower/nvidia/async_attention.mlir.
std::string attentionLoop();

/// The llvm stage of a kernel.
class LoweredKernel {
public:
  LoweredKernel(const std::string &block, const Target &target);
  mlir::ModuleOp module() { return *owner; }
  std::string text();

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> owner;
};

} // namespace sectile
