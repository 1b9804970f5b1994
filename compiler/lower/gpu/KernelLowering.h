// Turns one block.kernel into the program of one lane of a GPU: an llvm.func whose body mixes llvm with arith, math and
// scf on scalars (BlockToLlvm.h of a vendor says what comes after).
//
// A tensor is a list of values, one for each register of its layout; a scalar is a list of one. Statements are lowered
// in program order, each by one function below:
//
//   * what stays within a register applies the same operation to each (Elementwise.cpp, Cast.cpp);
//   * shapes only rename registers (Shape.cpp);
//   * loops and conditions carry the lists (Control.cpp);
//   * what crosses lanes or warps asks the layout for the way (Convert.cpp, Reduce.cpp, Any.cpp);
//   * what each vendor's machines do in their own way is virtual (lower/nvidia, lower/amd).
//
// f32, f16, bf16, i32 and i1 are held as what they are; f8 as i8, which llvm knows. Arithmetic on narrow floats is done
// in f32 and rounded to nearest even after each operation, which gives the correctly rounded result. Elements past a
// tensor's shape are undefined, but always numbers, never poison: they may be computed with.
#pragma once

#include "compiler/ir/Block.h"
#include "compiler/ir/LayoutConversion.h"
#include "compiler/lower/gpu/LaneCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>

namespace mlir::scf {
class ForOp;
class IfOp;
} // namespace mlir::scf

namespace sectile::gpu {

/// A view argument, unpacked. Sizes are i32, strides i64.
struct ViewArgument {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides;
  mlir::Type element;
  bool unitStride, aligned; ///< what the launch guarantees: tile.unit_stride, tile.aligned16
};

/// A buffer in shared memory: one stage of it when it was taken from a ring.
struct SharedBuffer {
  mlir::Value address; ///< of row 0, column 0
  ir::SharedType type;
  mlir::Value barriers = {}; ///< of a ring that is handed to and fro
};

class KernelLowering {
public:
  virtual ~KernelLowering() = default;
  KernelLowering(const KernelLowering &) = delete;
  KernelLowering &operator=(const KernelLowering &) = delete;

  /// Builds the function before the kernel, under its name; fails with a diagnostic at the operation without lowering.
  llvm::FailureOr<mlir::Operation *> run();

protected:
  using Values = LaneCode::Values;
  using Bases = ir::Layout::Bases;

  KernelLowering(ir::BlockKernelOp kernel, int64_t warpLanes, mlir::OpBuilder &builder);

  // --- what machines do in their own way ---
  virtual std::string machine() const = 0; ///< for messages: "sm_80"
  /// The pointer to the function's one parameter, a record of `words` + 3 words: the arguments, then the grid.
  virtual mlir::Type parameterPointer() = 0;
  /// All that compilers and drivers must know of the function.
  virtual void describe(mlir::LLVM::LLVMFuncOp function) = 0;
  /// Of the kernel's shared memory: a symbol of `bytes`, or one whose size the launch gives.
  virtual void declareShared(mlir::ModuleOp module, llvm::StringRef symbol, int64_t bytes) = 0;
  virtual int64_t bytesBeforeArguments() const { return 0; } ///< in the record
  virtual void begin() {}                                    ///< before the first statement
  virtual mlir::Value threadIndex() = 0;                     ///< in the block
  virtual mlir::Value blockIndex() = 0;                      ///< in the launch
  virtual mlir::Value blockCount() = 0;
  virtual mlir::Value warpOf(mlir::Value thread) { return code.shiftRight(thread, laneBits()); }
  /// Waits for all threads that run the code; what they wrote to memory before is visible to all of them after.
  virtual void barrier() = 0;
  /// Of a word of 32 bits: what lane (own lane ^ mask) holds, or the lane of that number.
  virtual mlir::Value shuffleWordXor(mlir::Value word, int64_t mask) = 0;
  virtual mlir::Value shuffleWord(mlir::Value word, mlir::Value lane) = 0;
  virtual mlir::Value anyLane(mlir::Value condition) = 0;  ///< the same in all lanes of a warp
  virtual mlir::Value exp2(mlir::Value exponent) = 0;      ///< 2 ulp; below the normal numbers it may give 0
  virtual mlir::Value reciprocal(mlir::Value divisor) = 0; ///< 1 ulp
  virtual mlir::Value opaque(mlir::Value number) = 0;      ///< the same number, of which nothing is known
  virtual bool packsFloats() const { return false; }       ///< two sums or products of f32 in one instruction
  virtual bool roundsPairs() const { return true; }        ///< two floats to 16 bits in one instruction
  /// Where there are no instructions, sectile-expand-conversions expands them; narrowing saturates.
  virtual Values widenFloat8(mlir::ValueRange held, mlir::Type element);
  virtual Values narrowFloat8(mlir::ValueRange wide, mlir::Type element);
  /// By instructions that move whole fragments; false: by vectors, as others.
  virtual bool readFragment(ir::ReadOp) { return false; }
  virtual bool writeFragment(ir::WriteOp) { return false; }
  virtual void written(ir::WriteOp) {} ///< after a write
  /// Whether loads of tiles that are inside of the view have a branch of their own.
  virtual bool loadsWholeTiles() const { return false; }
  virtual llvm::LogicalResult lowerByMatrixUnit(ir::BlockDotOp op) = 0;
  /// Operations that only some machines have.
  virtual llvm::LogicalResult lowerOwn(mlir::Operation *op);

