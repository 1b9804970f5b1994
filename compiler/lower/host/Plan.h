// Decides, before any code is made, how each tile of a kernel is kept on the host.
//
// A tile is either *buffered* (its elements lie in scratch memory) or *inline* (computed again at each use, from
// buffered tiles, one vector at a time). A buffered tile has a *lane dimension*: the one along which its elements are
// contiguous and along which vectors run.
//
//   S = dot(Q, transpose(K))   Buffered. K's rows are contiguous along d, so vectors of K^T along the keys would need a
//                              transpose in the loop; vectors along the queries need one of Q, before the loop.
//   x = S * scale              Its only user: stored instead of S ("absorbed" by the dot).
//   m = reduce max x axis 1    Lanes are queries: no horizontal operation.
//   P = exp2(x - m)            Used twice and expensive: buffered, lanes as x.
//                              Written over x, which nobody reads later.
//   acc = dot(P, V, acc * a)   Written in place over the loop's carried accumulator; `acc * a` is inline.
#pragma once

#include "compiler/ir/Tile.h"
#include "compiler/lower/host/HostVectors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sectile::host {

class Plan {
public:
  Plan(ir::KernelOp kernel, const HostVectors &vectors);

  bool isBuffered(mlir::Value tile) const { return buffered.contains(tile); }
  /// The lane dimension of a buffered tile.
  int laneOf(mlir::Value tile);
  /// The tile that a dot's stores produce: its result, or the end of the chain of elementwise operations absorbed.
  mlir::Value storedBy(ir::DotOp dot) const { return stored.lookup(dot.getOperation()); }
  bool isAbsorbed(mlir::Operation *op) const { return absorbed.contains(op); }
  /// Whether the matrix unit computes the dot; its operands are then packed (Amx.cpp) and its lanes run along n.
  bool usesMatrixUnit(ir::DotOp dot) const;
  /// Whether only the matrix unit reads the loaded tile, so that it is kept in the unit's form.
  bool isPacked(ir::LoadOp load) const;
  /// The loop-carried tile that the dot may write over, or null.
  mlir::Value overwrittenBy(ir::DotOp dot) const { return overwritten.lookup(dot.getOperation()); }
  /// The tile that an scf.if's result, or a buffered elementwise tile, may write over, or null.
  mlir::Value overwrittenBy(mlir::Value tile) const { return overwrittenByTile.lookup(tile); }

private:
  void buffer(mlir::Value tile) { buffered.insert(tile); }
  void bufferByKind(mlir::Operation *op);
  void bufferByUse(mlir::Operation *op);
  bool isKnownBefore(mlir::Value value, mlir::Operation *op);
  void absorbUsers(ir::DotOp dot);
  void findOverwrites(mlir::scf::ForOp loop);
  void findOverwrites(mlir::scf::IfOp branch);
  void findOverwrites(mlir::Operation *definition);
  mlir::Value lastReadHere(mlir::Value tile, mlir::Value by) const;
  void chooseLanes(ir::DotOp dot);
  void demand(mlir::Value tile, int lane);
  int naturalLane(mlir::Value tile);
  int64_t cost(mlir::Value tile);

  HostVectors vectors;
  llvm::DenseSet<mlir::Value> buffered;
  llvm::DenseSet<mlir::Operation *> absorbed;
  llvm::DenseMap<mlir::Operation *, mlir::Value> stored, overwritten;
  llvm::DenseMap<mlir::Value, mlir::Value> overwrittenByTile;
  llvm::DenseMap<mlir::Value, int> lanes; // decided, or -1 while it is being worked out
};

using Shape = llvm::ArrayRef<int64_t>;

inline mlir::RankedTensorType tileType(mlir::Value value) {
  return mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
}
/// Computes each element of its result from the same elements of its operands.
bool isElementwise(mlir::Operation *op);
/// The last dimension that is longer than 1, or the last.
int defaultLane(Shape shape);
/// A reshape that only adds or drops dimensions of size 1: for each result dimension the source dimension, or -1.
/// Nothing when elements move.
std::optional<llvm::SmallVector<int>> unitReshape(ir::ReshapeOp reshape);
/// What a dot reads: the operand without its transposes, and without a cast from f32 to bf16 (the product is in f32
/// anyway, and `tile.dot` allows it).
struct DotOperand {
  mlir::Value tile;
  bool transposed;
};
DotOperand dotOperand(mlir::Value operand);
/// How many bf16 numbers add up to any element of a product's operand.
int64_t bf16Pieces(mlir::Value operand);
/// Elements that all have one value, known without reading memory.
bool isUniform(mlir::Value tile);

} // namespace sectile::host
