// block.dot by scalar instructions, for operands that no matrix instruction multiplies: every thread sums up its
// elements of the result, reading a column of A and a row of B from shared memory at each step along k.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

/// Of an element at a place that is known at run time only.
Value KernelLowering::addressIn(const SharedBuffer &buffer, Value row, Value column) {
  const Swizzle swizzle = buffer.type.swizzle();
  Value start = buffer.address;
  if (const int64_t panel = buffer.type.getPanel(); buffer.type.hasPanels()) {
    start = code.address(start, code.mul(code.shiftRight(column, llvm::Log2_64(panel)), buffer.type.panelBytes()));
    column = code.bitAnd(column, panel - 1);
  }
  Value byte = code.mul(column, buffer.type.elementBytes());
  if (swizzle.span > 1) {
    Value turn = code.bitAnd(code.shiftRight(row, llvm::Log2_64(swizzle.step)), swizzle.span - 1);
    byte = code.bitXor(byte, code.mul(turn, swizzle.unit));
  }
  return code.address(start, code.add(code.mul(row, swizzle.rowBytes), byte));
}

LogicalResult KernelLowering::lower(BlockDotOp op) {
  return op.getKind() == DotKind::fma ? lowerByFma(op) : lowerByMatrixUnit(op);
}

LogicalResult KernelLowering::lowerByFma(BlockDotOp op) {
  auto left = buffers.find(op.getA()), right = buffers.find(op.getB());
  if (left == buffers.end() || right == buffers.end())
    return op.emitError("fma reads its operands from shared memory: stage them first");
  const SharedBuffer a = left->second, b = right->second;
  const Layout &layout = layoutOf(op.getAccumulator());
  const int64_t depth = op.getTransposedA() ? a.type.getRows() : a.type.getColumns();

  // 1. The rows and columns of the result that this thread has. Those past the shape read what is there at 0.
  llvm::MapVector<int64_t, Value> rows, columns; // by constant part
  for (int64_t reg = 0; reg < layout.registers(); ++reg) {
    const Coordinates base = layout.base(reg);
    for (auto [d, places] : {std::pair<size_t, llvm::MapVector<int64_t, Value> *>{0, &rows}, {1, &columns}}) {
      Value &place = (*places)[base[d]];
      if (place)
        continue;
      place = coordinate(layout, base, d);
      if (Value present = inside(layout.laneBits(), layout.warpBits(), base, layout.shape()[d], d))
        place = code.select(present, place, code.i32(0));
    }
  }

  // 2. One step along k.
  auto read = [&](const SharedBuffer &buffer, bool transposed, Value row, Value column) {
    if (transposed)
      std::swap(row, column);
    Type element = buffer.type.getElementType();
    Value address = addressIn(buffer, row, column);
    return widen(loadVector(heldType(element), 1, address).front(), element);
  };
  auto step = [&](Value k, Values sums) {
    llvm::DenseMap<int64_t, Value> leftOf, rightOf;
    for (auto [base, row] : rows)
      leftOf[base] = read(a, op.getTransposedA(), row, k);
    for (auto [base, column] : columns)
      rightOf[base] = read(b, op.getTransposedB(), k, column);
    for (int64_t reg = 0; reg < layout.registers(); ++reg) {
      const Coordinates base = layout.base(reg);
      sums[reg] = code.make<math::FmaOp>(leftOf.lookup(base[0]), rightOf.lookup(base[1]), sums[reg]);
    }
    return sums;
  };

  // 3. All of them, several at a time.
  const int64_t unroll = depth % 4 == 0 ? 4 : 1;
  auto loop = scf::ForOp::create(code.builder, code.loc, code.i32(0), code.i32(depth), code.i32(unroll),
                                 registers.lookup(op.getAccumulator()));
  OpBuilder::InsertionGuard guard(code.builder);
  code.builder.setInsertionPointToEnd(loop.getBody());
  Values sums(loop.getRegionIterArgs());
  for (int64_t i = 0; i < unroll; ++i)
    sums = step(code.add(loop.getInductionVar(), i), sums);
  scf::YieldOp::create(code.builder, code.loc, sums);
  registers[op.getResult()] = Values(loop.getResults());
  return success();
}
