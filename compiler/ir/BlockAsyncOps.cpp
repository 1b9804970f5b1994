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

/// That a stage, and each panel of it, begins where the hardware's pattern does. The buffer itself lies at a multiple
/// of 1024 bytes (PlanShared).
static LogicalResult verifyPlace(Operation *op, SharedType buffer, int64_t swizzle) {
  constexpr int64_t patternRows = 8, alignment = 128;
  if (swizzle != 0 && buffer.getRows() % patternRows != 0)
    return op->emitOpError("needs rows in multiples of 8, as the swizzle repeats, got ")
           << buffer.getRows() << ": " << buffer;
  if (const int64_t bytes = buffer.getRows() * buffer.swizzle().rowBytes; bytes % alignment != 0)
    return op->emitOpError("needs panels in multiples of ") << alignment << " bytes, got " << bytes << ": " << buffer;
  return success();
}

LogicalResult CopyBulkOp::verify() {
  constexpr int64_t mostInBox = 256, mostDimensions = 5;
  ViewType view = getView().getType();
  SharedType ring = getRing().getType();
  if (failed(verifyRing(*this, ring)))
    return failure();
  if (static_cast<int64_t>(getIndices().size()) != view.getRank())
    return emitOpError("needs one index for each of the ")
           << view.getRank() << " dimensions, got " << getIndices().size();
  if (view.getRank() < 2 || view.getRank() > mostDimensions)
    return emitOpError("copies rows and columns of views of rank 2 to 5, got a view of rank ") << view.getRank();
  if (ring.getElementType() != view.getElementType())
    return emitOpError("needs the view's element type ") << view.getElementType() << ", got " << ring;
  if (ring.getRows() > mostInBox)
    return emitOpError("copies boxes of up to ") << mostInBox << " rows, got " << ring.getRows() << ": " << ring;
  if (ring.getPanel() > mostInBox)
    return emitOpError("copies boxes of up to ")
           << mostInBox << " columns, got panels of " << ring.getPanel() << ": " << ring;
  if (const int64_t bytes = ring.swizzle().rowBytes; bytes % 16 != 0)
    return emitOpError("copies rows of multiples of 16 bytes, got ") << bytes << ": " << ring;
  std::optional<int64_t> swizzle = ring.hardwareSwizzle();
  if (!swizzle)
    return emitOpError("swizzles rows of 128 bytes by step 1 and span 8, 64 by 2 and 4, or 32 by 4 and 2, got rows of ")
           << ring.swizzle().rowBytes << ": " << ring;
  if (failed(verifyPlace(*this, ring, *swizzle)))
    return failure();
  return verifyFacts(*this, getView(), {"tile.bulk"});
}

//===-- products in flight ----------------------------------------------------------------------------------------===//

/// That wgmma can read an operand from a buffer: 32 bytes of k, or of columns, are in one row.
static LogicalResult verifyOperand(Operation *op, StringRef name, SharedType buffer) {
  if (buffer.isRing())
    return op->emitOpError("needs one stage of a ring, got ") << buffer;
  const std::optional<int64_t> swizzle = buffer.hardwareSwizzle();
  if (!swizzle || *swizzle == 0)
    return op->emitOpError("needs ") << name
                                     << " in rows of 128 bytes swizzled by step 1 and span 8, of 64 by 2 and 4, "
                                     << "or of 32 by 4 and 2, got " << buffer;
  return verifyPlace(op, buffer, *swizzle);
}

static LogicalResult verifyAccumulator(DotAsyncOp op, RankedTensorType type) {
  if (type.getRank() != 2 || !type.getElementType().isF32())
    return op.emitOpError("accumulates in f32 and two dimensions, got ") << type;
  const Layout held = layoutOf(type);
  if (held.warps() % 4 != 0)
    return op.emitOpError("is done by groups of 4 warps, got ") << held.warps() << " warps: " << type;
  const int64_t groups = held.warps() / 4;
  if (type.getShape()[0] % (64 * groups) != 0 || type.getShape()[1] % 8 != 0)
    return op.emitOpError("has 64 rows for each of the ")
           << groups << " groups of warps and columns in multiples of 8, got " << type;
  if (const Layout expected = wgmmaAccumulator(type.getShape(), groups); held != expected)
    return op.emitOpError("needs the accumulator as ") << withLayout(type, expected) << ", got " << type;
  return success();
}