  // --- the function (KernelLowering.cpp) ---
  void makePrologue(mlir::Value parameters, int64_t words);
  void unpackArguments();
  mlir::Value word(int64_t index, mlir::Type type);
  mlir::Value program(int64_t axis);
  mlir::Value programIndex(mlir::Value program, int64_t axis);
  mlir::Value sharedAddress(int64_t offset);
  int64_t laneBits() const { return llvm::Log2_64(static_cast<uint64_t>(warpLanes)); }
  llvm::LogicalResult lower(mlir::Block &block);
  llvm::LogicalResult lower(mlir::Operation *op);

  // --- loops and conditions (Control.cpp) ---
  llvm::LogicalResult lower(mlir::scf::ForOp loop);
  llvm::LogicalResult lower(mlir::scf::IfOp branch);
  llvm::LogicalResult lowerApart(mlir::Block &block);
  llvm::SmallVector<mlir::Type> heldTypes(mlir::TypeRange types);
  void append(Values &list, mlir::ValueRange values);
  void spread(mlir::ValueRange list, mlir::ValueRange values);

  // --- places (Places.cpp) ---
  const ir::Layout &layoutOf(mlir::Value tensor) { return layoutOf(tensor.getType()); }
  const ir::Layout &layoutOf(mlir::Type type);
  /// What lane and warp add to coordinate d, an i32; null when that is nothing.
  mlir::Value threadPart(Bases lanes, Bases warps, size_t d);
  mlir::Value threadPart(const ir::Layout &layout, size_t d) {
    return threadPart(layout.laneBits(), layout.warpBits(), d);
  }
  /// Coordinate d of a register in this thread.
  mlir::Value coordinate(const ir::Layout &layout, llvm::ArrayRef<int64_t> base, size_t d);
  /// Whether the element of this thread is inside of the shape, in one dimension or all; null when it is in each
  /// thread.
  mlir::Value inside(Bases lanes, Bases warps, llvm::ArrayRef<int64_t> base, int64_t size, size_t d);
  mlir::Value inside(Bases lanes, Bases warps, llvm::ArrayRef<int64_t> base, llvm::ArrayRef<int64_t> shape);
  mlir::Value insideShape(const ir::Layout &layout, int64_t reg) {
    return inside(layout.laneBits(), layout.warpBits(), layout.base(reg), layout.shape());
  }
  /// The same with copies left out: true in one holder of each element.
  mlir::Value isOwner(const ir::Layout &layout);
  /// Moved by what each set bit of lane and warp XORs into a number.
  mlir::Value gather(llvm::ArrayRef<int64_t> laneBases, llvm::ArrayRef<int64_t> warpBases);
  /// Code that `make` builds is placed at the beginning of the function or role, once for each key.
  mlir::Value once(const std::string &key, llvm::function_ref<mlir::Value()> make);

  // --- element by element (Elementwise.cpp, Cast.cpp) ---
  llvm::LogicalResult lowerElementwise(mlir::Operation *op);
  llvm::LogicalResult lowerConstant(mlir::arith::ConstantOp op);
  Values compute(mlir::Operation *op, mlir::ValueRange operands);
  Values computePair(mlir::Operation *op, llvm::ArrayRef<Values> operands, size_t first);
  mlir::Value divide(mlir::Operation *op, mlir::Value a, mlir::Value b);
  mlir::Value shift(mlir::Operation *op, mlir::Value a, mlir::Value b);
  mlir::Type heldType(mlir::Type element); ///< f8 becomes i8
  mlir::Value constant(mlir::Type element, mlir::Attribute number);
  mlir::Value zero(mlir::Type held);
  void lower(ir::CastOp cast);
  Values convertElements(Values values, mlir::Type from, mlir::Type to);
  mlir::Value widen(mlir::Value held, mlir::Type element); ///< any float to f32
  Values widenAll(mlir::ValueRange held, mlir::Type element);
  Values narrowAll(mlir::ValueRange wide, mlir::Type element); ///< f32 to any float
  mlir::Value floatToInteger(mlir::Value wide);
  mlir::Value integerToFloat(mlir::Value integer, mlir::Type to);

  // --- shapes (Shape.cpp) ---
  void lower(ir::SplatOp op);
  void lower(ir::IotaOp op);
  llvm::LogicalResult lower(ir::ExtractOp op);
  llvm::LogicalResult lower(ir::BroadcastOp op);
  llvm::LogicalResult lower(ir::ReshapeOp op);
  llvm::LogicalResult lower(ir::TransposeOp op);

