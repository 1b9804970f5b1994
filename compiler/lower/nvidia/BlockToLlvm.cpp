#include "compiler/lower/nvidia/BlockToLlvm.h"

#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sectile;

namespace {

struct BlockToLlvm : PassWrapper<BlockToLlvm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(BlockToLlvm)

  BlockToLlvm() = default;
  BlockToLlvm(const BlockToLlvm &other) : PassWrapper(other) {}
  explicit BlockToLlvm(const NvidiaLoweringOptions &options) {
    sm = options.sm;
    archSpecific = options.archSpecific;
    ptxVersion = options.ptxVersion;
  }

  StringRef getArgument() const override { return "sectile-block-to-llvm"; }
  StringRef getDescription() const override { return "block kernels become the program of one lane of an NVIDIA GPU"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    const NvidiaLoweringOptions options{sm, archSpecific, ptxVersion};
    SmallVector<ir::BlockKernelOp> kernels(getOperation().getOps<ir::BlockKernelOp>());
    for (ir::BlockKernelOp kernel : kernels) {
      nvidia::NvidiaLowering lowering(kernel, options, builder);
      FailureOr<Operation *> function = lowering.run();
      if (failed(function))
        return signalPassFailure();
      StringAttr name = kernel.getSymNameAttr();
      kernel.erase();
      SymbolTable::setSymbolName(*function, name);
    }
  }

  Option<int> sm{*this, "sm", llvm::cl::desc("compute capability: 10 * major + minor"), llvm::cl::init(80)};
  Option<bool> archSpecific{*this, "arch-specific", llvm::cl::desc("sm_90a and its kind"), llvm::cl::init(false)};
  Option<int> ptxVersion{*this, "ptx", llvm::cl::desc("PTX version: 10 * major + minor"), llvm::cl::init(70)};
};

} // namespace

std::unique_ptr<Pass> sectile::createBlockToLlvm(const NvidiaLoweringOptions &options) {
  return std::make_unique<BlockToLlvm>(options);
}

void sectile::registerBlockToLlvm() { PassRegistration<BlockToLlvm>(); }
