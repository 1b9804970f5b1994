// Rings that are handed to and fro, matrix products in flight and roles: verifiers.
#include "compiler/ir/Block.h"

using namespace mlir;
using namespace sectile::ir;

//===-- rings -----------------------------------------------------------------------------------------------------===//

static LogicalResult verifyRing(Operation *op, SharedType ring) {
  if (!ring.isRing())
    return op->emitOpError("needs a ring (stages, rows, columns), got ") << ring;
  return success();
}

LogicalResult AcquireOp::verify() { return verifyRing(*this, getRing().getType()); }

LogicalResult ReleaseOp::verify() { return verifyRing(*this, getRing().getType()); }

LogicalResult WaitFullOp::verify() {
  SharedType ring = getRing().getType();
  if (failed(verifyRing(*this, ring)))
    return failure();
  if (getStage().getType() != ring.stage())
    return emitOpError("makes ") << ring.stage() << " of " << ring << ", got " << getStage().getType();
  return success();
}

LogicalResult CopyBulkOp::verify() {
  constexpr int64_t mostRows = 256, mostRowBytes = 128;
  ViewType view = getView().getType();
  SharedType ring = getRing().getType();
  if (failed(verifyRing(*this, ring)))
    return failure();
  if (static_cast<int64_t>(getIndices().size()) != view.getRank())
    return emitOpError("needs one index for each of the ")
           << view.getRank() << " dimensions, got " << getIndices().size();
  if (view.getRank() < 2)
    return emitOpError("copies rows and columns, got a view of rank ") << view.getRank();
  if (ring.getElementType() != view.getElementType())
    return emitOpError("needs the view's element type ") << view.getElementType() << ", got " << ring;
  if (ring.getRows() > mostRows)
    return emitOpError("copies boxes of up to ") << mostRows << " rows, got " << ring.getRows() << ": " << ring;
  const int64_t bytes = ring.getColumns() * ring.elementBytes();
  if (bytes % 16 != 0 || ring.getUnit() != 16)
    return emitOpError("copies rows of multiples of 16 bytes, swizzled in units of 16, got ")
           << bytes << " bytes and units of " << ring.getUnit() << ": " << ring;
  if (ring.getSpan() > 1 && bytes > mostRowBytes)
    return emitOpError("swizzles rows of up to ") << mostRowBytes << " bytes, got " << bytes << ": " << ring;
  auto argument = dyn_cast<BlockArgument>(getView());
  auto kernel = argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : FunctionOpInterface();
  for (StringRef fact : {"tile.unit_stride", "tile.aligned16"})
    if (!kernel || !kernel.getArgAttr(argument.getArgNumber(), fact))
      return emitOpError("needs a view with ") << fact;
  return success();
}

//===-- products in flight ----------------------------------------------------------------------------------------===//

