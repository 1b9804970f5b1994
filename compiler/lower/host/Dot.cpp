// Matrix products: blocks of accumulators that stay in registers over the whole depth.
//
//   for each strip of lanes (nv vectors)            the vectors' panel, depth x strip, stays in the L1 cache
//     for each block of rows (mr)
//       acc[mr][nv] = accumulator
//       for k: nv vectors are loaded, mr scalars broadcast, mr * nv products added
//       what absorbed the product (Plan.h) is computed on acc and stored
//
// "Lanes" and "rows" are m and n of the product in either order: the plan chose which operand is read as vectors.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

struct KernelLowering::DotShape {
  Value dot, accumulator;
  Value product; ///< the tile that is stored
  Buffer to;
  Buffer vectors, scalars; ///< the operands, seen as [k, lane] and [row, k]
  int lane, row;           ///< dimensions of the product
  int64_t depth;
  int64_t blocks, blocksInStrip, stripLanes, tall; ///< how the product is split
};

/// The operands of what the dot absorbed, other than the product.
void KernelLowering::prepareAbsorbed(DotOp dot, int lane) {
  for (Value value = dot; value != plan.storedBy(dot);) {
    Operation *user = *value.user_begin();
    for (Value operand : user->getOperands())
      if (operand != value)
        prepareLanes(operand, lane);
    value = user->getResult(0);
  }
}

void KernelLowering::lower(DotOp op) {
  if (plan.usesMatrixUnit(op))
    return lowerOnMatrixUnit(op);
  DotShape dot;
  dot.dot = op;
  dot.accumulator = op.getAccumulator();
  dot.product = plan.storedBy(op);
  if (Value carried = plan.overwrittenBy(op)) {
    dot.to = buffers.lookup(carried);
    buffers[dot.product] = dot.to;
  } else {
    dot.to = bufferFor(dot.product);
  }
  dot.lane = dot.to.lane;
  dot.row = 1 - dot.lane;
  dot.depth = tileType(op.getA()).getShape()[1];

  // Operands as stored in their buffers, without the transposes around them.
  auto operand = [&](Value value) {
    auto [tile, transposed] = dotOperand(value);
    Buffer buffer = buffers.lookup(tile);
    return transposed ? buffer.transposed() : buffer;
  };
  Buffer a = operand(op.getA()), b = operand(op.getB());
  dot.vectors = dot.lane == 1 ? b : a.transposed();
  dot.scalars = dot.lane == 1 ? a : b.transposed();
  if (dot.vectors.lane != 1 && dot.vectors.shape[1] > 1)
    dot.vectors = turned(dot.vectors, 1);
  prepareLanes(op.getAccumulator(), dot.lane);
  prepareAbsorbed(op, dot.lane);

  // Registers: the accumulators, the vectors of one k, and one scalar.
  int64_t strips = llvm::divideCeil(dot.to.shape[dot.lane], vectors.lanes);
  int64_t wide = std::min<int64_t>(strips, 2);
  int64_t tall = vectors.registers >= 32 ? (wide == 1 ? 16 : 12) : (wide == 1 ? 10 : 6);
  int64_t rows = dot.to.shape[dot.row];
  // A height that divides the rows spares a second copy of the code.
  for (int64_t height = tall; height >= (tall + 1) / 2; --height) {
    if (rows % height == 0) {
      tall = height;
      break;
    }
  }
  auto strip = [&](Index lane, int64_t width) {
    int64_t whole = rows / tall;
    if (whole == 1)
      dotBlock(dot, lane, width, Index(0), tall);
    else if (whole > 1)
      code.loop(Index(0), Index(whole * tall), tall, [&](Value row) { dotBlock(dot, lane, width, Index(row), tall); });
    if (rows % tall)
      dotBlock(dot, lane, width, Index(whole * tall), rows % tall);
  };
  int64_t whole = strips / wide, width = wide * vectors.lanes;
  dot.blocks = llvm::divideCeil(strips, wide) * (dot.blocksInStrip = llvm::divideCeil(rows, tall));
  dot.stripLanes = width;
  dot.tall = tall;
  if (whole == 1)
    strip(Index(0), wide);
  else
    code.loop(Index(0), Index(whole * width), width, [&](Value lane) { strip(Index(lane), wide); });
  if (strips % wide)
    strip(Index(whole * width), strips % wide);
  nextPass.clear();
}

void KernelLowering::dotBlock(const DotShape &dot, Index lane, int64_t width, Index row, int64_t rows) {
  auto place = [&](int64_t i, int64_t v) {
    Position at{SmallVector<Index>(2, Index(0)), dot.lane};
    at.index[dot.lane] = code.add(lane, Index(v * vectors.lanes));
    at.index[dot.row] = code.add(row, Index(i));
    return at;
  };
  if (!nextPass.empty())
    prefetchShare(
        code.add(code.scale(code.dividedBy(lane, dot.stripLanes), dot.blocksInStrip), code.dividedBy(row, dot.tall)),
        dot.blocks);
  Values initial;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < width; ++v) {
      Known known;
      initial.push_back(evaluate(dot.accumulator, place(i, v), known));
    }
  }
  Values sums = code.loop(Index(0), Index(dot.depth), 1, initial, [&](Value k, ValueRange carried) {
    Values panel, next(carried);
    for (int64_t v = 0; v < width; ++v)
      panel.push_back(read(dot.vectors, {{Index(k), code.add(lane, Index(v * vectors.lanes))}, 1}));
    for (int64_t i = 0; i < rows; ++i) {
      Value scalar = code.broadcast(read(dot.scalars, {{code.add(row, Index(i)), Index(k)}, -1}), vectors.lanes);
      for (int64_t v = 0; v < width; ++v)
        next[i * width + v] = vector::FMAOp::create(code.builder, code.loc, scalar, panel[v], next[i * width + v]);
    }
    return next;
  });
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t v = 0; v < width; ++v) {
      Known known;
      known[dot.dot] = sums[i * width + v];
      Position at = place(i, v);
      Value stored =
          dot.product == dot.dot ? sums[i * width + v] : evaluateInline(cast<OpResult>(dot.product), at, known);
      write(stored, dot.to, at);
    }
  }
}
