// block.dot by matrix instructions: mma.sync m16n8k…, one for each atom of the result and each atom along k.
//
// Operands come in words of 32 bits, in the order in which Fragments.h and the instruction number them. ldmatrix and
// conversions make whole words; taking those apart into elements and packing them again costs nothing.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include <limits>

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

namespace {

/// One instruction: its name and how many words of an atom of A and B it takes.
struct MatrixInstruction {
  std::string name;
  bool halves; ///< takes half of an atom along k, so that there are two for each
  bool pairs;  ///< words are pairs of f16, not integers
};

} // namespace

static std::optional<MatrixInstruction> instructionFor(Type element, const sectile::NvidiaLoweringOptions &options) {
  const bool isFloat8 = element.getIntOrFloatBitWidth() == 8;
  if (element.isF16())
    return options.hasBf16() ? MatrixInstruction{"llvm.nvvm.mma.m16n8k16.row.col.f32.f32", false, true}
                             : MatrixInstruction{"llvm.nvvm.mma.m16n8k8.row.col.f32.f32", true, true};
  if (element.isBF16() && options.hasBf16())
    return MatrixInstruction{"llvm.nvvm.mma.m16n8k16.row.col.bf16", false, false};
  if (element.isF32() && options.hasBf16())
    return MatrixInstruction{"llvm.nvvm.mma.m16n8k8.row.col.tf32", false, false};
  if (isFloat8 && options.hasFp8()) {
    const std::string type = isa<Float8E4M3FNType>(element) ? "e4m3" : "e5m2";
    return MatrixInstruction{"llvm.nvvm.mma.m16n8k32.row.col.f32." + type + "." + type + ".f32", false, false};
  }
  return std::nullopt;
}

/// An operand, in registers or, as far as it was not read yet, in shared memory.
struct NvidiaLowering::Operand {
  const Layout &layout;
  size_t depthAxis; ///< the dimension that is summed over
  Values values;
  const FragmentRead *read;
};

NvidiaLowering::Operand NvidiaLowering::operandOf(Value tensor, size_t depthAxis) {
  const Layout &layout = layoutOf(tensor);
  if (auto read = fragments.find(tensor); read != fragments.end())
    return {layout, depthAxis, Values(layout.registers()), &read->second};
  return {layout, depthAxis, registers.lookup(tensor), nullptr};
}

/// Reads the matrices that a register belongs to. Those that are past the shape as a whole are not read at all.
void NvidiaLowering::readRegister(Operand &operand, int64_t reg) {
  Type held = heldType(operand.read->buffer.type.getElementType());
  const int64_t wordElements = 32 / held.getIntOrFloatBitWidth();
  for (const MatrixAccess &access : operand.read->matrices.accesses)
    if (access.firstRegister <= reg && reg < access.firstRegister + access.count * wordElements)
      return readMatrices(*operand.read, operand.layout, access, operand.values);
  operand.values[reg] = zero(held);
}

/// Registers of an operand, those past the end of k set to 0: in both operands, since 0 * NaN is NaN.
NvidiaLowering::Values NvidiaLowering::elements(Operand &operand, int64_t first, int64_t count) {
  const Layout &layout = operand.layout;
  const int64_t depth = layout.shape()[operand.depthAxis];
  Values result;
  for (int64_t reg = first; reg < first + count; ++reg) {
    if (!operand.values[reg])
      readRegister(operand, reg);
    Value value = operand.values[reg], nothing = zero(value.getType());
    const Coordinates base = layout.base(reg);
    if (base[operand.depthAxis] >= depth)
      value = nothing;
    else if (Value present = inside(layout.laneBits(), layout.warpBits(), base, depth, operand.depthAxis))
      value = code.select(present, value, nothing);
    result.push_back(value);
  }
  return result;
}

NvidiaLowering::Values NvidiaLowering::multiply(StringRef instruction, ArrayRef<Value> a, ArrayRef<Value> b,
                                                ArrayRef<Value> accumulator) {
  Values operands(a);
  llvm::append_range(operands, b);
  llvm::append_range(operands, accumulator);
  return code.intrinsic(instruction, SmallVector<Type>(4, code.f32Type()), operands);
}

