#include "compiler/transforms/LayoutChoice.h"

#include "compiler/ir/LayoutConversion.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

//===-- products --------------------------------------------------------------------------------------------------===//

/// The type in which matrix instructions multiply two types exactly, or null.
static Type mmaElement(Type a, Type b, const MatrixMachine &machine) {
  MLIRContext *context = a.getContext();
  auto isF8 = [](Type type) { return isa<Float8E4M3FNType, Float8E5M2Type>(type); };
  auto fits16 = [&](auto isWanted) { return (isWanted(a) || isF8(a)) && (isWanted(b) || isF8(b)); };
  if (fits16([](Type type) { return type.isF16(); })) // also two f8: f16 holds both
    return Float16Type::get(context);
  if (!machine.amd && machine.sm < 80)
    return {};
  if (fits16([](Type type) { return type.isBF16(); }))
    return BFloat16Type::get(context);
  return machine.amd ? Type() : Float32Type::get(context); // as three products of tf32
}

/// The smallest power of two that is not below `count`, at most `limit`, itself one.
static int64_t powerOfTwoFor(int64_t count, int64_t limit) {
  return std::min<int64_t>(limit, llvm::PowerOf2Ceil(static_cast<uint64_t>(count)));
}

/// Whether a tensor is made of the results of products, element by element. Some have their layouts already.
static bool isOfProducts(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<DotOp, BlockDotOp>(op))
    return op != nullptr;
  return (isElementwise(op) || isa<ConvertOp>(op)) && llvm::any_of(op->getOperands(), [](Value operand) {
           return isa<RankedTensorType>(operand.getType()) && isOfProducts(operand);
         });
}

static ProductPlan planAmdProduct(DotOp dot, Type element, int64_t warps, AmdUnit unit) {
  ArrayRef<int64_t> shape = dot.getResult().getType().getShape();
  const int64_t tile = amdTile(unit);
  WarpGrid grid;
  grid.m = powerOfTwoFor(llvm::divideCeil(shape[0], tile), warps);
  grid.n = powerOfTwoFor(llvm::divideCeil(shape[1], tile), warps / grid.m);
  return {unit == AmdUnit::mfma ? DotKind::mfma : DotKind::wmma, element, grid,
          amdAccumulator(unit, shape, grid, warps),
          isOfProducts(dot.getA()) ? DepthOrder::asAccumulator : DepthOrder::wide};
}

ProductPlan sectile::planProduct(DotOp dot, int64_t warps, const MatrixMachine &machine) {
  ArrayRef<int64_t> shape = dot.getResult().getType().getShape();
  Type element = mmaElement(dot.getA().getType().getElementType(), dot.getB().getType().getElementType(), machine);
  if (!element)
    return {DotKind::fma, {}, {}, Layout::blocked(shape, warps, shape[1] % 4 == 0 ? 4 : 1, machine.lanes())};
  if (machine.amd)
    return planAmdProduct(dot, element, warps, *machine.amd);
  // Warps along m first: a row's maximum and sum then stay in one warp.
  WarpGrid grid;
  grid.m = powerOfTwoFor(llvm::divideCeil(shape[0], 16), warps);
  grid.n = powerOfTwoFor(llvm::divideCeil(shape[1], 8), warps / grid.m);
  return {DotKind::mma, element, grid, accumulatorLayout(shape, grid, warps)};
}

//===-- kinds of values -------------------------------------------------------------------------------------------===//

bool sectile::isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() || isa<CastOp>(op); // select, arith, math
}

static bool isTensor(Value value) { return isa<RankedTensorType>(value.getType()); }

static bool isMoving(Operation *op) {
  if (auto cast = dyn_cast<CastOp>(op))
    return getElementTypeOrSelf(cast.getSource().getType()).getIntOrFloatBitWidth() <
           getElementTypeOrSelf(cast.getType()).getIntOrFloatBitWidth();
  return isa<BroadcastOp, TransposeOp, ReshapeOp>(op);
}

bool LayoutChoice::isMoved(Value tensor) const {
  Operation *op = tensor.getDefiningOp();
  return op && isMoving(op) && !isRecomputed(tensor);
}

std::optional<Layout> sectile::sourceLayout(Operation *moving, const Layout &result) {
  return llvm::TypeSwitch<Operation *, std::optional<Layout>>(moving)
      .Case([&](BroadcastOp broadcast) {
        SmallVector<int64_t> stretched;
        RankedTensorType from = broadcast.getSource().getType(), to = broadcast.getType();
        for (int64_t d = 0; d < to.getRank(); ++d)
          if (from.getDimSize(d) != to.getDimSize(d))
            stretched.push_back(d);
        return result.sliced(stretched);
      })
      .Case([&](TransposeOp transpose) {
        SmallVector<int64_t> inverse(transpose.getOrder().size());
        for (auto [i, from] : llvm::enumerate(transpose.getOrder()))
          inverse[from] = static_cast<int64_t>(i);
        return result.transposed(inverse);
      })
      .Case([&](ReshapeOp reshape) { return result.reshaped(reshape.getSource().getType().getShape()); })
      .Default([&](Operation *) { return std::optional(result); });
}

