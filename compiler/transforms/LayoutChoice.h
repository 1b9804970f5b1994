// Which layout every tensor of a kernel shall have: the decisions behind AssignLayouts.
//
// Values fall into three kinds:
//
//     recomputed    made of scalars alone (constants, splats, iota and what is computed from them): no layout of their
//                   own, they are made in each layout that somebody wants
//     moved         broadcast, transpose, reshape, conversion to a wider type: they pass a demand on to their source
//     anchored      everything else: they have one layout
//
// Anchored values that meet in elementwise operations, loops and branches form a class with one layout:
//
//     1. The accumulators of matrix products choose first, in program order.
//     2. A class with a layout decides for its neighbours: a reduction's result is sliced, a broadcast's source too.
//     3. Of the classes that are left the one with most elements gets the layout of what it is made of, when that has
//        one, else a blocked one, vectors as wide as its loads and stores allow; then 2 again, until none is left.
//
// What a product multiplies decides nothing: it is converted.
#pragma once

#include "compiler/ir/AmdFragments.h"
#include "compiler/ir/Block.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"

#include <deque>

namespace sectile {

/// What of a machine decides on layouts.
struct MatrixMachine {
  std::optional<ir::AmdUnit> amd; ///< else NVIDIA's mma.sync
  int sm = 80;                    ///< of NVIDIA
  int64_t lanes() const { return amd ? ir::amdLanes(*amd) : 32; }
};

/// How a product is computed. Without `element` by fma.
struct ProductPlan {
  ir::DotKind kind;
  mlir::Type element; ///< that the operands have or are converted to, exactly
  ir::WarpGrid grid;
  ir::Layout accumulator;
  ir::DepthOrder order = ir::DepthOrder::wide; ///< AMD
};
ProductPlan planProduct(ir::DotOp dot, int64_t warps, const MatrixMachine &machine);

bool isElementwise(mlir::Operation *op);

/// The layout in which the source of a broadcast, transpose, reshape or conversion must be so that the result has this
/// one and nothing moves; nothing when a reshape would have to move elements.
std::optional<ir::Layout> sourceLayout(mlir::Operation *moving, const ir::Layout &result);

class LayoutChoice {
public:
  LayoutChoice(mlir::Operation *kernel, int64_t warps, const MatrixMachine &machine);

  /// Whether the tensor is made of scalars alone.
  bool isRecomputed(mlir::Value tensor) const { return recomputed.contains(tensor); }
  bool isMoved(mlir::Value tensor) const;
  bool isAnchored(mlir::Value tensor) const { return !isRecomputed(tensor) && !isMoved(tensor); }

  /// The layout that a tensor has, or that costs least.
  ir::Layout of(mlir::Value tensor) const;
  /// For loads and stores by vectors of so many bytes, or as many as the shape allows.
  ir::Layout blocked(mlir::RankedTensorType type, int64_t vectorBytes = 16) const;
  /// The layout in which a tensor is stored best: its own, or one with longer vectors that lanes of a warp can reach by
  /// one shuffle a register.
  ir::Layout stored(ir::StoreOp store) const;
  /// Every thread holds everything.
  ir::Layout replicated(llvm::ArrayRef<int64_t> shape) const;

private:
  using Id = const void *; ///< a Value

  void collect(mlir::Operation *op);
  void meet(mlir::Value a, mlir::Value b);
  void assign(mlir::Value member, const ir::Layout &layout);
  void demand(mlir::Value tensor, const ir::Layout &layout);
  void propagate();
  std::optional<ir::Layout> layoutOfOrigin(mlir::Value tensor) const;
  std::optional<ir::Layout> fromOperands(mlir::Value member) const;
  int64_t vectorBytes(mlir::Value member) const;

  int64_t warps, lanes;
  llvm::DenseSet<mlir::Value> recomputed;
  llvm::SmallVector<mlir::Value> anchored; ///< in program order
  llvm::EquivalenceClasses<Id> classes;    ///< of anchored values
  /// The moved values that an anchored one meets.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value, 2>> moved;
  llvm::DenseMap<Id, ir::Layout> layouts; ///< by the leader of a class
  std::deque<Id> pending;                 ///< leaders whose neighbours have not been told
};

} // namespace sectile
