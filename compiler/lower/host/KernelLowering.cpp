// The order of statements, scalars, control flow and scratch memory.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

KernelLowering::KernelLowering(KernelOp kernel, const HostVectors &vectors, OpBuilder &builder)
    : kernel(kernel), vectors(vectors), code(builder, kernel.getLoc()), plan(kernel, vectors) {}

FailureOr<func::FuncOp> KernelLowering::run() {
  OpBuilder &builder = code.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  Type pointer = code.pointerType(), i32 = builder.getI32Type();
  auto type = builder.getFunctionType({pointer, i32, i32, i32, pointer}, {});
  auto function = func::FuncOp::create(builder, code.loc, kernel.getSymName(), type);
  function.setArgAttr(0, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  function.setArgAttr(4, LLVM::LLVMDialect::getNoAliasAttrName(), builder.getUnitAttr());
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  arguments = entry->getArgument(0);
  program.assign({entry->getArgument(1), entry->getArgument(2), entry->getArgument(3)});
  scratch = entry->getArgument(4);

  unpackArguments();
  staging = allocate({vectors.lanes}, builder.getF32Type(), 0);
  if (failed(lower(kernel.getBody().front())))
    return failure();
  func::ReturnOp::create(builder, code.loc);
  function->setAttr("sectile.scratch_bytes", builder.getI64IntegerAttr(scratchBytes));
  return function;
}

// Words of 64 bits, in order: a view's address, sizes and strides; a scalar's bits (compiler/Compiler.h, HostEntry).
void KernelLowering::unpackArguments() {
  int64_t word = 0;
  Type i64 = code.builder.getI64Type();
  auto next = [&](Type type) { return code.load(type, code.address(arguments, Index(word++), 8)); };
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = dyn_cast<ViewType>(argument.getType());
    if (!type) {
      scalars[argument] = next(argument.getType());
      continue;
    }
    ViewArgument &view = views[argument];
    view.type = type.getElementType();
    view.unitStride = kernel.getArgAttr(argument.getArgNumber(), "tile.unit_stride") != nullptr;
    view.pointer = next(code.pointerType());
    for (int64_t i = 0; i < type.getRank(); ++i)
      view.sizes.push_back(next(i64));
    for (int64_t i = 0; i < type.getRank(); ++i)
      view.strides.push_back(next(i64));
  }
}

Code::Values KernelLowering::scalarsOf(ValueRange values) {
  return llvm::map_to_vector<4>(values, [&](Value value) { return scalars.lookup(value); });
}

Buffer Buffer::transposed() const {
  Buffer result = *this;
  std::swap(result.shape[0], result.shape[1]);
  std::swap(result.strides[0], result.strides[1]);
  result.lane = 1 - lane;
  return result;
}

// Rows of whole vectors, one vector of slack at the end for tiles that are read along a dimension of size 1. A tile of
// one vector a row is in panels anyway.
Buffer KernelLowering::allocate(Shape shape, Type element, int lane, Form form) {
  constexpr int64_t cacheLine = 64;
  Buffer buffer;
  buffer.type = element;
  buffer.lane = lane;
  buffer.shape.assign(shape.begin(), shape.end());
  buffer.strides.assign(shape.size(), 0);
  buffer.offset = scratchBytes;
  if (form == Form::panels && shape.size() == 2 && shape[lane] > vectors.lanes && shape[1 - lane] > 1) {
    buffer.panels = true;
    buffer.strides[lane] = shape[1 - lane];
    buffer.strides[1 - lane] = vectors.lanes;
    scratchBytes += llvm::alignTo(llvm::alignTo(shape[lane], vectors.lanes) * shape[1 - lane] * 4, cacheLine);
    return buffer;
  }
  int64_t pitch = 1;
  auto place = [&](int64_t dim, int64_t size) {
    buffer.strides[dim] = shape[dim] == 1 ? 0 : pitch;
    pitch *= size;
  };
  // Rows whose pitch is a large power of two would share a few sets of the L1 cache.
  int64_t row = llvm::alignTo(shape[lane], vectors.lanes);
  bool crowded = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>()) > row && row % 64 == 0;
  place(lane, crowded ? row + vectors.lanes : row);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 1; dim >= 0; --dim)
    if (dim != lane)
      place(dim, shape[dim]);
  scratchBytes += llvm::alignTo((pitch + vectors.lanes) * 4, cacheLine);
  return buffer;
}

