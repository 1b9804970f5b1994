// Products in flight, by wgmma: a group of four warps multiplies 64 rows by up to 256 columns, in steps of 256 bits
// along k. B is in shared memory, A there or in registers.
//
// LLVM has no intrinsic with A in registers, so that the instruction is inline assembly, whose accumulators are tied to
// its results (here m64n16k16; with a product's first step, when the accumulator is zero, they are results only and `1`
// is `0`):
//
//     { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
//     {$0, $1, $2, $3, $4, $5, $6, $7}, $8, $9, p, 1, 1, 0, 0; }            "=f,…,l,l,0,1,2,3,4,5,6,7"
//     … {$8, $9, $10, $11}, $12, p, 1, 1, 1; }     A in registers           "=f,…,r,r,r,r,l,0,1,2,3,4,5,6,7"
//
// The last numbers tell whether A and B lie across k; elements of 8 bits have none.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

constexpr int64_t groupRows = 64, groupWarps = 4, mostColumns = 256, stepBytes = 32;

//===-- descriptors -----------------------------------------------------------------------------------------------===//

namespace {

/// A matrix in shared memory: rows of an operand (of B: columns) by k, either of which runs along the buffer's rows.
struct Matrix {
  SharedType type;
  bool alongDepth; ///< a row of the buffer holds neighbours along k
  Value descriptor;

  int64_t rowBytes() const { return type.swizzle().rowBytes; }
  /// From the start to a place, in bytes. Rows of a panel are multiples of 8, in which the swizzle repeats.
  int64_t offset(int64_t row, int64_t k) const {
    const int64_t element = type.elementBytes(), byte = (alongDepth ? k : row) * element;
    return byte / rowBytes() * type.panelBytes() + (alongDepth ? row : k) * rowBytes() + byte % rowBytes();
  }
};

} // namespace

/// PTX's "matrix descriptor": bits 0 to 13 are the address, 16 to 29 the distance from panel to panel (not used along
/// k), 32 to 45 that from 8 rows to the next, all in units of 16 bytes; the last two say which swizzle.
static uint64_t descriptorBits(const Matrix &matrix) {
  const int64_t rowBytes = matrix.rowBytes();
  const uint64_t swizzle = rowBytes == 128 ? 1 : rowBytes == 64 ? 2 : 3;
  const uint64_t panels = matrix.alongDepth ? 1 : matrix.type.panelBytes() / 16, rows = 8 * rowBytes / 16;
  return swizzle << 62 | rows << 32 | panels << 16;
}

/// Of a buffer in the block's shared memory, of whose addresses 18 bits count.
static Value descriptorOf(LaneCode &code, Value address, const Matrix &matrix) {
  Value units = code.shiftRight(code.truncate(code.integerOf(address), code.i32Type()), 4);
  units = code.bitAnd(units, 0x3fff);
  return code.bitOr(code.zeroExtend(units, code.i64Type()), code.i64(static_cast<int64_t>(descriptorBits(matrix))));
}

//===-- the instruction -------------------------------------------------------------------------------------------===//

/// `a`: a descriptor, or four words. `sum` may be empty: zero.
static LaneCode::Values wgmma(LaneCode &code, Type element, int64_t columns, ArrayRef<Value> sum, ArrayRef<Value> a,
                              Value b, bool turnsB) {
  const int64_t count = columns / 2, bits = element.getIntOrFloatBitWidth();
  const bool isInRegisters = a.size() > 1;
  std::string text, constraints;
  auto list = [](size_t from, size_t number) {
    return llvm::join(
        llvm::map_range(llvm::seq(from, from + number), [](size_t i) { return ("$" + llvm::Twine(i)).str(); }), ", ");
  };
  const std::string type = element.isBF16()                 ? "bf16"
                           : element.isF16()                ? "f16"
                           : isa<Float8E4M3FNType>(element) ? "e4m3"
                                                            : "e5m2";
  text = "{ .reg .pred p; setp.ne.b32 p, " + std::string(sum.empty() ? "0" : "1") +
         ", 0; wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k" + std::to_string(256 / bits) +
         ".f32." + type + "." + type + " {" + list(0, count) + "}, ";
  text += isInRegisters ? ("{" + llvm::Twine(list(count, a.size())) + "}").str() : list(count, 1);
  text += ", " + list(count + a.size(), 1) + ", p, 1, 1";
  if (bits == 16)
    text += std::string(isInRegisters ? "" : ", 0") + (turnsB ? ", 1" : ", 0");
  text += "; }";

  SmallVector<std::string> kinds(count, "=f");
  kinds.append(a.size(), isInRegisters ? "r" : "l");
  kinds.push_back("l");
  LaneCode::Values arguments(a);
  arguments.push_back(b);
  for (auto [i, value] : llvm::enumerate(sum)) {
    kinds.push_back(std::to_string(i));
    arguments.push_back(value);
  }
  return code.assembly(text, llvm::join(kinds, ","), SmallVector<Type>(count, code.f32Type()), arguments);
}

