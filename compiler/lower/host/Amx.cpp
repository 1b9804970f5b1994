// Matrix products on the matrix unit (AMX), which multiplies bf16 and adds in f32.
//
// One instruction adds [16 x 32] x [32 x 16] to [16 x 16] f32. Its left operand has rows of 32 bf16; its right operand
// has the depth in pairs, [16][16 columns][2]. Held as i32 words of two bf16 each, that is
//
//   left   [m][k / 2]   the rows of a tile as they lie in memory ("packed rows")
//   right  [k / 2][n]   rows 2i and 2i + 1 interleaved ("paired rows"), or the packed rows of the transpose, turned
//
// so K^T costs a transpose of words and V an interleave. The depth is padded to 32 with zeros.
//
// Wider operands are sums of bf16 pieces: f32 has 24 bits, three times the 8 of bf16, f16 has 11. The product of two
// sums is the sum of all products of pieces, added from the smallest to the largest, so that sums are rounded as often
// at full size as without pieces. The four products of f16 are 1.1 to 1.4 times as fast as one of f32 on vectors, the
// six that f32 needs at least are slower: Plan decides.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

namespace {
constexpr int64_t tileRows = 16, tileWords = 16, depthStep = 32;
}

Buffer KernelLowering::allocatePacked(int64_t rows, int64_t columns) {
  return allocate({rows, static_cast<int64_t>(llvm::alignTo(columns, depthStep)) / 2}, code.builder.getI32Type(), 1);
}

/// The pieces of two vectors of f32, which come in one vector each, the largest first.
Code::Values KernelLowering::piecesOf(Value low, Value high, int64_t count) {
  OpBuilder &b = code.builder;
  auto words = VectorType::get({vectors.lanes}, b.getI32Type());
  auto pairs = VectorType::get({2 * vectors.lanes}, b.getBF16Type());
  auto join = [&](Value first, Value second) {
    return code.intrinsic("llvm.x86.avx512bf16.cvtne2ps2bf16.512", pairs, {second, first});
  };
  // The upper half of the bits, which has the sign of the whole and leaves an exact rest. Neither may become 0 where
  // the whole is not, nor may signs differ: the other operand may be infinite, and 0 * inf or inf - inf be NaN. So that
  // 2^-40 of the piece is added to the rest, far below f32's precision, and the rest of an infinity is one.
  auto split = [&](Value &rest) {
    Type type = rest.getType();
    Value bits = arith::BitcastOp::create(b, code.loc, words, rest);
    Value upper = arith::AndIOp::create(b, code.loc, bits, code.constant(words, -65536.0));
    Value piece = arith::BitcastOp::create(b, code.loc, type, upper);
    Value left = arith::SubFOp::create(b, code.loc, rest, piece);
    left = vector::FMAOp::create(b, code.loc, piece, code.constant(type, 0x1p-40), left);
    Value infinite =
        arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::OEQ, math::AbsFOp::create(b, code.loc, rest),
                              code.constant(type, std::numeric_limits<double>::infinity()));
    rest = arith::SelectOp::create(b, code.loc, infinite, rest, left);
    return piece;
  };
  Code::Values pieces;
  for (int64_t i = 0; i + 1 < count; ++i) {
    Value first = split(low), second = split(high);
    pieces.push_back(join(first, second));
  }
  pieces.push_back(join(low, high)); // what remains fits, or bf16 is what was asked for: rounded to nearest
  return pieces;
}

/// The rows of a tile as bf16, in pairs, one buffer for each piece. Loaded tiles that only the matrix unit reads
/// already lie so.
KernelLowering::Pieces KernelLowering::packedRows(Value tile, int64_t count) {
  if (auto found = packedLoads.find(tile); found != packedLoads.end())
    return found->second;
  Buffer held = buffers.lookup(tile);
  if (held.lane != 1 && held.shape[1] > 1)
    held = turned(held, 1);
  return packedRows(held, count);
}

KernelLowering::Pieces KernelLowering::packedRows(const Buffer &held, int64_t count) {
  int64_t rows = held.shape[0], columns = held.shape[1], lanes = vectors.lanes;
  Pieces pieces;
  for (int64_t i = 0; i < count; ++i)
    pieces.push_back(allocatePacked(rows, columns));
  auto words = VectorType::get({lanes}, code.builder.getI32Type());
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
      for (auto [piece, to] : llvm::zip(piecesOf(low, high, count), pieces))
        code.store(piece, addressIn(to, {{Index(row), Index(column / 2)}, 1}));
    }
  });
  return pieces;
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

