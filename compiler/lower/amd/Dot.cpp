// block.dot by matrix instructions: MFMA on CDNA, WMMA on RDNA, one for each atom of the result and each atom along k
// (two on machines whose MFMA takes half of an atom).
//
// Products are computed transposed (compiler/ir/AmdFragments.h): an instruction's first operand is the atom of B, its
// second that of A. What it takes are vectors, whose elements are registers one after another.
#include "compiler/lower/amd/AmdLowering.h"

using namespace mlir;
using namespace sectile::amd;
using namespace sectile::gpu;
using namespace sectile::ir;

/// Registers of an operand, those past the end of k set to 0: in both operands, since 0 * NaN is NaN.
AmdLowering::Values AmdLowering::elements(Value operand, size_t depthAxis, int64_t first, int64_t count) {
  const Layout &layout = layoutOf(operand);
  const Values &values = registers[operand];
  const int64_t depth = layout.shape()[depthAxis];
  Values result;
  for (int64_t reg = first; reg < first + count; ++reg) {
    Value value = values[static_cast<size_t>(reg)], nothing = zero(value.getType());
    const Coordinates base = layout.base(reg);
    if (base[depthAxis] >= depth)
      value = nothing;
    else if (Value present = inside(layout.laneBits(), layout.warpBits(), base, depth, depthAxis))
      value = code.select(present, value, nothing);
    result.push_back(value);
  }
  return result;
}

/// One atom along k. bf16 is passed as integers, except to gfx950's instructions.
Value AmdLowering::multiply(ArrayRef<Value> a, ArrayRef<Value> b, Value accumulator) {
  Type element = a.front().getType();
  const bool isBf16 = element.isBF16(), isMfma = warpLanes == 64;
  auto product = [&](StringRef name, size_t begin, size_t count, Type passed) {
    auto vector = [&](ArrayRef<Value> values) {
      Value whole = code.pack(values.slice(begin, count), code.vectorOf(static_cast<int64_t>(count), element));
      return code.bitcast(whole, code.vectorOf(static_cast<int64_t>(count), passed));
    };
    Values arguments{vector(b), vector(a), accumulator};
    if (isMfma) // no broadcast, no permutation
      arguments.append(3, code.i32(0));
    accumulator = code.intrinsic(name, accumulator.getType(), arguments);
  };
  if (!isMfma) {
    product(isBf16 ? "llvm.amdgcn.wmma.f32.16x16x16.bf16" : "llvm.amdgcn.wmma.f32.16x16x16.f16", 0, a.size(),
            isBf16 ? code.i16Type() : element);
  } else if (options.hasWideMfma) {
    product(isBf16 ? "llvm.amdgcn.mfma.f32.32x32x16.bf16" : "llvm.amdgcn.mfma.f32.32x32x16.f16", 0, a.size(), element);
  } else {
    for (size_t half : {0, 1})
      product(isBf16 ? "llvm.amdgcn.mfma.f32.32x32x8bf16.1k" : "llvm.amdgcn.mfma.f32.32x32x8f16", half * a.size() / 2,
              a.size() / 2, isBf16 ? code.i16Type() : element);
  }
  return accumulator;
}

LogicalResult AmdLowering::lowerByMatrixUnit(BlockDotOp op) {
  const Layout &layout = layoutOf(op.getAccumulator()), &left = layoutOf(op.getA()), &right = layoutOf(op.getB());
  const int64_t rows = layout.repeats(0), columns = layout.repeats(1), depth = left.repeats(1);
  auto atomSize = [](const Layout &of) { return of.registers() / (of.repeats(0) * of.repeats(1)); };
  const int64_t sumSize = atomSize(layout), leftSize = atomSize(left), rightSize = atomSize(right);

  // 1. Accumulators as vectors.
  Type vector = code.vectorOf(sumSize, code.f32Type());
  const Values &sums = registers[op.getAccumulator()];
  Values accumulators;
  for (int64_t i = 0; i < rows * columns; ++i)
    accumulators.push_back(code.pack(ArrayRef<Value>(sums).slice(i * sumSize, sumSize), vector));

  // 2. Along k outside, so that instructions side by side do not wait for each other.
  for (int64_t k = 0; k < depth; ++k) {
    SmallVector<Values> atoms;
    for (int64_t i = 0; i < rows; ++i)
      atoms.push_back(elements(op.getA(), 1, (i * depth + k) * leftSize, leftSize));
    for (int64_t j = 0; j < columns; ++j) {
      const Values atom = elements(op.getB(), 0, (k * columns + j) * rightSize, rightSize);
      for (int64_t i = 0; i < rows; ++i) {
        Value &accumulator = accumulators[static_cast<size_t>(i * columns + j)];
        accumulator = multiply(atoms[static_cast<size_t>(i)], atom, accumulator);
      }
    }
  }

  // 3. And as registers again. WMMA wants all lanes; LLVM would move one that only a store needs into the branch around
  //    that, which lanes outside of the array do not take.
  Values result;
  for (Value accumulator : accumulators) {
    if (op.getKind() == DotKind::wmma)
      accumulator = opaque(accumulator);
    llvm::append_range(result, code.unpack(accumulator, code.f32Type()));
  }
  registers[op.getResult()] = result;
  return success();
}
