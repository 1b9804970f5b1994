// The block kernel and operations on its tensors: syntax, verifiers and folders.
#include "compiler/ir/AmdFragments.h"
#include "compiler/ir/Block.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace sectile::ir;

//===-- kernel ----------------------------------------------------------------------------------------------------===//

ParseResult BlockKernelOp::parse(OpAsmParser &parser, OperationState &result) {
  auto build = [](Builder &b, ArrayRef<Type> arguments, ArrayRef<Type> results, function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(arguments, results); };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false,
                                                  getFunctionTypeAttrName(result.name), build,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void BlockKernelOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(),
                                           getArgAttrsAttrName(), getResAttrsAttrName());
}

/// That a tensor is held by the warps of the kernel.
static LogicalResult verifyTensor(Operation *op, Type type, int64_t warps, int64_t lanes) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  auto layout = dyn_cast_or_null<LayoutAttr>(tensor.getEncoding());
  if (!layout)
    return op->emitOpError("needs a layout for each tensor, got ") << tensor;
  if (layout.warpCount() != warps)
    return op->emitOpError("is run by ") << warps << " warps, got a tensor that is held by " << layout.warpCount()
                                         << ": " << tensor;
  if (layout.laneCount() != lanes)
    return op->emitOpError("is run by warps of ")
           << lanes << " lanes, got a tensor that is held by " << layout.laneCount() << ": " << tensor;
  return success();
}

/// How many warps run an operation: the kernel's, or those of a role.
static int64_t warpsOf(Operation *op, int64_t all) {
  for (Region *region = op->getParentRegion(); region && !isa<BlockKernelOp>(region->getParentOp());
       region = region->getParentRegion())
    if (auto roles = dyn_cast<SpecializeOp>(region->getParentOp()))
      return roles.getWarps()[region->getRegionNumber()];
  return all;
}

