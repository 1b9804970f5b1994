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

namespace {
/// Whether every use of `tile` is an elementwise step toward `sink`, so that reading and writing one position at a time
/// never meets an element that was already written.
bool onlyFeeds(Value tile, llvm::function_ref<bool(OpOperand &)> isSink, const Plan &plan) {
  return llvm::all_of(tile.getUses(), [&](OpOperand &use) {
    if (isSink(use))
      return true;
    Operation *user = use.getOwner();
    return isElementwise(user) && user->getNumResults() == 1 && !plan.isBuffered(user->getResult(0)) &&
           !plan.isAbsorbed(user) && onlyFeeds(user->getResult(0), isSink, plan);
  });
}
} // namespace

// acc = dot(p, v, f(acc)): the product may overwrite the carried tile when nothing else reads it.
void Plan::findOverwrites(scf::ForOp loop) {
  for (auto [argument, next] : llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto dot = next.getDefiningOp<DotOp>();
    if (!dot || dot->getBlock() != loop.getBody() || !next.hasOneUse() || storedBy(dot) != next)
      continue;
    auto isAccumulator = [&](OpOperand &use) {
      return use.getOwner() == dot && use.getOperandNumber() == dot.getAccumulatorMutable().getOperandNumber();
    };
    if (onlyFeeds(argument, isAccumulator, *this))
      overwritten[dot] = argument;
  }
}

// if (c) { x } else { f(x) }: the result may overwrite x when all uses of x are in here.
void Plan::findOverwrites(scf::IfOp branch) {
  for (OpResult result : branch->getResults()) {
    if (!tileType(result) || branch.getElseRegion().empty())
      continue;
    unsigned i = result.getResultNumber();
    Value yields[] = {branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)};
    for (Value candidate : yields) {
      Operation *definition = candidate.getDefiningOp();
      if (!isBuffered(candidate) || !definition || definition->getBlock() != branch->getBlock() ||
          llvm::is_contained(overwrittenByTile, std::pair(Value(result), candidate)))
        continue;
      bool inside = llvm::all_of(candidate.getUsers(), [&](Operation *user) { return branch->isProperAncestor(user); });
      auto isYield = [&](OpOperand &use) {
        return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getParentOp() == branch &&
               use.getOperandNumber() == i;
      };
      bool taken = llvm::any_of(overwrittenByTile, [&](auto &entry) { return entry.second == candidate; });
      if (inside && !taken && onlyFeeds(candidate, isYield, *this)) {
        overwrittenByTile[result] = candidate;
        break;
      }
    }
  }
}

namespace {
/// Whether every statement that reads `tile`, directly or through inline tiles, stands at or before `last` in its
/// block.
bool isReadUntil(Value tile, Operation *last, const Plan &plan) {
  return llvm::all_of(tile.getUsers(), [&](Operation *user) {
    if (user == last)
      return true;
    bool isInline = user->getNumRegions() == 0 && user->getNumResults() > 0 && tileType(user->getResult(0)) &&
                    !isa<LoadOp, ReduceOp, DotOp>(user) &&
                    llvm::none_of(user->getResults(), [&](Value result) { return plan.isBuffered(result); });
    if (isInline && !plan.isAbsorbed(user))
      return llvm::all_of(user->getResults(), [&](Value result) { return isReadUntil(result, last, plan); });
    return user->getBlock() == last->getBlock() && user->isBeforeInBlock(last);
  });
}
} // namespace

/// The buffered tile made in the same block that `tile` reads position by position, and that nobody reads after `by`.
Value Plan::lastReadHere(Value tile, Value by) const {
  Operation *op = tile.getDefiningOp(), *last = by.getDefiningOp();
  if (!op || op->getBlock() != last->getBlock() || tileType(tile).getShape() != tileType(by).getShape())
    return {};
  if (isBuffered(tile) && tile != by) {
    bool isComputed = isa<scf::IfOp, DotOp>(op) || isElementwise(op);
    bool taken = llvm::any_of(overwrittenByTile, [&](auto &entry) { return entry.second == tile; });
    return isComputed && !taken && isReadUntil(tile, last, *this) ? tile : Value();
  }
  if (!isElementwise(op))
    return {};
  for (Value operand : op->getOperands())
    if (tileType(operand))
      if (Value found = lastReadHere(operand, by))
        return found;
  return {};
}

// p = f(s): p may overwrite s when this is the last that is read of it.
void Plan::findOverwrites(Operation *definition) {
  if (!isElementwise(definition) || definition->getNumResults() != 1 || isAbsorbed(definition) ||
      !isBuffered(definition->getResult(0)))
    return;
  Value tile = definition->getResult(0);
  if (Value overwrites = lastReadHere(tile, tile))
    overwrittenByTile[tile] = overwrites;
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
  return vectors.matrixUnit && tileType(dot.getA()).getElementType().isBF16() &&
         tileType(dot.getB()).getElementType().isBF16() && a[0] % 16 == 0 && b[1] % 16 == 0;
}

bool Plan::isPacked(LoadOp load) const {
  if (!vectors.matrixUnit || !tileType(load).getElementType().isBF16() || tileType(load).getRank() != 2 ||
      load.getPaddingAttr() || load->use_empty())
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