KernelLowering::Pieces KernelLowering::leftOperand(Value operand) {
  auto [tile, transposed] = dotOperand(operand);
  Pieces pieces = packedRows(tile, bf16Pieces(operand));
  if (transposed)
    for (Buffer &rows : pieces)
      rows = turned(pairedRows(rows, tileType(tile).getShape()[0]).transposed(), 1);
  return pieces;
}

KernelLowering::Pieces KernelLowering::rightOperand(Value operand) {
  auto [tile, transposed] = dotOperand(operand);
  Pieces pieces = packedRows(tile, bf16Pieces(operand));
  for (Buffer &rows : pieces)
    rows = transposed ? turned(rows.transposed(), 1) : pairedRows(rows, tileType(tile).getShape()[0]);
  return pieces;
}

struct KernelLowering::MatrixBlock {
  Value dot, accumulator;
  Value product; ///< the tile that is stored
  Pieces left, right;
  Buffer to;
  Buffer fresh;       ///< a block's product before the accumulator and what absorbed it
  Index row, column;  ///< of the product
  int64_t tall, wide; ///< in tiles of the unit, at most 2 each: with the operands' they fill its eight registers
  bool accumulates;   ///< the accumulator is not zero
  int64_t blocks, blocksInStrip; ///< how the product is split
};

void KernelLowering::lowerOnMatrixUnit(DotOp op) {
  MatrixBlock block;
  block.dot = op;
  block.accumulator = op.getAccumulator();
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
  block.fresh = allocate({2 * tileRows, 2 * tileWords}, code.builder.getF32Type(), 1);

  Attribute constant;
  block.accumulates = !(matchPattern(block.accumulator, m_Constant(&constant)) &&
                        cast<DenseElementsAttr>(constant).getSplatValue<APFloat>().isZero());
  prepareLanes(block.accumulator, 1);
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

  // 1. The products of pieces, the smallest first.
  Values sums(block.tall * block.wide);
  for (Value &sum : sums)
    sum = code.intrinsic("llvm.x86.tilezero.internal", tile, {rows, bytes});
  auto multiply = [&](const Buffer &leftPiece, const Buffer &rightPiece) {
    for (int64_t word = 0; word < leftPiece.shape[1]; word += tileWords) {
      Values left, right;
      for (int64_t j = 0; j < block.wide; ++j)
        right.push_back(load(rightPiece, Index(word), columnOf(j)));
      for (int64_t i = 0; i < block.tall; ++i)
        left.push_back(load(leftPiece, rowOf(i), Index(word)));
      for (int64_t i = 0; i < block.tall; ++i)
        for (int64_t j = 0; j < block.wide; ++j) {
          Value &sum = sums[i * block.wide + j];
          sum = code.intrinsic("llvm.x86.tdpbf16ps.internal", tile, {rows, bytes, bytes, sum, left[i], right[j]});
        }
    }
  };
  int64_t leftPieces = block.left.size(), rightPieces = block.right.size();
  for (int64_t order = leftPieces + rightPieces - 2; order >= 0; --order)
    for (int64_t i = std::min(order, leftPieces - 1); i >= 0 && order - i < rightPieces; --i)
      multiply(block.left[i], block.right[order - i]);

  // 2. As they are, or by way of the L1 cache to what else is computed from them.
  bool asTheyAre = block.product == block.dot && !block.accumulates;
  for (int64_t i = 0; i < block.tall; ++i) {
    for (int64_t j = 0; j < block.wide; ++j) {
      const Buffer &to = asTheyAre ? block.to : block.fresh;
      Value where = asTheyAre ? at(to, rowOf(i), columnOf(j)) : at(to, Index(i * tileRows), Index(j * tileWords));
      code.intrinsic("llvm.x86.tilestored64.internal", {}, {rows, bytes, where, pitch(to), sums[i * block.wide + j]});
    }
  }
  if (asTheyAre)
    return;
  code.loop(Index(0), Index(block.tall * tileRows), 1, [&](Value row) {
    for (int64_t j = 0; j < block.wide; ++j) {
      Position here{{code.add(block.row, Index(row)), columnOf(j)}, 1};
      Known known;
      Value sum = read(block.fresh, {{Index(row), Index(j * tileWords)}, 1});
      if (block.accumulates)
        sum = arith::AddFOp::create(code.builder, code.loc, evaluate(block.accumulator, here, known), sum);
      known[block.dot] = sum;
      Value stored = block.product == block.dot ? sum : evaluateInline(cast<OpResult>(block.product), here, known);
      write(stored, block.to, here);
    }
  });
}
