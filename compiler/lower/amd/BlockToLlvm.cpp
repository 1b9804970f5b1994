#include "compiler/lower/amd/BlockToLlvm.h"

#include "compiler/lower/amd/AmdLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace sectile;

namespace {

struct AmdBlockToLlvm : PassWrapper<AmdBlockToLlvm, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(AmdBlockToLlvm)

  AmdBlockToLlvm() = default;
  AmdBlockToLlvm(const AmdBlockToLlvm &other) : PassWrapper(other) {}
  explicit AmdBlockToLlvm(const AmdLoweringOptions &options) {
    processor = options.processor;
    lanes = options.lanes;
    wideMfma = options.hasWideMfma;
    permlane32Swap = options.hasPermlane32Swap;
    rowXmask = options.hasRowXmask;
  }

  StringRef getArgument() const override { return "sectile-block-to-llvm-amd"; }
  StringRef getDescription() const override { return "block kernels become the program of one lane of an AMD GPU"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    const AmdLoweringOptions options{processor, lanes, wideMfma, permlane32Swap, rowXmask};
    SmallVector<ir::BlockKernelOp> kernels(getOperation().getOps<ir::BlockKernelOp>());
    for (ir::BlockKernelOp kernel : kernels) {
      amd::AmdLowering lowering(kernel, options, builder);
      FailureOr<Operation *> function = lowering.run();
      if (failed(function))
        return signalPassFailure();
      StringAttr name = kernel.getSymNameAttr();
      kernel.erase();
      SymbolTable::setSymbolName(*function, name);
    }
  }

  Option<std::string> processor{*this, "processor", llvm::cl::desc("such as gfx942"), llvm::cl::init("gfx942")};
  Option<int64_t> lanes{*this, "lanes", llvm::cl::desc("of a wave: 64 or 32"), llvm::cl::init(64)};
  Option<bool> wideMfma{*this, "wide-mfma", llvm::cl::desc("32x32x16 of f16 and bf16"), llvm::cl::init(false)};
  Option<bool> permlane32Swap{*this, "permlane32-swap", llvm::cl::desc("v_permlane32_swap"), llvm::cl::init(false)};
  Option<bool> rowXmask{*this, "row-xmask", llvm::cl::desc("DPP row_xmask, permlanex16"), llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> sectile::createBlockToLlvm(const AmdLoweringOptions &options) {
  return std::make_unique<AmdBlockToLlvm>(options);
}

void sectile::registerAmdBlockToLlvm() { PassRegistration<AmdBlockToLlvm>(); }