LogicalResult BlockKernelOp::verifyRegions() {
  const int64_t warps = static_cast<int32_t>(getWarps());
  const bool hasRoles = !getBody().getOps<SpecializeOp>().empty(); // which share them out
  if (warps < 1 || warps > 32 || (!llvm::isPowerOf2_64(warps) && !hasRoles))
    return emitOpError("has 1, 2, 4, 8, 16 or 32 warps, got ") << warps;
  const int64_t lanes = static_cast<int32_t>(getLanes());
  if (lanes != 32 && lanes != 64)
    return emitOpError("has warps of 32 or 64 lanes, got ") << lanes;
  if (failed(verifyKernelArguments(*this)))
    return failure();
  if (!isa<BlockReturnOp>(getBody().front().back()))
    return emitOpError("ends with block.return");
  WalkResult result = getBody().walk([&](Operation *op) {
    const int64_t own = warpsOf(op, warps);
    for (Type type : op->getResultTypes())
      if (failed(verifyTensor(op, type, own, lanes)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (failed(verifyTensor(op, argument.getType(), own, lanes)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===-- convert ---------------------------------------------------------------------------------------------------===//

LogicalResult ConvertOp::verify() {
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  if (source.getShape() != result.getShape() || source.getElementType() != result.getElementType())
    return emitOpError("keeps shape and element type, got ") << source << " to " << result;
  return success();
}

OpFoldResult ConvertOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<ConvertOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return splat.resizeSplat(getResult().getType());
  return {};
}

//===-- dot -------------------------------------------------------------------------------------------------------===//

/// Rows and columns of an operand as it is multiplied.
static std::pair<int64_t, int64_t> operandShape(Type type, bool transposed) {
  ArrayRef<int64_t> shape;
  if (auto buffer = dyn_cast<SharedType>(type))
    shape = buffer.getShape().take_back(2);
  else
    shape = cast<RankedTensorType>(type).getShape();
  return transposed ? std::pair(shape[1], shape[0]) : std::pair(shape[0], shape[1]);
}

static LogicalResult verifyMma(BlockDotOp dot) {
  auto a = dyn_cast<RankedTensorType>(dot.getA().getType()), b = dyn_cast<RankedTensorType>(dot.getB().getType());
  if (!a || !b)
    return dot.emitOpError("mma multiplies tensors, got ") << dot.getA().getType() << " x " << dot.getB().getType();
  Type element = a.getElementType();
  if (element != b.getElementType())
    return dot.emitOpError("mma multiplies operands of one type, got ") << a << " x " << b;
  std::optional<WarpGrid> grid = warpGridOf(layoutOf(dot.getAccumulator()));
  if (!grid)
    return dot.emitOpError("mma needs an accumulator in the layout of mma.sync, got ")
           << dot.getAccumulator().getType();
  const int bits = static_cast<int>(element.getIntOrFloatBitWidth());
  const int64_t warps = layoutOf(dot.getAccumulator()).warps();
  auto check = [&](StringRef name, RankedTensorType type, const Layout &expected) -> LogicalResult {
    if (layoutOf(type) == expected)
      return success();
    return dot.emitOpError("mma needs operand ") << name << " as " << withLayout(type, expected) << ", got " << type;
  };
  if (failed(check("A", a, operandALayout(a.getShape(), bits, *grid, warps))))
    return failure();
  return check("B", b, operandBLayout(b.getShape(), bits, *grid, warps));
}

static LogicalResult verifyAmd(BlockDotOp dot) {
  auto a = dyn_cast<RankedTensorType>(dot.getA().getType()), b = dyn_cast<RankedTensorType>(dot.getB().getType());
  const StringRef name = stringifyDotKind(dot.getKind());
  if (!a || !b)
    return dot.emitOpError() << name << " multiplies tensors, got " << dot.getA().getType() << " x "
                             << dot.getB().getType();
  Type element = a.getElementType();
  if (element != b.getElementType() || !(element.isF16() || element.isBF16()))
    return dot.emitOpError() << name << " multiplies two f16 or two bf16, got " << a << " x " << b;
  const Layout accumulator = layoutOf(dot.getAccumulator());
  std::optional<AmdProduct> product = amdProductOf(accumulator);
  if (!product || (product->unit == AmdUnit::mfma) != (dot.getKind() == DotKind::mfma))
    return dot.emitOpError() << name << " needs an accumulator in its layout, got " << dot.getAccumulator().getType();
  for (DepthOrder order : {DepthOrder::wide, DepthOrder::asAccumulator})
    if (layoutOf(a) == amdOperandA(product->unit, order, a.getShape(), product->grid, accumulator.warps()) &&
        layoutOf(b) == amdOperandB(product->unit, order, b.getShape(), product->grid, accumulator.warps()))
      return success();
  return dot.emitOpError() << name << " needs operands in its layouts and one order of k, got " << a << " x " << b;
}

static LogicalResult verifyWgmma(BlockDotOp dot) {
  RankedTensorType type = dot.getAccumulator().getType();
  if (isa<SharedType>(dot.getA().getType()))
    return dot.emitOpError("wgmma multiplies tensors before they are staged, got ") << dot.getA().getType();
  const int64_t groups = layoutOf(type).warps() / 4;
  if (groups == 0 || type.getShape()[0] != 64 * groups)
    return dot.emitOpError("wgmma has 64 rows for each group of four warps, got ")
           << layoutOf(type).warps() << " warps: " << type;
  if (const Layout expected = wgmmaAccumulator(type.getShape(), groups); layoutOf(type) != expected)
    return dot.emitOpError("wgmma needs the accumulator as ") << withLayout(type, expected) << ", got " << type;
  return success();
}

LogicalResult BlockDotOp::verify() {
  auto elementOf = [](Type type) {
    auto buffer = dyn_cast<SharedType>(type);
    return buffer ? buffer.getElementType() : cast<RankedTensorType>(type).getElementType();
  };
  Type a = getA().getType(), b = getB().getType();
  RankedTensorType accumulator = getAccumulator().getType();
  const bool staged = isa<SharedType>(a);
  if (!isa<FloatType>(elementOf(a)) || !isa<FloatType>(elementOf(b)))
    return emitOpError("multiplies floats, got ") << a << " x " << b;
  for (Type type : {a, b, Type(accumulator)})
    if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && tensor.getRank() != 2)
      return emitOpError("needs operands of rank 2, got ") << tensor;
  for (Type type : {a, b})
    if (auto buffer = dyn_cast<SharedType>(type); buffer && buffer.isRing())
      return emitOpError("reads one stage, got the ring ") << buffer;
  if (staged != isa<SharedType>(b))
    return emitOpError("needs both operands in registers or both in shared memory, got ") << a << " x " << b;
  if (!staged && (getTransposedA() || getTransposedB()))
    return emitOpError("reads only buffers transposed");
  auto [m, k] = operandShape(a, getTransposedA());
  auto [depth, n] = operandShape(b, getTransposedB());
  if (k != depth)
    return emitOpError("needs [m,k] x [k,n], got ") << a << " x " << b;
  if (accumulator.getShape() != ArrayRef<int64_t>{m, n} || !accumulator.getElementType().isF32())
    return emitOpError("needs an accumulator of f32 and shape [") << m << ", " << n << "], got " << accumulator;
  switch (getKind()) {
  case DotKind::mma:
    return verifyMma(*this);
  case DotKind::wgmma:
    return verifyWgmma(*this);
  case DotKind::mfma:
  case DotKind::wmma:
    return verifyAmd(*this);
  case DotKind::fma:
    return success();
  }
  llvm_unreachable("every kind is above");
}

void BlockDotOp::getEffects(SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  for (OpOperand *operand : {&getAMutable(), &getBMutable()})
    if (isa<SharedType>(operand->get().getType()))
      effects.emplace_back(MemoryEffects::Read::get(), operand, SharedMemory::get());
}