LogicalResult DotAsyncOp::verify() {
  RankedTensorType accumulator = getAccumulator().getType();
  SharedType b = getB().getType();
  const int64_t m = accumulator.getShape()[0], n = accumulator.getShape()[1];
  const Layout held = layoutOf(accumulator);

  // 1. The accumulator.
  if (!accumulator.getElementType().isF32())
    return emitOpError("accumulates in f32, got ") << accumulator;
  if (held.warps() % 4 != 0)
    return emitOpError("is done by groups of 4 warps, got ") << held.warps() << " warps: " << accumulator;
  const int64_t groups = held.warps() / 4;
  if (m % (64 * groups) != 0 || n % 8 != 0)
    return emitOpError("has 64 rows for each of the ")
           << groups << " groups of warps and columns in multiples of 8, got " << accumulator;
  if (const Layout expected = wgmmaAccumulator(accumulator.getShape(), groups); held != expected)
    return emitOpError("needs the accumulator as ") << withLayout(accumulator, expected) << ", got " << accumulator;

  // 2. B, and with it k.
  const int bits = static_cast<int>(8 * b.elementBytes());
  if (b.isRing())
    return emitOpError("needs one stage of a ring, got ") << b;
  const int64_t k = getTransposedB() ? b.getColumns() : b.getRows(),
                columns = getTransposedB() ? b.getRows() : b.getColumns();
  if (columns != n || k % (256 / bits) != 0)
    return emitOpError("needs B of ") << n << " columns and of rows in multiples of " << 256 / bits << ", got "
                                      << columns << " columns and " << k << " rows: " << b;
  if (bits > 16)
    return emitOpError("multiplies elements of 8 and 16 bits, got ") << b;

  // 3. A.
  if (auto buffer = dyn_cast<SharedType>(getA().getType())) {
    if (buffer.isRing() || buffer.getRows() != m || buffer.getColumns() != k ||
        buffer.getElementType() != b.getElementType())
      return emitOpError("needs A of ") << m << "x" << k << "x" << b.getElementType() << ", got " << buffer;
    return success();
  }
  auto tensor = cast<RankedTensorType>(getA().getType());
  if (tensor.getShape() != ArrayRef({m, k}) || tensor.getElementType() != b.getElementType())
    return emitOpError("needs A of ") << m << "x" << k << "x" << b.getElementType() << ", got " << tensor;
  if (const Layout expected = wgmmaOperandA(tensor.getShape(), bits, groups); layoutOf(tensor) != expected)
    return emitOpError("needs A as ") << withLayout(tensor, expected) << ", got " << tensor;
  return success();
}

LogicalResult DotWaitOp::verify() {
  if (static_cast<int32_t>(getPending()) < 0)
    return emitOpError("leaves 0 or more products pending, got ") << static_cast<int32_t>(getPending());
  return success();
}

//===-- roles -----------------------------------------------------------------------------------------------------===//

LogicalResult SpecializeOp::verify() {
  constexpr int32_t fewest = 24, most = 240, group = 4, threads = 32, file = 65536;
  const size_t count = getRoles().size();
  if (count < 2 || getWarps().size() != count || getRegisters().size() != count || getBodies().size() != count)
    return emitOpError("needs two or more roles, with as many numbers of warps, of registers, and bodies, got ")
           << count << ", " << getWarps().size() << ", " << getRegisters().size() << " and " << getBodies().size();
  int64_t warps = 0, registers = 0;
  for (auto [role, number, budget] : llvm::zip_equal(getRoles(), getWarps(), getRegisters())) {
    if (number <= 0 || number % group != 0)
      return emitOpError("role ") << role << " needs whole groups of " << group << " warps, got " << number;
    if (budget < fewest || budget > most || budget % 8 != 0)
      return emitOpError("role ") << role << " may use " << fewest << " to " << most
                                  << " registers a thread, in steps of 8, got " << budget;
    warps += number;
    registers += int64_t{number} * threads * budget;
  }
  if (registers > file)
    return emitOpError("has ") << file << " registers for all roles, got " << registers;
  if (const auto all = static_cast<int32_t>(cast<BlockKernelOp>((*this)->getParentOp()).getWarps()); warps != all)
    return emitOpError("shares out the ") << all << " warps of the kernel, got " << warps;
  return success();
}

/// What a role does is its own warps' affair.
LogicalResult SpecializeOp::verifyRegions() {
  for (auto [role, body] : llvm::zip_equal(getRoles().getAsValueRange<StringAttr>(), getBodies())) {
    WalkResult result = body.walk([&, role = role, body = &body](Operation *op) {
      if (isa<BarrierOp>(op)) {
        op->emitOpError("waits for all threads, which in role '") << role << "' do not come";
        return WalkResult::interrupt();
      }
      for (Value operand : op->getOperands())
        if (isa<RankedTensorType, TokenType>(operand.getType()) && !body->isAncestor(operand.getParentRegion())) {
          op->emitOpError("in role '") << role << "' uses a tensor that all warps hold: " << operand.getType();
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  return success();
}
