// What AMD's machines do in their own way: lanes meet by DPP, permutes and LDS, products are MFMA or WMMA instructions.
// A warp is what AMD calls a wave, a block a work-group, shared memory LDS.
#pragma once

#include "compiler/lower/amd/BlockToLlvm.h"
#include "compiler/lower/gpu/KernelLowering.h"

namespace sectile::amd {

constexpr unsigned constantSpace = 4; ///< the argument segment's

class AmdLowering final : public gpu::KernelLowering {
public:
  AmdLowering(ir::BlockKernelOp kernel, const AmdLoweringOptions &options, mlir::OpBuilder &builder)
      : KernelLowering(kernel, options.lanes, builder), options(options) {}

private:
  // --- the function (AmdLowering.cpp) ---
  std::string machine() const override { return options.processor; }
  mlir::Type parameterPointer() override { return code.pointerType(constantSpace); }
  void describe(mlir::LLVM::LLVMFuncOp function) override;
  void declareShared(mlir::ModuleOp module, llvm::StringRef symbol, int64_t bytes) override;
  mlir::Value threadIndex() override;
  mlir::Value blockIndex() override;
  mlir::Value blockCount() override;
  mlir::Value warpOf(mlir::Value thread) override;
  void barrier() override;
  mlir::Value exp2(mlir::Value exponent) override;
  mlir::Value reciprocal(mlir::Value divisor) override;
  mlir::Value opaque(mlir::Value number) override;
  bool loadsWholeTiles() const override { return true; }
  bool packsFloats() const override { return warpLanes == 64; } ///< v_pk_mul_f32 and its kind, of CDNA

  // --- across lanes (Lanes.cpp) ---
  mlir::Value shuffleWordXor(mlir::Value word, int64_t mask) override;
  mlir::Value shuffleWord(mlir::Value word, mlir::Value lane) override;
  mlir::Value anyLane(mlir::Value condition) override;
  mlir::Value swapHalves(mlir::Value word);

  // --- products (Dot.cpp) ---
  llvm::LogicalResult lowerByMatrixUnit(ir::BlockDotOp op) override;
  Values elements(mlir::Value operand, size_t depthAxis, int64_t first, int64_t count);
  mlir::Value multiply(llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b, mlir::Value accumulator);

  const AmdLoweringOptions options;
};

} // namespace sectile::amd
