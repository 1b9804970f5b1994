// tile.kernel -> block.kernel: every tensor gets a layout.
//
//   1. LayoutChoice decides for anchored values; their types are changed in place.
//   2. Each anchored operation, in program order, takes its operands in the layouts that it needs. What is recomputed
//      or moved is made anew in every layout that is asked for, where it was defined; anything else is converted there,
//      so outside of the loops that use it, before it is stretched or widened.
//   3. The recomputed and moved operations of the tile kernel are dead then.
#include "compiler/transforms/LayoutChoice.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/WgmmaProducts.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sectile {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

RankedTensorType tensorType(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

bool hasLayout(Value tensor) { return tensorType(tensor).getEncoding() != nullptr; }

class Assignment {
public:
  Assignment(KernelOp kernel, int64_t warps, const MatrixMachine &machine, bool wgmma)
      : kernel(kernel), warps(warps), machine(machine), choice(kernel, warps, machine), builder(kernel.getContext()) {
    if (wgmma)
      byWgmma = wgmmaProducts(kernel, warps);
  }

  LogicalResult run();

private:
  LogicalResult check(Operation *op);
  void setTypes(Operation *op);
  void setLayout(Value tensor, const Layout &layout) { tensor.setType(withLayout(tensorType(tensor), layout)); }
  void rewrite(Operation *op);
  void rewrite(DotOp dot);
  Value operandOf(DotOp dot, Value operand, Type element, const Layout &layout);
  /// The operand in this layout.
  void require(OpOperand &operand, const Layout &layout) { operand.set(get(operand.get(), layout)); }
  Value get(Value tensor, const Layout &layout);
  Operation *make(Operation *op, const Layout &layout);

  KernelOp kernel;
  int64_t warps;
  MatrixMachine machine;
  LayoutChoice choice;
  llvm::SmallPtrSet<Operation *, 4> byWgmma; ///< products; their accumulators are those of mma
  OpBuilder builder;
  DenseMap<std::pair<Value, Attribute>, Value> made;
};

LogicalResult Assignment::run() {
  SmallVector<Operation *> operations;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    if (failed(check(op)))
      return failure();
  for (Operation *op : operations)
    setTypes(op);
  // Yields come after what they yield, the operation around them before it: a reduction sets its type on the way.
  for (Operation *&op : operations)
    if (auto dot = dyn_cast<DotOp>(op)) {
      rewrite(dot);
      op = nullptr;
    } else {
      rewrite(op);
    }
  for (Operation *op : llvm::reverse(operations))
    if (op && (isa_and_nonnull<TileDialect, arith::ArithDialect>(op->getDialect()) || isElementwise(op)))
      if (op->use_empty() && llvm::any_of(op->getResults(), [](Value v) { return tensorType(v) && !hasLayout(v); }))
        op->erase();

  // The region moves to a block.kernel.
  builder.setInsertionPoint(kernel);
  auto block = BlockKernelOp::create(builder, kernel.getLoc(), kernel.getSymName(), kernel.getFunctionType(),
                                     kernel.getArgAttrsAttr(), kernel.getResAttrsAttr(), static_cast<uint32_t>(warps),
                                     /*shared_bytes=*/IntegerAttr());
  if (machine.lanes() != 32)
    block.setLanes(static_cast<uint32_t>(machine.lanes()));
  block.getBody().takeBody(kernel.getBody());
  Operation *end = block.getBody().front().getTerminator();
  builder.setInsertionPoint(end);
  BlockReturnOp::create(builder, end->getLoc());
  end->erase();
  kernel.erase();
  return success();
}

LogicalResult Assignment::check(Operation *op) {
  auto isTensor = [](Value value) { return isa<RankedTensorType>(value.getType()); };
  if (llvm::none_of(op->getOperands(), isTensor) && llvm::none_of(op->getResults(), isTensor))
    return success();
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && !isa<SplatElementsAttr>(constant.getValue()))
    return op->emitOpError("has elements that differ: the block level knows constants of equal elements");
  if (isElementwise(op) || isa<arith::ConstantOp, scf::ForOp, scf::IfOp, scf::YieldOp>(op) ||
      isa<TileDialect>(op->getDialect()))
    return success();
  return op->emitOpError("has tensors, but no layouts for them are known; legal: tile, elementwise arith and math, "
                         "scf.for and scf.if");
}