LogicalResult DotAsyncOp::verify() {
  RankedTensorType accumulator = getAccumulator().getType();
  SharedType b = getB().getType();
  if (failed(verifyAccumulator(*this, accumulator)))
    return failure();
  const int64_t m = accumulator.getShape()[0], n = accumulator.getShape()[1];

  // B, and with it k.
  const int bits = static_cast<int>(8 * b.elementBytes());
  if (!isa<FloatType>(b.getElementType()) || bits > 16)
    return emitOpError("multiplies floats of 8 and 16 bits, got ") << b;
  if (bits == 8 && !getTransposedB())
    return emitOpError("reads elements of 8 bits along k only: needs B of [n,k] and transposed_b, got ") << b;
  if (failed(verifyOperand(*this, "B", b)))
    return failure();
  const int64_t k = getTransposedB() ? b.getColumns() : b.getRows(),
                columns = getTransposedB() ? b.getRows() : b.getColumns();
  if (columns != n || k % (256 / bits) != 0)
    return emitOpError("needs B of ") << n << " columns and of rows in multiples of " << 256 / bits << ", got "
                                      << columns << " columns and " << k << " rows: " << b;

  // A.
  if (auto buffer = dyn_cast<SharedType>(getA().getType())) {
    if (failed(verifyOperand(*this, "A", buffer)))
      return failure();
    if (buffer.getRows() != m || buffer.getColumns() != k || buffer.getElementType() != b.getElementType())
      return emitOpError("needs A of ") << m << "x" << k << "x" << b.getElementType() << ", got " << buffer;
    return success();
  }
  auto tensor = cast<RankedTensorType>(getA().getType());
  if (tensor.getShape() != ArrayRef({m, k}) || tensor.getElementType() != b.getElementType())
    return emitOpError("needs A of ") << m << "x" << k << "x" << b.getElementType() << ", got " << tensor;
  const int64_t groups = layoutOf(accumulator).warps() / 4;
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

int64_t SpecializeOp::registersAtLaunch() {
  constexpr uint64_t step = 8;
  int64_t warps = 0, registers = 0;
  for (auto [number, budget] : llvm::zip_equal(getWarps(), getRegisters())) {
    warps += number;
    registers += int64_t{number} * budget;
  }
  int64_t atLaunch = llvm::divideCeil(registers, warps);
  walk([&](DotAsyncOp product) {
    constexpr int64_t groupRows = 64, groupThreads = 128, others = 30;
    const int64_t columns = cast<RankedTensorType>(product.getAccumulator().getType()).getShape().back();
    atLaunch = std::max(atLaunch, columns * groupRows / groupThreads + others);
  });
  return static_cast<int64_t>(llvm::alignTo(atLaunch, step));
}

LogicalResult SpecializeOp::verify() {
  constexpr int32_t fewest = 24, most = 240, group = 4, threads = 32, file = 65536;
  const size_t count = getRoles().size();
  if (count < 2 || getWarps().size() != count || getRegisters().size() != count || getBodies().size() != count)
    return emitOpError("needs two or more roles, with as many numbers of warps, of registers, and bodies, got ")
           << count << ", " << getWarps().size() << ", " << getRegisters().size() << " and " << getBodies().size();
  int64_t warps = 0;
  SmallPtrSet<Attribute, 4> names;
  for (auto [role, number, budget] : llvm::zip_equal(getRoles(), getWarps(), getRegisters())) {
    if (number <= 0 || number % group != 0)
      return emitOpError("role ") << role << " needs whole groups of " << group << " warps, got " << number;
    if (budget < fewest || budget > most || budget % 8 != 0)
      return emitOpError("role ") << role << " may use " << fewest << " to " << most
                                  << " registers a thread, in steps of 8, got " << budget;
    if (!names.insert(role).second)
      return emitOpError("has two roles with the name ") << role;
    warps += number;
  }
  if (const auto all = static_cast<int32_t>(cast<BlockKernelOp>((*this)->getParentOp()).getWarps()); warps != all)
    return emitOpError("shares out the ") << all << " warps of the kernel, got " << warps;
  const int64_t available = file / (warps * threads) / 8 * 8;
  if (const int64_t launched = registersAtLaunch(); launched > available)
    return emitOpError("has ") << available << " registers for each of the " << warps * threads
                               << " threads at launch, the roles need " << launched;
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