  // --- across threads (Convert.cpp, Reduce.cpp, Any.cpp) ---
  /// Of any scalar type up to 32 bits.
  mlir::Value shuffleXor(mlir::Value value, int64_t mask);
  mlir::Value shuffle(mlir::Value value, mlir::Value lane);
  llvm::LogicalResult lower(ir::ConvertOp op);
  Values acrossLanes(const ir::Layout &from, const ir::Layout &to, const ir::Conversion &way, const Values &values);
  Values shuffled(const ir::Conversion &conversion, const Values &values);
  Values exchanged(const ir::Conversion &way, const Values &values);
  Values throughShared(const ir::Layout &from, const ir::Layout &to, const Values &values, mlir::Value scratch);
  llvm::LogicalResult lower(ir::ReduceOp op);
  mlir::Value combine(ir::ReduceKind kind, mlir::Value a, mlir::Value b);
  mlir::Value neutral(ir::ReduceKind kind, mlir::Type type);
  Values acrossWarps(ir::ReduceOp op, const Values &partial);
  ir::Layout lineLayout(ir::ReduceOp op);
  Values inFirstPart(ir::ReduceOp op, const Values &lines, mlir::Value nothing);
  llvm::LogicalResult lower(ir::AnyOp op);
  mlir::Value rowMajorAddress(mlir::Value start, const ir::Layout &layout, llvm::ArrayRef<int64_t> base, int64_t bytes);
  Values loadVector(mlir::Type held, int64_t count, mlir::Value address);
  void storeVector(llvm::ArrayRef<mlir::Value> elements, mlir::Value address);
  /// Where an operation's scratch memory begins, or null with a diagnostic.
  mlir::Value scratchOf(mlir::Operation *op);

  // --- global memory (GlobalMemory.cpp, MemoryOrder.cpp) ---
  /// A barrier where an earlier access of this program to the view must be complete.
  void orderAccess(mlir::Operation *op, mlir::Value view);
  void lower(ir::LoadOp op);
  void lower(ir::StoreOp op);
  void lower(ir::AtomicAddOp op);
  struct Window;
  Window windowOf(mlir::Value view, mlir::ValueRange indices, size_t rank);
  mlir::Value insideView(const Window &window, const ir::Layout &layout, llvm::ArrayRef<int64_t> base);
  mlir::Value addressIn(const Window &window, const ir::Layout &layout, llvm::ArrayRef<int64_t> base);
  mlir::Value addressOf(const Window &window);
  mlir::Value addressBeside(const Window &window, mlir::Value address, llvm::ArrayRef<int64_t> distance);
  mlir::Value vectorsAreWhole(const Window &window, int64_t elements);
  Values loadAll(const Window &window, const ir::Layout &layout, mlir::Value padding, int64_t vector);
  Values loadWholeTile(const Window &window, const ir::Layout &layout, mlir::Value padding, int64_t vector);
  void forEachStored(const Window &window, const ir::Layout &layout, int64_t vector, bool guarded,
                     llvm::function_ref<void(int64_t reg, mlir::Value address)> store);
  int64_t longestVector(const Window &window, const ir::Layout &layout);
  mlir::Value isWholeTile(const Window &window, llvm::ArrayRef<int64_t> shape);

  // --- shared memory (SharedMemory.cpp) ---
  llvm::LogicalResult lower(ir::AllocOp op);
  void lower(ir::StageOp op);
  void lower(ir::WriteOp op);
  void writeVectors(ir::WriteOp op);
  void lower(ir::ReadOp op);
  /// Of an element of a buffer: its run-time coordinates are what lanes and warps add to the constant base.
  mlir::Value addressIn(const SharedBuffer &buffer, Bases lanes, Bases warps, llvm::ArrayRef<int64_t> base,
                        bool transposed);
  mlir::Value addressIn(const SharedBuffer &buffer, mlir::Value row, mlir::Value column);

  // --- products (DotByFma.cpp) ---
  llvm::LogicalResult lower(ir::BlockDotOp op);
  llvm::LogicalResult lowerByFma(ir::BlockDotOp op);

  ir::BlockKernelOp kernel;
  const int64_t warpLanes;
  LaneCode code;
  mlir::Operation *prologueEnd = nullptr;     ///< once() adds code before it
  mlir::Value parameters, thread, lane, warp; ///< thread and warp count from those of the role
  int64_t warps;                              ///< that run the code: the role's, or all
  int64_t words = 0;                          ///< of the arguments
  llvm::DenseMap<mlir::Value, Values> registers;
  llvm::DenseMap<mlir::Value, ViewArgument> views;
  llvm::DenseMap<mlir::Value, SharedBuffer> buffers;
  llvm::DenseMap<mlir::Type, std::unique_ptr<ir::Layout>> layouts;
  std::map<std::string, mlir::Value> known; ///< by once()'s keys
};

} // namespace sectile::gpu
