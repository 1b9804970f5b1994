// Matrix products of bf16 tiles on the matrix unit (AMX).
//
// One instruction adds [16 x 32] x [32 x 16] to [16 x 16] f32. Its left operand has rows of 32 bf16; its right operand
// has the depth in pairs, [16][16 columns][2]. Held as i32 words of two bf16 each, that is
//
//   left   [m][k / 2]   the rows of a tile as they lie in memory ("packed rows")
//   right  [k / 2][n]   rows 2i and 2i + 1 interleaved ("paired rows"), or the packed rows of the transpose, turned
//
// so K^T costs a transpose of words and V an interleave. The depth is padded to 32 with zeros.
#include "compiler/lower/host/KernelLowering.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

namespace {
constexpr int64_t tileRows = 16, tileWords = 16, depthStep = 32;
}

Buffer KernelLowering::allocatePacked(int64_t rows, int64_t columns) {
  return allocate({rows, static_cast<int64_t>(llvm::alignTo(columns, depthStep)) / 2}, code.builder.getI32Type(), 1);
}

/// The rows of a tile as bf16, in pairs. Loaded tiles that only the matrix unit reads already lie so.
Buffer KernelLowering::packedRows(Value tile) {
  Buffer held = buffers.lookup(tile);
  if (auto load = tile.getDefiningOp<LoadOp>(); load && plan.isPacked(load))
    return held;
  if (held.strides[1] != 1 && held.shape[1] > 1)
    held = turned(held, 1);
  int64_t rows = held.shape[0], columns = held.shape[1], lanes = vectors.lanes;
  Buffer to = allocatePacked(rows, columns);
  auto words = VectorType::get({lanes}, code.builder.getI32Type());
  auto pairs = VectorType::get({2 * lanes}, code.builder.getBF16Type());
  code.loop(Index(0), Index(rows), 1, [&](Value row) {
    for (int64_t column = 0; column < columns; column += depthStep) {
      auto half = [&](int64_t first) -> Value {
        Value zero = code.constant(VectorType::get({lanes}, code.builder.getF32Type()), 0);
        if (first >= columns)
          return zero;
        Value value = read(held, {{Index(row), Index(first)}, 1});
        if (first + lanes <= columns)
          return value;
        Value inside = code.less(code.lanesFrom(Index(first), lanes), code.constant(words, columns));
        return arith::SelectOp::create(code.builder, code.loc, inside, value, zero);
      };
      Value low = half(column), high = half(column + lanes);
      Value pair = code.intrinsic("llvm.x86.avx512bf16.cvtne2ps2bf16.512", pairs, {high, low});
      code.store(pair, addressIn(to, {{Index(row), Index(column / 2)}, 1}));
    }
  });
  return to;
}

/// [k][n] as packed rows -> [depth / 2][n] words of rows 2i and 2i + 1.
Buffer KernelLowering::pairedRows(const Buffer &rows, int64_t depth) {
  int64_t lanes = vectors.lanes, columns = rows.shape[1] * 2, padded = llvm::alignTo(depth, depthStep);
  Buffer to = allocate({padded / 2, columns}, code.builder.getI32Type(), 1);
  auto pairs = VectorType::get({2 * lanes}, code.builder.getBF16Type());
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low.append({i, 2 * lanes + i});
    high.append({lanes + i, 3 * lanes + i});
  }
  auto pair = [&](Index row, bool hasFirst, bool hasSecond) {
    for (int64_t column = 0; column < columns; column += 2 * lanes) {
      auto line = [&](int64_t which, bool exists) {
        if (!exists)
          return code.constant(pairs, 0);
        Index source = code.add(code.scale(row, 2), Index(which));
        return code.load(pairs, addressIn(rows, {{source, Index(column / 2)}, 1}));
      };
      Value first = line(0, hasFirst), second = line(1, hasSecond);
      code.store(code.shuffle(first, second, low), addressIn(to, {{row, Index(column)}, 1}));
      code.store(code.shuffle(first, second, high), addressIn(to, {{row, Index(column + lanes)}, 1}));
    }
  };
  if (depth >= 2)
    code.loop(Index(0), Index(depth / 2), 1, [&](Value row) { pair(Index(row), true, true); });
  if (depth % 2)
    pair(Index(depth / 2), true, false);
  int64_t rest = llvm::divideCeil(depth, 2);
  if (rest < padded / 2)
    code.loop(Index(rest), Index(padded / 2), 1, [&](Value row) { pair(Index(row), false, false); });
  return to;
}

Buffer KernelLowering::leftOperand(Value operand) {
  auto [tile, transposed] = dotOperand(operand);
  Buffer rows = packedRows(tile);
  if (!transposed)
    return rows;
  return turned(pairedRows(rows, tileType(tile).getShape()[0]).transposed(), 1);
}

Buffer KernelLowering::rightOperand(Value operand) {
  auto [tile, transposed] = dotOperand(operand);
  Buffer rows = packedRows(tile);
  if (transposed)
    return turned(rows.transposed(), 1);
  return pairedRows(rows, tileType(tile).getShape()[0]);
}

struct KernelLowering::MatrixBlock {
  Value dot, product;
  Buffer left, right, to;
  Index row, column;  ///< of the product
  int64_t tall, wide; ///< in tiles of the unit, at most 2 each: with the operands' they fill its eight registers
  bool accumulates;   ///< `to` holds the accumulator
  int64_t blocks, blocksInStrip; ///< how the product is split
};