//===-- classes ---------------------------------------------------------------------------------------------------===//

LayoutChoice::LayoutChoice(Operation *kernel, int64_t warps, const MatrixMachine &machine)
    : warps(warps), lanes(machine.lanes()) {
  // 1. Kinds and classes.
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    const bool ofScalars = isa<arith::ConstantOp, SplatOp, IotaOp>(op) || isElementwise(op) || isMoving(op);
    const bool recompute = ofScalars && llvm::all_of(op->getOperands(), [&](Value operand) {
                             return !isTensor(operand) || isRecomputed(operand);
                           });
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (Value argument : llvm::make_filter_range(loop.getRegionIterArgs(), isTensor))
        anchored.push_back(argument);
    for (Value result : llvm::make_filter_range(op->getResults(), isTensor)) {
      if (recompute)
        recomputed.insert(result);
      else if (!isMoved(result))
        anchored.push_back(result);
    }
  });
  for (Value value : anchored)
    classes.insert(value.getAsOpaquePointer());
  kernel->walk([&](Operation *op) { collect(op); });

  // 2. Products choose.
  kernel->walk<WalkOrder::PreOrder>([&](DotOp dot) {
    assign(dot.getResult(), planProduct(dot, warps, machine).accumulator);
    propagate();
  });

  // 3. The others, large ones first.
  SmallVector<std::pair<int64_t, size_t>> others; // less the number of elements, place in the program
  for (auto [i, value] : llvm::enumerate(anchored))
    others.emplace_back(-cast<RankedTensorType>(value.getType()).getNumElements(), i);
  llvm::sort(others);
  for (auto [size, i] : others) {
    Value value = anchored[i];
    if (layouts.contains(classes.getLeaderValue(value.getAsOpaquePointer())))
      continue;
    std::optional<Layout> layout = fromOperands(value);
    assign(value, layout ? *layout : blocked(cast<RankedTensorType>(value.getType()), vectorBytes(value)));
    propagate();
  }
}

void LayoutChoice::collect(Operation *op) {
  if (isElementwise(op)) {
    for (Value result : op->getResults())
      for (Value operand : op->getOperands())
        meet(result, operand);
  } else if (auto dot = dyn_cast<DotOp>(op)) {
    meet(dot.getResult(), dot.getAccumulator());
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [result, argument, init, yielded] :
         llvm::zip_equal(loop.getResults(), loop.getRegionIterArgs(), loop.getInitArgs(), loop.getYieldedValues()))
      for (Value other : {Value(argument), Value(init), Value(yielded)})
        meet(result, other);
  } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && branch.getNumResults() != 0) {
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
      for (auto [result, yielded] : llvm::zip_equal(branch.getResults(), yield.getOperands()))
        meet(result, yielded);
  }
}

void LayoutChoice::meet(Value a, Value b) {
  if (!isTensor(a) || !isTensor(b))
    return;
  if (isAnchored(a) && isAnchored(b))
    classes.unionSets(a.getAsOpaquePointer(), b.getAsOpaquePointer());
  else if (isAnchored(a) && isMoved(b))
    moved[a].push_back(b);
}

//===-- layouts ---------------------------------------------------------------------------------------------------===//

void LayoutChoice::assign(Value member, const Layout &layout) {
  Id leader = classes.getLeaderValue(member.getAsOpaquePointer());
  if (layouts.try_emplace(leader, layout).second)
    pending.push_back(leader);
}

void LayoutChoice::demand(Value tensor, const Layout &layout) {
  if (isRecomputed(tensor))
    return;
  if (isAnchored(tensor))
    return assign(tensor, layout);
  Operation *moving = tensor.getDefiningOp();
  if (std::optional<Layout> source = sourceLayout(moving, layout))
    demand(moving->getOperand(0), *source);
}

void LayoutChoice::propagate() {
  while (!pending.empty()) {
    Id leader = pending.front();
    pending.pop_front();
    const Layout layout = layouts.find(leader)->second;
    for (Id id : classes.members(leader)) {
      Value member = Value::getFromOpaquePointer(id);
      for (Value other : moved.lookup(member))
        demand(other, layout);
      for (Operation *user : member.getUsers())
        if (auto reduce = dyn_cast<ReduceOp>(user))
          assign(reduce.getResult(), layout.reduced(reduce.getAxis(), reduce.getParts()));
    }
  }
}