Buffer KernelLowering::bufferFor(Value tile) {
  RankedTensorType type = tileType(tile);
  Buffer buffer = allocate(type.getShape(), type.getElementType(), plan.laneOf(tile));
  buffers[tile] = buffer;
  return buffer;
}

LogicalResult KernelLowering::lower(Block &block) {
  for (Operation &op : block)
    if (failed(lower(&op)))
      return failure();
  return success();
}

LogicalResult KernelLowering::lower(Operation *op) {
  code.loc = op->getLoc();
  turnedBuffers.clear();
  auto done = [](auto) { return success(); };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LoadOp, StoreOp, AtomicAddOp, DotOp>([&](auto statement) {
        lower(statement);
        return success();
      })
      .Case([&](ReduceOp reduce) {
        if (!reduced.contains(reduce))
          lower(reduce);
        return success();
      })
      .Case<scf::ForOp, scf::IfOp>([&](auto control) { return lower(control); })
      .Case<scf::YieldOp, ReturnOp>(done) // by whoever lowers the region
      .Case([&](ReshapeOp reshape) {
        if (plan.isBuffered(reshape) && !unitReshape(reshape))
          lower(reshape);
        else if (plan.isBuffered(reshape))
          define(reshape);
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (op->getNumResults() == 0)
          return op->emitError("has no lowering to the host");
        if (!tileType(op->getResult(0)))
          return lowerScalar(op);
        if (auto constant = dyn_cast<arith::ConstantOp>(op);
            constant && !cast<DenseElementsAttr>(constant.getValue()).isSplat())
          return op->emitError("has no lowering to the host: only constant tiles of one value do");
        for (OpResult result : op->getResults())
          if (plan.isBuffered(result) && !plan.isAbsorbed(op))
            define(result);
        return success();
      });
}

// The tile counts as buffered only once it is complete: until then it is evaluated from its operands. A reduction of
// it is done in the same loop.
void KernelLowering::define(Value tile) {
  RankedTensorType type = tileType(tile);
  int lane = plan.laneOf(tile);
  Value overwritten = plan.overwrittenBy(tile);
  Buffer to = overwritten && buffers.lookup(overwritten).lane == lane
                  ? buffers.lookup(overwritten)
                  : allocate(type.getShape(), type.getElementType(), lane);
  to.type = type.getElementType();
  Operation *op = tile.getDefiningOp();
  auto reduce = llvm::find_if(tile.getUsers(), [&](Operation *user) {
    return isa<ReduceOp>(user) && user->getBlock() == op->getBlock() && isElementwise(op);
  });
  if (reduce != tile.getUsers().end()) {
    lower(cast<ReduceOp>(*reduce), &to);
    reduced.insert(*reduce);
  } else {
    materialize(tile, to);
  }
  buffers[tile] = to;
}

LogicalResult KernelLowering::lowerScalar(Operation *op) {
  if (auto program = dyn_cast<ProgramOp>(op)) {
    scalars[program] = this->program[program.getAxis()];
  } else if (auto dim = dyn_cast<DimOp>(op)) {
    scalars[dim] = code.narrow(views.find(dim.getView())->second.sizes[dim.getAxis()]);
  } else if (auto extract = dyn_cast<ExtractOp>(op)) {
    Position at{SmallVector<Index>(tileType(extract.getSource()).getRank(), Index(0)), -1};
    Known known;
    scalars[extract] = evaluate(extract.getSource(), at, known);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    scalars[constant] = constantAt(constant.getType(), constant.getValue(), Position());
  } else if (auto cast = dyn_cast<CastOp>(op)) {
    scalars[cast] = convert(cast, scalars.lookup(cast.getSource()));
  } else if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect())) {
    Values operands = scalarsOf(op->getOperands());
    Known known;
    for (OpResult result : op->getResults())
      scalars[result] =
          known.contains(result) ? known.lookup(result) : compute(op, operands, result.getResultNumber(), known);
  } else {
    return op->emitError("has no lowering to the host");
  }
  return success();
}