void Assignment::setTypes(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    for (Value argument : loop.getRegionIterArgs())
      if (tensorType(argument))
        setLayout(argument, choice.of(argument));
  for (Value result : op->getResults())
    if (tensorType(result) && choice.isAnchored(result))
      setLayout(result, choice.of(result));
}

void Assignment::rewrite(Operation *op) {
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ReduceOp reduce) {
        const Layout layout = choice.of(reduce.getSource());
        require(reduce.getSourceMutable(), layout);
        setLayout(reduce.getResult(), layout.reduced(reduce.getAxis(), reduce.getParts()));
      })
      .Case([&](AnyOp any) { require(any.getSourceMutable(), choice.of(any.getSource())); })
      .Case([&](StoreOp store) { require(store.getValueMutable(), choice.stored(store)); })
      .Case([&](AtomicAddOp add) { require(add.getValueMutable(), choice.of(add.getValue())); })
      .Case([&](ExtractOp extract) {
        require(extract.getSourceMutable(), choice.replicated(extract.getSource().getType().getShape()));
      })
      .Case([&](scf::ForOp loop) {
        for (auto [init, argument] : llvm::zip_equal(loop.getInitArgsMutable(), loop.getRegionIterArgs()))
          if (tensorType(argument))
            require(init, layoutOf(argument));
      })
      .Case([&](scf::YieldOp yield) {
        for (auto [operand, result] : llvm::zip_equal(yield->getOpOperands(), yield->getParentOp()->getResults()))
          if (tensorType(result))
            require(operand, layoutOf(result));
      })
      .Default([&](Operation *op) {
        if (!isElementwise(op))
          return;
        for (Value result : op->getResults())
          if (tensorType(result) && hasLayout(result))
            for (OpOperand &operand : op->getOpOperands())
              if (tensorType(operand.get()))
                require(operand, layoutOf(result));
      });
}

void Assignment::rewrite(DotOp dot) {
  ProductPlan plan = planProduct(dot, warps, machine);
  ArrayRef<int64_t> a = dot.getA().getType().getShape(), b = dot.getB().getType().getShape();
  Value left, right;
  if (byWgmma.contains(dot)) {
    plan.kind = DotKind::wgmma;
    const int bits = static_cast<int>(plan.element.getIntOrFloatBitWidth());
    left = loadBehind(dot.getA()).first ? get(dot.getA(), choice.of(dot.getA()))
                                        : operandOf(dot, dot.getA(), plan.element, wgmmaOperandA(a, bits, warps / 4));
    right = get(dot.getB(), choice.of(dot.getB()));
  } else if (plan.kind == DotKind::mma) {
    const int bits = static_cast<int>(plan.element.getIntOrFloatBitWidth());
    left = operandOf(dot, dot.getA(), plan.element, operandALayout(a, bits, plan.grid, warps));
    right = operandOf(dot, dot.getB(), plan.element, operandBLayout(b, bits, plan.grid, warps));
  } else if (plan.element) {
    left = operandOf(dot, dot.getA(), plan.element, amdOperandA(*machine.amd, plan.order, a, plan.grid, warps));
    right = operandOf(dot, dot.getB(), plan.element, amdOperandB(*machine.amd, plan.order, b, plan.grid, warps));
  } else {
    left = get(dot.getA(), choice.of(dot.getA()));
    right = get(dot.getB(), choice.of(dot.getB()));
  }
  Value accumulator = get(dot.getAccumulator(), plan.accumulator);
  builder.setInsertionPoint(dot);
  auto product = BlockDotOp::create(builder, dot.getLoc(), accumulator.getType(), plan.kind, left, right, accumulator,
                                    /*transposed_a=*/false, /*transposed_b=*/false);
  dot.replaceAllUsesWith(product.getResult());
  dot.erase();
}

