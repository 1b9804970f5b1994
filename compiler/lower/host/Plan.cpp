#include "compiler/lower/host/Plan.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

bool sectile::host::isElementwise(Operation *op) {
  return op && op->getNumResults() > 0 && tileType(op->getResult(0)) &&
         (isa<CastOp>(op) ||
          (op->hasTrait<OpTrait::Elementwise>() && isa<arith::ArithDialect, math::MathDialect>(op->getDialect())));
}

int sectile::host::defaultLane(Shape shape) {
  for (int dim = static_cast<int>(shape.size()) - 1; dim >= 0; --dim)
    if (shape[dim] > 1)
      return dim;
  return static_cast<int>(shape.size()) - 1;
}

std::optional<SmallVector<int>> sectile::host::unitReshape(ReshapeOp reshape) {
  Shape from = tileType(reshape.getSource()).getShape(), to = tileType(reshape).getShape();
  SmallVector<int> map;
  size_t next = 0;
  for (int64_t size : to) {
    if (size == 1) {
      map.push_back(-1);
      continue;
    }
    while (next < from.size() && from[next] == 1)
      ++next;
    if (next == from.size() || from[next] != size)
      return {};
    map.push_back(static_cast<int>(next++));
  }
  return map;
}

DotOperand sectile::host::dotOperand(Value operand) {
  bool transposed = false;
  while (Operation *op = operand.getDefiningOp()) {
    if (auto transpose = dyn_cast<TransposeOp>(op)) {
      transposed ^= transpose.getOrder()[0] == 1;
      operand = transpose.getSource();
    } else if (auto cast = dyn_cast<CastOp>(op); cast && tileType(cast.getSource()).getElementType().isF32() &&
                                                 tileType(cast).getElementType().isBF16()) {
      operand = cast.getSource();
    } else {
      break;
    }
  }
  return {operand, transposed};
}

int64_t sectile::host::bf16Pieces(Value operand) {
  Type element = tileType(operand).getElementType();
  return element.isF32() ? 3 : element.isF16() ? 2 : 1;
}

bool sectile::host::isUniform(Value tile) {
  Attribute constant;
  return tile.getDefiningOp<SplatOp>() || matchPattern(tile, m_Constant(&constant));
}

Plan::Plan(KernelOp kernel, const HostVectors &vectors) : vectors(vectors) {
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { bufferByKind(op); });
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) { bufferByUse(op); });
  kernel.walk<WalkOrder::PreOrder>([&](DotOp dot) { absorbUsers(dot); });
  kernel.walk([&](scf::ForOp loop) { findOverwrites(loop); });
  kernel.walk([&](scf::IfOp branch) { findOverwrites(branch); });
  kernel.walk([&](Operation *op) { findOverwrites(op); });
  kernel.walk<WalkOrder::PreOrder>([&](DotOp dot) { chooseLanes(dot); });
}

// What must lie in memory whatever its uses: what is read from memory, sums over other elements, control flow's
// results, and what products and stretched operands read many times.
void Plan::bufferByKind(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [argument, result, next] :
         llvm::zip(loop.getRegionIterArgs(), loop.getResults(), loop.getYieldedValues()))
      if (tileType(result)) {
        buffer(argument);
        buffer(result);
        if (!isUniform(next))
          buffer(next);
      }
  } else if (isa<scf::IfOp>(op)) {
    for (Value result : op->getResults())
      if (tileType(result))
        buffer(result);
  } else if (isa<LoadOp, ReduceOp>(op)) {
    buffer(op->getResult(0));
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    if (!unitReshape(reshape))
      buffer(reshape);
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    buffer(dot);
    buffer(dotOperand(dot.getA()).tile);
    buffer(dotOperand(dot.getB()).tile);
  } else if (auto extract = dyn_cast<ExtractOp>(op)) {
    if (!isUniform(extract.getSource()))
      buffer(extract.getSource());
  }
}

namespace {
bool isExpensive(Operation *op) {
  return isa<math::Exp2Op, math::ExpOp, math::Log2Op, math::LogOp, math::TanhOp, math::SqrtOp, arith::DivFOp,
             arith::FloorDivSIOp, arith::CeilDivSIOp>(op);
}
} // namespace

