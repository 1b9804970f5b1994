// What the next pass of a loop will load is fetched into the L2 cache during this pass's product.
//
// Rows of one head lie far apart in (batch, seqlen, heads, dim) tensors, where the processor's own prefetchers lose the
// trail: loading a block would stall for most of its time. The rows are spread over the blocks of the product, a few
// before each. A prefetch never faults, so the rows need no bounds.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

/// A scalar of the loop's body as it will be in the next pass, or null when it cannot be told beforehand.
Value KernelLowering::inNextPass(Value scalar, scf::ForOp loop) {
  if (scalar == loop.getInductionVar())
    return code.add(scalars.lookup(scalar), scalars.lookup(loop.getStep()));
  if (!loop.getBodyRegion().isAncestor(scalar.getParentRegion()))
    return scalars.lookup(scalar);
  Operation *op = scalar.getDefiningOp();
  if (!op || !isa<arith::ArithDialect>(op->getDialect()) || op->getNumResults() != 1)
    return {};
  Values operands;
  for (Value operand : op->getOperands()) {
    Value next = inNextPass(operand, loop);
    if (!next)
      return {};
    operands.push_back(next);
  }
  if (isa<arith::ConstantOp>(op))
    return scalars.lookup(scalar);
  Known known;
  return compute(op, operands, 0, known);
}

void KernelLowering::planPrefetch(LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  const ViewArgument &view = views.find(load.getView())->second;
  Shape shape = tileType(load).getShape();
  if (!loop || !view.unitStride || shape.size() != 2)
    return;
  Value offset = code.i64(0);
  for (auto [index, stride] : llvm::zip(load.getIndices(), view.strides)) {
    Value next = inNextPass(index, loop);
    if (!next)
      return;
    offset = code.add(offset, code.mul(code.widen(next), stride));
  }
  Ahead ahead;
  ahead.origin = code.address(view.pointer, Index(offset), bytesOf(view.type));
  ahead.rowBytes = code.mul(view.strides[view.strides.size() - 2], code.i64(bytesOf(view.type)));
  ahead.rows = shape[0];
  ahead.bytes = shape[1] * bytesOf(view.type);
  nextPass.push_back(ahead);
}

/// The share of block number `block` of `blocks` in the rows to come.
void KernelLowering::prefetchShare(Index block, int64_t blocks) {
  constexpr int64_t cacheLine = 64;
  for (const Ahead &ahead : nextPass) {
    int64_t share = llvm::divideCeil(ahead.rows, blocks);
    Value first = code.value(code.scale(block, share)), last = code.i64(ahead.rows - 1);
    for (int64_t i = 0; i < share; ++i) {
      Value row = code.min(code.add(first, code.i64(i)), last);
      Value start = code.address(ahead.origin, Index(code.mul(row, ahead.rowBytes)), 1);
      for (int64_t byte = 0; byte < ahead.bytes; byte += cacheLine)
        code.prefetch(code.address(start, Index(byte), 1));
    }
  }
}