//===-- products --------------------------------------------------------------------------------------------------===//

LogicalResult NvidiaLowering::lower(DotAsyncOp op) {
  if (!options.hasWgmma())
    return op.emitOpError("has no lowering to sm_")
           << options.sm << (options.archSpecific ? "a" : "") << ": wgmma is an instruction of sm_90a alone";
  const Layout &layout = layoutOf(op.getAccumulator());
  const int64_t groups = layout.warps() / groupWarps, columns = layout.shape()[1];
  const SharedBuffer right = buffers.lookup(op.getB());
  const int64_t bytes = right.type.elementBytes(), depthStep = stepBytes / bytes;
  const int64_t depth = op.getTransposedB() ? right.type.getColumns() : right.type.getRows();

  // 1. Where the operands are: of A in shared memory each group has its own rows.
  Matrix b{right.type, op.getTransposedB(), {}};
  b.descriptor = descriptorOf(code, right.address, b);
  Matrix a{};
  Values words;
  if (auto left = buffers.find(op.getA()); left != buffers.end()) {
    a = {left->second.type, /*alongDepth=*/true, {}};
    // Within the address: of a larger number that is added to the descriptor, ptxas 13.0 drops the upper half.
    Value rows;
    if (groups > 1)
      rows = code.mul(code.shiftRight(warp, llvm::Log2_64(groupWarps)), a.offset(groupRows, 0));
    a.descriptor = descriptorOf(code, code.address(left->second.address, rows), a);
  } else {
    const Values elements = registers.lookup(op.getA());
    const int64_t wordElements = 4 / bytes;
    for (size_t i = 0; i < elements.size(); i += wordElements)
      words.push_back(code.pack(ArrayRef<Value>(elements).slice(i, wordElements), code.i32Type()));
  }
  auto stepOfA = [&](int64_t block, int64_t step) -> Values {
    if (!a.descriptor) {
      constexpr int64_t wordsInStep = 4;
      const int64_t first = (block * (depth / depthStep) + step) * wordsInStep;
      return Values(ArrayRef<Value>(words).slice(first, wordsInStep));
    }
    return {code.add(a.descriptor, a.offset(block * groups * groupRows, step * depthStep) / 16)};
  };

  // 2. The instructions, as one group that is waited for together.
  const bool isZero = matchPattern(op.getAccumulator(), m_PosZeroFloat());
  Values sums = registers.lookup(op.getAccumulator());
  code.intrinsic("llvm.nvvm.wgmma.fence.sync.aligned", {});
  for (int64_t block = 0; block < layout.repeats(0); ++block)
    for (int64_t column = 0; column < columns; column += mostColumns) {
      const int64_t width = std::min(mostColumns, columns - column);
      auto place = sums.begin() + (block * columns + column) / 2;
      Values sum = isZero ? Values() : Values(place, place + width / 2);
      for (int64_t step = 0; step < depth / depthStep; ++step)
        sum = wgmma(code, right.type.getElementType(), width, sum, stepOfA(block, step),
                    code.add(b.descriptor, b.offset(column, step * depthStep) / 16), !b.alongDepth);
      llvm::copy(sum, place);
    }
  code.intrinsic("llvm.nvvm.wgmma.commit_group.sync.aligned", {});
  registers[op.getToken()] = sums;
  return success();
}