/// Transposes are left to the reads of staged operands. Everything else happens before an operand is staged, so that
/// matrices are read from shared memory as they are multiplied.
Value Assignment::operandOf(DotOp dot, Value operand, Type element, const Layout &layout) {
  RankedTensorType type = tensorType(operand);
  if (choice.isRecomputed(operand) && type.getElementType() == element)
    return get(operand, layout);
  if (auto transpose = operand.getDefiningOp<TransposeOp>(); transpose && !hasLayout(operand)) {
    Value source = operandOf(dot, transpose.getSource(), element, *sourceLayout(transpose, layout));
    builder.setInsertionPointAfterValue(source);
    return TransposeOp::create(builder, transpose.getLoc(), withLayout(type.clone(element), layout), source,
                               transpose.getOrder());
  }
  Value source = get(operand, choice.of(operand));
  if (type.getElementType() != element) {
    builder.setInsertionPointAfterValue(source);
    source = CastOp::create(builder, dot.getLoc(), tensorType(source).clone(element), source);
  }
  return get(source, layout);
}

Value Assignment::get(Value tensor, const Layout &layout) {
  Attribute wanted = LayoutAttr::get(builder.getContext(), layout);
  if (tensorType(tensor).getEncoding() == wanted)
    return tensor;
  if (Value known = made.lookup({tensor, wanted}))
    return known;
  if (hasLayout(tensor)) {
    builder.setInsertionPointAfterValue(tensor);
    Value value = ConvertOp::create(builder, tensor.getLoc(), withLayout(tensorType(tensor), layout), tensor);
    made[{tensor, wanted}] = value;
    return value;
  }
  Operation *op = tensor.getDefiningOp(), *copy = make(op, layout);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), copy->getResults()))
    made[{result, wanted}] = value;
  return made.lookup({tensor, wanted});
}

/// A recomputed or moved operation with its results in this layout.
Operation *Assignment::make(Operation *op, const Layout &layout) {
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(withLayout(tensorType(result), layout));
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    builder.setInsertionPoint(op);
    return arith::ConstantOp::create(
        builder, op->getLoc(),
        cast<SplatElementsAttr>(constant.getValue()).resizeSplat(cast<ShapedType>(types.front())));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!tensorType(operand)) {
      operands.push_back(operand);
      continue;
    }
    std::optional<Layout> source = sourceLayout(op, layout);
    operands.push_back(get(operand, source ? *source : choice.of(operand)));
  }
  builder.setInsertionPoint(op);
  return builder.create(op->getLoc(), op->getName().getIdentifier(), operands, types, op->getAttrs());
}

struct AssignLayouts : sectile::impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    const int32_t count = warps;
    if (count < 1 || count > 32 || !llvm::isPowerOf2_32(static_cast<uint32_t>(count))) {
      getOperation()->emitError("a kernel runs in 1, 2, 4, 8, 16 or 32 warps, got ") << count;
      return signalPassFailure();
    }
    MatrixMachine machine{{}, sm};
    for (auto [name, unit] :
         {std::pair("mfma", AmdUnit::mfma), {"wmma11", AmdUnit::wmma11}, {"wmma12", AmdUnit::wmma12}})
      if (amd == name)
        machine.amd = unit;
    if (!amd.empty() && !machine.amd) {
      getOperation()->emitError("there is no matrix unit '") << amd << "'; legal: mfma, wmma11, wmma12, or none";
      return signalPassFailure();
    }
    SmallVector<KernelOp> kernels;
    getOperation()->walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    for (KernelOp kernel : kernels)
      if (failed(Assignment(kernel, warps, machine, wgmma).run()))
        return signalPassFailure();
  }
};

} // namespace
