// Turns one tile.kernel into a host function of the vector stage: one call runs one program of the grid.
//
// Statements are lowered in program order, each by one function below; inline tiles (Plan.h) become code only where a
// statement evaluates them. In registers and scratch memory every element takes 32 bits: f16, bf16 and f8 tiles are
// held as f32 (their values are exact there, each operation rounds), i1 as a mask in registers and 0 or 1 in memory. So
// all vectors have the same number of lanes.
#pragma once

#include "compiler/lower/host/Code.h"
#include "compiler/lower/host/HostVectors.h"
#include "compiler/lower/host/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sectile::host {

/// A tile in scratch memory, in rows or in panels.
///
/// In rows, element [i, j, …] is at sum(index * stride); the lane dimension has stride 1, dimensions of size 1 have
/// stride 0. In panels, a tile of rank 2 is cut into columns of one vector each, which follow one another whole: what a
/// loop over the other dimension reads is contiguous, so that it is prefetched and touches few pages. With vectors of
/// 4,
///
///     rows     0 1 2 3 4 5 6 7       panels   0 1 2 3 8 9 a b
///              8 9 a b c d e f                4 5 6 7 c d e f      strides: lanes 2, other dimension 4
///
/// a vector that starts at a multiple of its length is at sum(index * stride) there, too. Whole vectors may be read and
/// written past a row's end: rows are padded.
struct Buffer {
  int64_t offset = 0; ///< bytes from the start of scratch
  mlir::Type type;    ///< element type of the tile
  llvm::SmallVector<int64_t> shape, strides;
  int lane = 0;
  bool panels = false;

  Buffer transposed() const; ///< of rank 2, seen with its dimensions swapped
};

/// A place in a tile: an index a dimension; vectors run along `lane` from there, or a single element when it is -1.
struct Position {
  llvm::SmallVector<Index> index;
  int lane = -1;
};

/// A view argument, unpacked.
struct ViewArgument {
  mlir::Value pointer;
  llvm::SmallVector<mlir::Value> sizes, strides; // i64
  mlir::Type type;
  bool unitStride;
};

class KernelLowering {
public:
  KernelLowering(ir::KernelOp kernel, const HostVectors &vectors, mlir::OpBuilder &builder);

  /// Builds the function before the kernel; fails with a diagnostic at the operation that has no lowering.
  llvm::FailureOr<mlir::func::FuncOp> run();

private:
  using Values = Code::Values;
  /// Values already known at one position: a tile's result -> its vector.
  using Known = llvm::DenseMap<mlir::Value, mlir::Value>;

  // --- statements (KernelLowering.cpp, Control.cpp) ---
  llvm::LogicalResult lower(mlir::Block &block);
  llvm::LogicalResult lower(mlir::Operation *op);
  llvm::LogicalResult lowerScalar(mlir::Operation *op);
  llvm::LogicalResult lower(mlir::scf::ForOp loop);
  llvm::LogicalResult lower(mlir::scf::IfOp branch);
  void unpackArguments();
  Values scalarsOf(mlir::ValueRange values);

  // --- loops over tiles (Loops.cpp) ---
  /// Reduces a tile; one that is `undefined` yet is computed and written to its buffer on the way.
  void lower(ir::ReduceOp reduce, const Buffer *undefined = nullptr);
  void lower(ir::ReshapeOp reshape); // one that moves elements
  /// Computes a tile into a buffer.
  void materialize(mlir::Value tile, const Buffer &to);
  void copy(const Buffer &from, const Buffer &to);
  /// A copy with lanes along another dimension.
  Buffer turned(const Buffer &from, int lane);
  /// Runs `body` at every vector of a shape: groups of lanes outside, the other dimensions inside. What `roots` read
  /// that stays the same along the inner loops is computed once, outside, and handed to the body.
  void forEachVector(Shape shape, int lane, mlir::ValueRange roots,
                     llvm::function_ref<void(const Position &, Known &)> body);
  void forEachIndex(Shape shape, int dim, int skip, Position &at, llvm::function_ref<void()> body);
  /// Makes sure that evaluating `tile` with these lanes reads contiguous vectors, turning buffers where needed.
  void prepareLanes(mlir::Value tile, int lane);

  // --- products (Dot.cpp) ---
  void lower(ir::DotOp dot);
  struct DotShape;
  void prepareAbsorbed(ir::DotOp dot, int lane);
  void dotBlock(const DotShape &dot, Index lane, int64_t vectors, Index row, int64_t rows);