int64_t Plan::cost(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op || isBuffered(tile) || !tileType(tile))
    return 1;
  if (isUniform(tile) || isa<IotaOp>(op))
    return 0;
  int64_t sum = isExpensive(op) ? 12 : isElementwise(op) ? 1 : 0;
  if (auto cast = dyn_cast<CastOp>(op); cast && tileType(cast.getSource()).getElementType().isF32())
    sum += 6; // rounds
  for (Value operand : op->getOperands())
    sum += cost(operand);
  return std::min<int64_t>(sum, 1000);
}

// Inline tiles whose repeated computation would cost more than a store and loads.
void Plan::bufferByUse(Operation *op) {
  if (auto stretch = dyn_cast<BroadcastOp>(op)) {
    Value source = stretch.getSource();
    constexpr int64_t worthwhile = 8;
    if (isElementwise(source.getDefiningOp()) &&
        tileType(stretch).getNumElements() >= worthwhile * tileType(source).getNumElements() && cost(source) > 1)
      buffer(source);
    return;
  }
  if (!isElementwise(op))
    return;
  for (Value result : op->getResults()) {
    int64_t uses = 0;
    bool inLoop = false;
    for (Operation *user : result.getUsers()) {
      ++uses;
      for (Operation *parent = user->getParentOp(); parent != op->getParentOp(); parent = parent->getParentOp())
        inLoop |= isa<scf::ForOp>(parent);
    }
    int64_t price = cost(result);
    if ((uses > 1 && price > 5) || (inLoop && price > 2))
      buffer(result);
  }
}

/// Whether a value can be evaluated where `op` stands: it is defined before, or inline from values that are.
bool Plan::isKnownBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op))
    return true;
  return tileType(value) && !isBuffered(value) && definition->getNumRegions() == 0 &&
         llvm::all_of(definition->getOperands(), [&](Value operand) { return isKnownBefore(operand, op); });
}

// A product with a single elementwise user is stored as that user's result, and so on along the chain.
void Plan::absorbUsers(DotOp dot) {
  Value value = dot;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    if (!isElementwise(user) || user->getNumResults() != 1 || user->getBlock() != dot->getBlock())
      break;
    bool ready = llvm::all_of(user->getOperands(),
                              [&](Value operand) { return operand == value || isKnownBefore(operand, dot); });
    if (!ready)
      break;
    absorbed.insert(user);
    value = user->getResult(0);
  }
  if (value != dot.getResult()) {
    buffered.erase(dot);
    buffer(value);
  }
  stored[dot] = value;
}

int Plan::laneOf(Value tile) {
  auto found = lanes.find(tile);
  if (found != lanes.end() && found->second >= 0)
    return found->second;
  int lane = naturalLane(tile);
  if (lane < 0)
    lane = defaultLane(tileType(tile).getShape());
  lanes[tile] = lane;
  return lane;
}

/// The dimension along which vectors of this tile come at no cost; -1: any.
int Plan::naturalLane(Value tile) {
  Shape shape = tileType(tile).getShape();
  auto [entry, isNew] = lanes.try_emplace(tile, -1);
  if (!isNew)
    return entry->second; // decided, or on a cycle through a loop's carried value
  Operation *op = tile.getDefiningOp();
  auto sameShape = [&](Value operand) { return tileType(operand) && tileType(operand).getShape() == shape; };
  int lane = -1;
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())) {
      unsigned i = argument.getArgNumber() - loop.getNumInductionVars();
      lane = naturalLane(loop.getYieldedValues()[i]);
      if (lane < 0)
        lane = naturalLane(loop.getInitArgs()[i]);
    }
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    lane = naturalLane(loop.getRegionIterArg(cast<OpResult>(tile).getResultNumber()));
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned i = cast<OpResult>(tile).getResultNumber();
    lane = naturalLane(branch.thenYield().getOperand(i));
    if (lane < 0)
      lane = naturalLane(branch.elseYield().getOperand(i));
  } else if (isa<LoadOp>(op)) {
    lane = defaultLane(shape);
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    int source = naturalLane(reduce.getSource());
    lane = source >= 0 && source != static_cast<int>(reduce.getAxis()) ? source : -1;
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    int source = naturalLane(transpose.getSource());
    for (auto [i, from] : llvm::enumerate(transpose.getOrder()))
      if (from == source)
        lane = static_cast<int>(i);
  } else if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      if (lane < 0 && sameShape(operand))
        lane = naturalLane(operand);
  }
  if (lane >= 0 && shape[lane] == 1)
    lane = -1;
  lanes[tile] = lane;
  if (lane < 0)
    lanes.erase(tile); // may become known later
  return lane;
}