std::optional<Layout> LayoutChoice::layoutOfOrigin(Value tensor) const {
  if (cast<RankedTensorType>(tensor.getType()).getEncoding())
    return layoutOf(tensor);
  if (isRecomputed(tensor))
    return {};
  if (isAnchored(tensor)) {
    auto found = layouts.find(classes.getLeaderValue(tensor.getAsOpaquePointer()));
    return found == layouts.end() ? std::nullopt : std::optional(found->second);
  }
  Operation *moving = tensor.getDefiningOp();
  std::optional<Layout> source = layoutOfOrigin(moving->getOperand(0));
  if (!source || isa<BroadcastOp>(moving))
    return {};
  if (auto transpose = dyn_cast<TransposeOp>(moving))
    return source->transposed(transpose.getOrder());
  return source->reshaped(cast<RankedTensorType>(tensor.getType()).getShape());
}

std::optional<Layout> LayoutChoice::fromOperands(Value member) const {
  for (Id id : classes.members(classes.getLeaderValue(member.getAsOpaquePointer())))
    for (Value other : moved.lookup(Value::getFromOpaquePointer(id)))
      if (std::optional<Layout> layout = layoutOfOrigin(other))
        return layout;
  return {};
}

/// What one access of a view can take: a vector where neighbours are neighbours in memory.
static int64_t accessBytes(TypedValue<ViewType> view) {
  auto argument = cast<BlockArgument>(view);
  auto kernel = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  return kernel.getArgAttr(argument.getArgNumber(), "tile.unit_stride") ? 16 : 1;
}

int64_t LayoutChoice::vectorBytes(Value member) const {
  int64_t bytes = 1; // as few as in a class that never meets memory
  for (Id id : classes.members(classes.getLeaderValue(member.getAsOpaquePointer()))) {
    Value value = Value::getFromOpaquePointer(id);
    if (auto load = value.getDefiningOp<LoadOp>())
      bytes = std::max(bytes, accessBytes(load.getView()));
    for (Operation *user : value.getUsers())
      if (auto store = dyn_cast<StoreOp>(user))
        bytes = std::max(bytes, accessBytes(store.getView()));
  }
  return bytes;
}

Layout LayoutChoice::of(Value tensor) const {
  std::optional<Layout> layout = layoutOfOrigin(tensor);
  return layout ? *layout : blocked(cast<RankedTensorType>(tensor.getType()));
}

Layout LayoutChoice::blocked(RankedTensorType type, int64_t vectorBytes) const {
  const int64_t bytes = (type.getElementTypeBitWidth() + 7) / 8, last = type.getShape().back();
  const int64_t perThread = std::max<int64_t>(1, type.getNumElements() / (lanes * warps));
  int64_t vector = std::max<int64_t>(1, vectorBytes / bytes);
  // Whole vectors, and something to do for every thread.
  vector = std::min<int64_t>(vector, last & -last);
  vector = std::min<int64_t>(vector, llvm::bit_floor(static_cast<uint64_t>(perThread)));
  return Layout::blocked(type.getShape(), warps, vector, lanes);
}

/// Lanes that hold neighbours of a vector give them away, and get vectors of their own: a bit of the lane and one of
/// the register change places.
///
///     accumulators of 16 bits    register = [[0,1],[8,0]], lane = [[0,2],[0,4],[1,0],…]    4 bytes, a row in 4 lanes
///     for vectors of 16 bytes    register = [[0,1],[0,2],[0,4],[8,0]], lane = [[0,8],[0,16],[1,0],…]
static std::optional<Layout> withVectors(const Layout &layout, int64_t vector) {
  const size_t last = layout.rank() - 1;
  const int64_t width = layout.vectorWidth();
  int64_t size = layout.atomSize(last);
  if (width >= vector || size == width || layout.shape()[last] % (size * (vector / width)) != 0)
    return {};
  SmallVector<Coordinates> registers(layout.registerBits()), lanes(layout.laneBits());
  auto place = registers.begin() + llvm::Log2_64(static_cast<uint64_t>(width));
  for (int64_t step = width; step < vector; step *= 2, size *= 2) {
    auto *lane = llvm::find_if(lanes, [&](const Coordinates &basis) { return basis[last] == step; });
    if (lane == lanes.end())
      return {};
    place = registers.insert(place, *lane) + 1;
    (*lane)[last] = size;
  }
  return Layout(registers, lanes, layout.warpBits(), layout.shape());
}

Layout LayoutChoice::stored(StoreOp store) const {
  const Layout layout = of(store.getValue());
  const int64_t bytes = (store.getValue().getType().getElementTypeBitWidth() + 7) / 8;
  if (isRecomputed(store.getValue()) || accessBytes(store.getView()) / bytes <= 1)
    return layout;
  std::optional<Layout> vectors = withVectors(layout, accessBytes(store.getView()) / bytes);
  return vectors && conversion(layout, *vectors).exchange ? *vectors : layout;
}

Layout LayoutChoice::replicated(ArrayRef<int64_t> shape) const {
  const Coordinates nothing(shape.size(), 0);
  return {{},
          SmallVector<Coordinates>(llvm::Log2_64(static_cast<uint64_t>(lanes)), nothing),
          SmallVector<Coordinates>(llvm::Log2_64(static_cast<uint64_t>(warps)), nothing),
          shape};
}
