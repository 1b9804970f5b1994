#include "compiler/lower/host/TileToVector.h"

#include "compiler/lower/host/ExpandParts.h"
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sectile;

namespace {

struct TileToVector : PassWrapper<TileToVector, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToVector)

  TileToVector() = default;
  TileToVector(const TileToVector &other) : PassWrapper(other) {}
  explicit TileToVector(const host::HostVectors &vectors) {
    lanes = vectors.lanes;
    registers = vectors.registers;
    narrowMasks = vectors.narrowMasks;
    matrixUnit = vectors.matrixUnit;
  }

  StringRef getArgument() const override { return "sectile-tile-to-vector"; }
  StringRef getDescription() const override { return "tile kernels become host functions on vectors"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect,
                    vector::VectorDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    SmallVector<ir::KernelOp> kernels(getOperation().getOps<ir::KernelOp>());
    for (ir::KernelOp kernel : kernels) {
      host::expandParts(kernel);
      host::KernelLowering lowering(kernel, {lanes, registers, narrowMasks, matrixUnit}, builder);
      FailureOr<func::FuncOp> function = lowering.run();
      if (failed(function))
        return signalPassFailure();
      StringAttr name = kernel.getSymNameAttr();
      kernel.erase();
      (*function).setSymNameAttr(name);
    }
  }

  Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("32-bit lanes of a vector"), llvm::cl::init(8)};
  Option<int64_t> registers{*this, "registers", llvm::cl::desc("vector registers"), llvm::cl::init(16)};
  Option<bool> narrowMasks{*this, "narrow-masks", llvm::cl::desc("masked access to 8- and 16-bit elements"),
                           llvm::cl::init(false)};
  Option<bool> matrixUnit{*this, "amx", llvm::cl::desc("bf16 products on the matrix unit"), llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> sectile::createTileToVector(const host::HostVectors &vectors) {
  return std::make_unique<TileToVector>(vectors);
}

void sectile::registerTileToVector() { PassRegistration<TileToVector>(); }