// Vectors of the product run along n (B read as vectors, A as scalars) or along m (A read as vectors, B as scalars).
// Whichever operand is read as vectors must have its lanes there; turning it costs more inside a loop than before it.
void Plan::chooseLanes(DotOp dot) {
  Value product = storedBy(dot);
  Shape shape = tileType(product).getShape();
  auto price = [&](Value operand, int lane) -> int64_t {
    auto [tile, transposed] = dotOperand(operand);
    int wanted = transposed ? 1 - lane : lane;
    int natural = naturalLane(tile);
    int64_t turn = 0;
    if (natural >= 0 && natural != wanted) {
      Operation *definition = tile.getDefiningOp();
      bool outside = definition ? definition->getBlock() != dot->getBlock() : tile.getParentBlock() != dot->getBlock();
      turn = outside ? 10 : 100;
    }
    return turn;
  };
  auto padding = [&](int64_t size) { // percent of lanes that are computed in vain
    return 10 * (llvm::alignTo(size, vectors.lanes) - size) / size;
  };
  int64_t alongN = price(dot.getB(), 1) + padding(shape[1]), alongM = price(dot.getA(), 0) + padding(shape[0]);
  int lane = alongM < alongN && !usesMatrixUnit(dot) ? 0 : 1;
  for (Value value = dot.getResult();; value = value.getUsers().begin()->getResult(0)) {
    lanes[value] = lane;
    if (value == product)
      break;
  }
  if (usesMatrixUnit(dot))
    return;
  auto [read, transposed] = dotOperand(lane == 1 ? dot.getB() : dot.getA());
  demand(read, transposed ? 1 - lane : lane);
}

bool Plan::usesMatrixUnit(DotOp dot) const {
  // Whole blocks of 16 x 16 results; the depth is padded with zeros.
  Shape a = tileType(dot.getA()).getShape(), b = tileType(dot.getB()).getShape();
  if (!vectors.matrixUnit || a[0] % 16 || b[1] % 16)
    return false;
  // Operands of several pieces are split first, which pays for many rows and few products only (Amx.cpp).
  int64_t left = bf16Pieces(dot.getA()), right = bf16Pieces(dot.getB());
  if (left == 1 && right == 1)
    return true;
  constexpr int64_t manyRows = 128, wide = 32, deep = 32;
  return left * right <= 4 && a[0] >= manyRows && b[1] >= wide && a[1] >= deep;
}

bool Plan::isPacked(LoadOp load) const {
  if (!vectors.matrixUnit || tileType(load).getRank() != 2 || load.getPaddingAttr() || load->use_empty())
    return false;
  auto onlyProducts = [&](auto &self, Value tile) -> bool {
    return llvm::all_of(tile.getUsers(), [&](Operation *user) {
      if (auto transpose = dyn_cast<TransposeOp>(user))
        return !transpose->use_empty() && self(self, transpose);
      auto dot = dyn_cast<DotOp>(user);
      return dot && dot.getAccumulator() != tile && usesMatrixUnit(dot);
    });
  };
  return onlyProducts(onlyProducts, load);
}

/// Lets a tile be made with the lanes that a product wants, when it is free to choose.
void Plan::demand(Value tile, int lane) {
  Operation *op = tile.getDefiningOp();
  if (!op || !tileType(tile) || tileType(tile).getRank() <= lane || tileType(tile).getShape()[lane] == 1)
    return;
  if (isa<LoadOp>(op)) {
    lanes[tile] = lane;
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    demand(transpose.getSource(), static_cast<int>(transpose.getOrder()[lane]));
  } else if (isElementwise(op) && naturalLane(tile) != lane) {
    lanes[tile] = lane;
    for (Value operand : op->getOperands())
      if (tileType(operand) && tileType(operand).getShape() == tileType(tile).getShape())
        demand(operand, lane);
  }
}