LogicalResult NvidiaLowering::lowerByMatrixUnit(BlockDotOp op) {
  if (op.getKind() == DotKind::wgmma)
    return op.emitOpError("wgmma runs in the background: stage rings first, which makes block.dot_async of it");
  auto type = cast<RankedTensorType>(op.getA().getType());
  Type element = type.getElementType();
  std::optional<MatrixInstruction> instruction = instructionFor(element, options);
  if (!instruction)
    return op.emitError("mma multiplies no ") << element << " on sm_" << options.sm;

  // 1. Atoms: how many along each dimension, and the words of each.
  const Layout &layout = layoutOf(op.getAccumulator());
  Operand a = operandOf(op.getA(), 1), b = operandOf(op.getB(), 0);
  const int64_t rows = layout.repeats(0), columns = layout.repeats(1), depth = a.layout.repeats(1);
  const int64_t wordElements = 32 / element.getIntOrFloatBitWidth();
  Type word = instruction->pairs ? code.vectorOf(2, element) : code.i32Type();
  auto atomOf = [&](Operand &operand, int64_t index) -> Atom {
    const int64_t size = operand.layout.registers() / (operand.layout.repeats(0) * operand.layout.repeats(1));
    const Values values = elements(operand, index * size, size);
    if (element.isF32())
      return split(values);
    Values words;
    for (int64_t i = 0; i < size; i += wordElements)
      words.push_back(code.pack(ArrayRef<Value>(values).slice(i, wordElements), word));
    return {words};
  };

  // 2. Along k outside, so that instructions side by side do not wait for each other; B, which is longer, passes by.
  Values sums = registers.lookup(op.getAccumulator());
  for (int64_t k = 0; k < depth; ++k) {
    SmallVector<Atom, 0> column;
    for (int64_t i = 0; i < rows; ++i)
      column.push_back(atomOf(a, i * depth + k));
    for (int64_t j = 0; j < columns; ++j) {
      const Atom right = atomOf(b, k * columns + j);
      for (auto [i, left] : llvm::enumerate(column)) {
        auto place = sums.begin() + (i * columns + j) * 4;
        Values sum(place, place + 4);
        if (element.isF32()) {
          sum = multiplySplit(instruction->name, left, right, sum);
        } else if (instruction->halves) {
          const ArrayRef<Value> l = left.front(), r = right.front();
          sum = multiply(instruction->name, l.take_front(2), r.take_front(1), sum);
          sum = multiply(instruction->name, l.drop_front(2), r.drop_front(1), sum);
        } else {
          sum = multiply(instruction->name, left.front(), right.front(), sum);
        }
        llvm::copy(sum, place);
      }
    }
  }
  registers[op.getResult()] = sums;
  return success();
}

//===-- f32 -----------------------------------------------------------------------------------------------------===//

/// Three tf32 numbers, 11 bits each, whose sum is exactly an f32; and the first of them once more with 0 in the place
/// of infinity and NaN, for the products with the others.
NvidiaLowering::Atom NvidiaLowering::split(ArrayRef<Value> values) {
  constexpr int64_t kept = 0xffffe000;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Atom parts(4);
  for (Value x : values) {
    auto head = [&](Value number) {
      return code.bitcast(code.bitAnd(code.bitcast(number, code.i32Type()), kept), code.f32Type());
    };
    auto word = [&](Value number) { return code.bitcast(number, code.i32Type()); };
    Value magnitude = code.bitcast(code.bitAnd(word(x), 0x7fffffff), code.f32Type());
    Value isFinite = code.compare(arith::CmpFPredicate::OLT, magnitude, code.f32(infinity));
    Value first = head(x), rest = code.make<arith::SubFOp>(x, first);
    Value finiteRest = code.select(isFinite, rest, code.f32(0));
    Value second = head(finiteRest), third = code.make<arith::SubFOp>(finiteRest, second);
    // A NaN stays one even if the bits that say so are dropped.
    parts[0].push_back(word(code.select(isFinite, first, code.make<arith::AddFOp>(x, x))));
    parts[1].push_back(word(second));
    parts[2].push_back(word(third));
    parts[3].push_back(word(code.select(isFinite, first, code.f32(0))));
  }
  return parts;
}

/// The products of two parts each that f32 would notice, the small ones first. The matrix unit truncates its sums: so
/// that this does not add up, they are added to the accumulator by an addition that rounds.
NvidiaLowering::Values NvidiaLowering::multiplySplit(StringRef instruction, const Atom &a, const Atom &b,
                                                     ArrayRef<Value> accumulator) {
  Values sum(4, code.f32(0));
  for (auto [left, right] : {std::pair(2, 3), {3, 2}, {1, 1}, {1, 3}, {3, 1}, {0, 0}})
    sum = multiply(instruction, a[left], b[right], sum);
  for (auto [total, part] : llvm::zip_equal(sum, accumulator))
    total = code.make<arith::AddFOp>(part, total);
  return sum;
}