  // --- products on the matrix unit (Amx.cpp) ---
  void lowerOnMatrixUnit(ir::DotOp dot);
  using Pieces = llvm::SmallVector<Buffer, 3>;
  Values piecesOf(mlir::Value low, mlir::Value high, int64_t count);
  Pieces packedRows(mlir::Value tile, int64_t count);
  Pieces packedRows(const Buffer &held, int64_t count);
  Buffer pairedRows(const Buffer &rows, int64_t depth);
  Pieces leftOperand(mlir::Value operand);
  Pieces rightOperand(mlir::Value operand);
  struct MatrixBlock;
  void matrixBlock(const MatrixBlock &block);

  // --- what the next pass loads (Prefetch.cpp) ---
  struct Ahead {
    mlir::Value origin, rowBytes; ///< address of the first row, bytes from row to row
    int64_t rows, bytes;
  };
  mlir::Value inNextPass(mlir::Value scalar, mlir::scf::ForOp loop);
  void planPrefetch(ir::LoadOp load);
  void prefetchShare(Index block, int64_t blocks);

  // --- memory (ViewAccess.cpp) ---
  void lower(ir::LoadOp load);
  void lower(ir::StoreOp store);
  void lower(ir::AtomicAddOp add);
  struct Window;
  Window windowOf(const ViewArgument &view, mlir::ValueRange indices, Shape shape);
  mlir::Value rowInside(const Window &window, const Position &at);
  mlir::Value addressIn(const Window &window, const Position &at);
  mlir::Value isWhole(const Window &window);
  mlir::Value isWhole(const Window &window, Index first);
  bool canMask(const Window &window) const;
  mlir::Value partMask(const Window &window, Index first);
  void forEachElement(const Window &window, const Position &at,
                      llvm::function_ref<void(mlir::Value, mlir::Value)> body);
  mlir::Value loadVector(const Window &window, const Position &at, mlir::Value padding);
  void storeVector(const Window &window, const Position &at, mlir::Value raw);
  void forEachStored(mlir::Value tile, const Window &window,
                     llvm::function_ref<void(const Position &, mlir::Value)> body);
  int64_t bytesOf(mlir::Type element) const;
  mlir::Type memoryType(mlir::Type element);
  mlir::Value fromMemory(mlir::Value raw, mlir::Type element);
  mlir::Value toMemory(mlir::Value held, mlir::Type element);

  // --- values at a position (Evaluate.cpp) ---
  mlir::Value evaluate(mlir::Value tile, const Position &at, Known &known);
  mlir::Value evaluateInline(mlir::OpResult tile, const Position &at, Known &known);
  mlir::Value compute(mlir::Operation *op, mlir::ValueRange operands, unsigned result, Known &known);
  mlir::Value convert(ir::CastOp cast, mlir::Value source);
  mlir::Value safeDivisor(mlir::Value dividend, mlir::Value divisor);
  mlir::Value roundTo(mlir::Value held, mlir::Type element);
  mlir::Value constantAt(mlir::Type element, mlir::Attribute value, const Position &at);
  mlir::Value read(const Buffer &buffer, const Position &at);
  void write(mlir::Value held, const Buffer &buffer, const Position &at);
  mlir::Value addressIn(const Buffer &buffer, const Position &at);
  mlir::Type heldType(mlir::Type element, const Position &at);

  enum class Form { rows, panels };
  Buffer allocate(Shape shape, mlir::Type element, int lane, Form form = Form::panels);
  Buffer allocatePacked(int64_t rows, int64_t columns); ///< of bf16 pairs, each an i32; columns are padded to 32
  Buffer bufferFor(mlir::Value tile);                   ///< a new one, with the planned lanes
  void define(mlir::Value tile); ///< computes an inline tile that others will read from its buffer

  ir::KernelOp kernel;
  HostVectors vectors;
  Code code;
  Plan plan;
  mlir::Value arguments, scratch;
  llvm::SmallVector<mlir::Value, 3> program;
  llvm::DenseMap<mlir::Value, mlir::Value> scalars;
  llvm::DenseMap<mlir::Value, ViewArgument> views;
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, Pieces> packedLoads;                   // that only the matrix unit reads
  llvm::DenseSet<mlir::Operation *> reduced;                         // together with the definition of their operand
  llvm::DenseMap<std::pair<mlir::Value, int>, Buffer> turnedBuffers; // for the statement being lowered
  llvm::SmallVector<Ahead> nextPass;                                 // until a product takes it
  int64_t scratchBytes = 0;
  Buffer staging; // one vector, for rows that are cut off
};

/// The type that holds an element in registers: f32 for every float, i32, i1.
mlir::Type heldElement(mlir::Type element);

} // namespace sectile::host
