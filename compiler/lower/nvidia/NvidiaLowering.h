// What NVIDIA's machines do in their own way: shuffles, votes and barriers, ldmatrix, mma and wgmma, cp.async and TMA,
// roles of warps.
#pragma once

#include "compiler/lower/gpu/KernelLowering.h"
#include "compiler/lower/nvidia/BlockToLlvm.h"

namespace sectile::nvidia {

constexpr unsigned clusterSpace = 7; ///< shared memory of neighbouring blocks, and at the same addresses our own
constexpr int64_t warpSize = 32;

/// The warps that run a part of the kernel: those of a role, or all.
struct Role {
  mlir::Region *body;
  int64_t firstWarp, warps;
  /// One without tensors is run by one of its threads.
  bool isOneThread() const;
};
Role roleOf(mlir::Operation *op);

/// A fragment that ldmatrix brings from shared memory.
struct FragmentRead {
  gpu::SharedBuffer buffer;
  ir::MatrixAccesses matrices;
  bool transposed;
};

class NvidiaLowering final : public gpu::KernelLowering {
public:
  NvidiaLowering(ir::BlockKernelOp kernel, const NvidiaLoweringOptions &options, mlir::OpBuilder &builder)
      : KernelLowering(kernel, warpSize, builder), options(options) {}

private:
  // --- what every machine has (NvidiaLowering.cpp) ---
  std::string machine() const override;
  mlir::Type parameterPointer() override { return code.pointerType(0); }
  void describe(mlir::LLVM::LLVMFuncOp function) override;
  void declareShared(mlir::ModuleOp module, llvm::StringRef symbol, int64_t bytes) override;
  int64_t bytesBeforeArguments() const override { return std::ssize(tensorMaps) * TensorMap::bytes; }
  void begin() override { initializeBarriers(); }
  mlir::Value threadIndex() override;
  mlir::Value blockIndex() override;
  mlir::Value blockCount() override;
  mlir::Value warpOf(mlir::Value thread) override;
  void barrier() override;
  mlir::Value shuffleWordXor(mlir::Value word, int64_t mask) override;
  mlir::Value shuffleWord(mlir::Value word, mlir::Value lane) override;
  mlir::Value anyLane(mlir::Value condition) override;
  mlir::Value exp2(mlir::Value exponent) override;
  mlir::Value reciprocal(mlir::Value divisor) override;
  mlir::Value opaque(mlir::Value number) override;
  bool roundsPairs() const override { return options.hasBf16(); }
  Values widenFloat8(mlir::ValueRange held, mlir::Type element) override;
  Values narrowFloat8(mlir::ValueRange wide, mlir::Type element) override;
  llvm::LogicalResult lowerOwn(mlir::Operation *op) override;

  // --- fragments in shared memory (MatrixMoves.cpp) ---
  bool readFragment(ir::ReadOp op) override;
  bool writeFragment(ir::WriteOp op) override;
  void written(ir::WriteOp op) override;
  /// One ldmatrix: fills the registers that it brings.
  void readMatrices(const FragmentRead &read, const ir::Layout &layout, const ir::MatrixAccess &access, Values &values);

  using KernelLowering::lower;

  // --- copies past the registers (CopyAsync.cpp) ---
  llvm::LogicalResult lower(ir::CopyAsyncOp op);
  void copyChunks(const Window &window, const ir::Layout &layout, const gpu::SharedBuffer &buffer, bool guarded);
  void copyThroughRegisters(mlir::Value from, mlir::Value to, mlir::Value isInside);

  // --- rings that are handed to and fro (Rings.cpp) ---
  /// What TMA must know of a copy: which parameter is the view, the box, the bytes of a swizzled row.
  struct TensorMap {
    static constexpr int64_t bytes = 128;
    int64_t parameter, rows, columns, swizzle;
    static TensorMap of(ir::CopyBulkOp op);
    bool operator==(const TensorMap &) const = default;
  };
  void collectTensorMaps(mlir::Operation *function);
  mlir::Value tensorMapAddress(int64_t index);
  void initializeBarriers();
  /// A stage, its barriers and the parity of their phase.
  struct RingPlace {
    mlir::Value address, full, empty, parity;
  };
  llvm::FailureOr<RingPlace> placeIn(mlir::Operation *op, mlir::Value ring, mlir::Value index);
  void waitForPhase(mlir::Value barrier, mlir::Value parity);
  llvm::LogicalResult lower(ir::AcquireOp op);
  llvm::LogicalResult lower(ir::CopyBulkOp op);
  llvm::LogicalResult lower(ir::WaitFullOp op);
  llvm::LogicalResult lower(ir::ReleaseOp op);

  // --- roles (Roles.cpp) ---
  llvm::LogicalResult lower(ir::SpecializeOp op);
  llvm::LogicalResult lowerRole(const Role &role, int64_t budget);
  void byOneThread(gpu::LaneCode::Body body);

  // --- products (DotAsync.cpp, DotWait.cpp, Dot.cpp) ---
  llvm::LogicalResult lower(ir::DotAsyncOp op);
  llvm::LogicalResult lower(ir::DotWaitOp op);
  void holdBack(ir::DotWaitOp op);
  llvm::LogicalResult lowerByMatrixUnit(ir::BlockDotOp op) override;
  struct Operand;
  Operand operandOf(mlir::Value tensor, size_t depthAxis);
  void readRegister(Operand &operand, int64_t reg);
  Values elements(Operand &operand, int64_t first, int64_t count);
  Values multiply(llvm::StringRef instruction, llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b,
                  llvm::ArrayRef<mlir::Value> accumulator);
  using Atom = llvm::SmallVector<Values, 4>; ///< the words of an operand, by part when it is split
  Atom split(llvm::ArrayRef<mlir::Value> values);
  Values multiplySplit(llvm::StringRef instruction, const Atom &a, const Atom &b,
                       llvm::ArrayRef<mlir::Value> accumulator);

  const NvidiaLoweringOptions options;
  /// The threads that run the code: by the number of their barrier and how many they are.
  struct Group {
    int64_t barrier = 0, threads = 0; ///< 0: all of the block
  };
  Group group;
  bool isOneThread = false;                            ///< of the role's runs it
  llvm::SmallVector<TensorMap> tensorMaps;             ///< before the arguments
  llvm::DenseMap<mlir::Value, FragmentRead> fragments; ///< of products, which read them piece by piece
};

} // namespace sectile::nvidia