void KernelLowering::lowerOnMatrixUnit(DotOp op) {
  MatrixBlock block;
  block.dot = op;
  block.product = plan.storedBy(op);
  block.left = leftOperand(op.getA());
  block.right = rightOperand(op.getB());
  bool inPlace = static_cast<bool>(plan.overwrittenBy(op));
  if (inPlace)
    buffers[block.product] = buffers.lookup(plan.overwrittenBy(op));
  else
    bufferFor(block.product);
  block.to = buffers.lookup(block.product);
  bool turns = block.to.lane != 1; // carried with other lanes than the unit writes
  Buffer last = block.to;
  if (turns)
    block.to = allocate(last.shape, last.type, 1);

  Attribute constant;
  Value accumulator = op.getAccumulator();
  block.accumulates = !(matchPattern(accumulator, m_Constant(&constant)) &&
                        cast<DenseElementsAttr>(constant).getSplatValue<APFloat>().isZero());
  if (block.accumulates)
    materialize(accumulator, block.to);
  prepareAbsorbed(op, 1);

  Shape shape = block.to.shape;
  block.blocksInStrip = llvm::divideCeil(shape[0], 2 * tileRows);
  block.blocks = block.blocksInStrip * llvm::divideCeil(shape[1], 2 * tileWords);
  auto split = [&](int64_t size, llvm::function_ref<void(Index, int64_t)> body) {
    int64_t whole = size / (2 * tileRows);
    if (whole == 1)
      body(Index(0), 2);
    else if (whole > 1)
      code.loop(Index(0), Index(whole * 2 * tileRows), 2 * tileRows, [&](Value iv) { body(Index(iv), 2); });
    if (size % (2 * tileRows))
      body(Index(whole * 2 * tileRows), 1);
  };
  split(shape[1], [&](Index column, int64_t wide) {
    split(shape[0], [&](Index row, int64_t tall) {
      block.row = row;
      block.column = column;
      block.tall = tall;
      block.wide = wide;
      matrixBlock(block);
    });
  });
  nextPass.clear();
  if (turns)
    copy(turned(block.to, last.lane), last);
}

void KernelLowering::matrixBlock(const MatrixBlock &block) {
  Type tile = code.matrixTileType(), i16 = code.builder.getI16Type();
  Value rows = code.constant(i16, tileRows), bytes = code.constant(i16, tileWords * 4);
  auto at = [&](const Buffer &buffer, Index row, Index column) { return addressIn(buffer, {{row, column}, 1}); };
  auto pitch = [&](const Buffer &buffer) { return code.i64(buffer.strides[0] * 4); };
  auto load = [&](const Buffer &buffer, Index row, Index column) {
    return code.intrinsic("llvm.x86.tileloadd64.internal", tile, {rows, bytes, at(buffer, row, column), pitch(buffer)});
  };
  auto rowOf = [&](int64_t i) { return code.add(block.row, Index(i * tileRows)); };
  auto columnOf = [&](int64_t j) { return code.add(block.column, Index(j * tileWords)); };

  if (!nextPass.empty())
    prefetchShare(code.add(code.scale(code.dividedBy(block.column, 2 * tileWords), block.blocksInStrip),
                           code.dividedBy(block.row, 2 * tileRows)),
                  block.blocks);
  Values sums;
  for (int64_t i = 0; i < block.tall; ++i)
    for (int64_t j = 0; j < block.wide; ++j)
      sums.push_back(block.accumulates ? load(block.to, rowOf(i), columnOf(j))
                                       : code.intrinsic("llvm.x86.tilezero.internal", tile, {rows, bytes}));
  for (int64_t word = 0; word < block.left.shape[1]; word += tileWords) {
    Values left, right;
    for (int64_t j = 0; j < block.wide; ++j)
      right.push_back(load(block.right, Index(word), columnOf(j)));
    for (int64_t i = 0; i < block.tall; ++i)
      left.push_back(load(block.left, rowOf(i), Index(word)));
    for (int64_t i = 0; i < block.tall; ++i)
      for (int64_t j = 0; j < block.wide; ++j) {
        Value &sum = sums[i * block.wide + j];
        sum = code.intrinsic("llvm.x86.tdpbf16ps.internal", tile, {rows, bytes, bytes, sum, left[i], right[j]});
      }
  }
  for (int64_t i = 0; i < block.tall; ++i)
    for (int64_t j = 0; j < block.wide; ++j)
      code.intrinsic("llvm.x86.tilestored64.internal", {},
                     {rows, bytes, at(block.to, rowOf(i), columnOf(j)), pitch(block.to), sums[i * block.wide + j]});

  if (block.product == block.dot)
    return;
  // What absorbed the product, while the block is in the L1 cache.
  code.loop(Index(0), Index(block.tall * tileRows), 1, [&](Value row) {
    for (int64_t j = 0; j < block.wide; ++j) {
      Position here{{code.add(block.row, Index(row)), columnOf(j)}, 1};
      Known known;
      known[block.dot] = read(block.to, here);
      write(evaluateInline(cast<OpResult>(block.product), here, known), block.to, here);
    }
  });
}
