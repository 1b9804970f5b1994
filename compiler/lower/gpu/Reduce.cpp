// tile.reduce: first the registers of a thread, then the lanes of a warp, then warps; the last two not where each lane
// keeps a part.
#include "compiler/lower/gpu/KernelLowering.h"

#include <limits>
#include <utility>

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

/// max and min of floats pass over NaN.
Value KernelLowering::combine(ReduceKind kind, Value a, Value b) {
  const bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case ReduceKind::max:
    return isFloat ? code.intrinsic("llvm.maxnum", a.getType(), {a, b}) : code.make<arith::MaxSIOp>(a, b);
  case ReduceKind::min:
    return isFloat ? code.intrinsic("llvm.minnum", a.getType(), {a, b}) : code.make<arith::MinSIOp>(a, b);
  case ReduceKind::sum:
    return isFloat ? code.make<arith::AddFOp>(a, b) : code.make<arith::AddIOp>(a, b);
  }
  llvm_unreachable("every kind is above");
}

Value KernelLowering::neutral(ReduceKind kind, Type type) {
  const bool isFloat = isa<FloatType>(type);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ReduceKind::max:
    return isFloat ? code.f32(-infinity) : code.i32(INT32_MIN);
  case ReduceKind::min:
    return isFloat ? code.f32(infinity) : code.i32(INT32_MAX);
  case ReduceKind::sum:
    return isFloat ? code.f32(-0.0) : code.i32(0);
  }
  llvm_unreachable("every kind is above");
}

LogicalResult KernelLowering::lower(ReduceOp op) {
  const size_t axis = op.getAxis();
  const bool lanesKeepParts = layoutOf(op.getResult()).atomSize(axis) > 1;
  const Layout &from = layoutOf(op.getSource()), to = lineLayout(op);
  const ReduceKind kind = op.getKind();
  Type element = op.getSource().getType().getElementType();
  Values source = registers.lookup(op.getSource());
  if (isa<FloatType>(element))
    source = widenAll(source, element);
  Value nothing = neutral(kind, source.front().getType());

  // 1. The registers that meet in one of the result, in chains that do not wait for each other: as many, over all
  //    results, as cover an instruction's latency, since each takes a register.
  const auto chains = static_cast<size_t>(std::max<int64_t>(4 / to.registers(), 1));
  SmallVector<Values> parts(to.registers());
  for (int64_t reg = 0; reg < from.registers(); ++reg) {
    Coordinates base = from.base(reg);
    if (base[axis] >= from.shape()[axis])
      continue;
    Value value = source[reg];
    if (Value present = inside(from.laneBits(), from.warpBits(), base, from.shape()[axis], axis))
      value = code.select(present, value, nothing);
    base[axis] = 0;
    const int64_t into = to.registerAt(base);
    if (into < 0)
      return op.emitError("needs a result in the source's layout, reduced");
    parts[into].push_back(value);
  }
  Values result;
  for (Values &list : parts) {
    for (size_t i = chains; i < list.size(); ++i)
      list[i % chains] = combine(kind, list[i % chains], list[i]);
    list.truncate(std::min(list.size(), chains));
    while (list.size() > 1) {
      for (size_t i = 0; i + 1 < list.size(); i += 2)
        list[i / 2] = combine(kind, list[i], list[i + 1]);
      if (list.size() % 2)
        list[list.size() / 2] = list.back();
      list.truncate((list.size() + 1) / 2);
    }
    result.push_back(list.empty() ? nothing : list.front());
  }

  // 2. Lanes that differ along the axis: afterwards they all hold the result.
  for (auto [bit, basis] : llvm::enumerate(from.laneBits()))
    if (basis[axis] != 0 && !lanesKeepParts)
      for (Value &value : result)
        value = combine(kind, value, shuffleXor(value, int64_t{1} << bit));

  // 3. Warps that differ along it.
  if (llvm::any_of(from.warpBits(), [&](const Coordinates &basis) { return basis[axis] != 0; })) {
    result = acrossWarps(op, result);
    if (result.empty())
      return failure();
  }

  // 4. A line of nothing but NaN reduces as if it were empty.
  if (isa<FloatType>(element)) {
    if (kind != ReduceKind::sum)
      for (Value &value : result)
        value = combine(kind, value, nothing);
    result = narrowAll(result, element);
    nothing = narrowAll(nothing, element).front();
  }
  registers[op.getResult()] = lanesKeepParts ? result : inFirstPart(op, result, nothing);
  return success();
}

/// The layout in which a thread has what it combines of each line: one register a line.
Layout KernelLowering::lineLayout(ReduceOp op) {
  const Layout &to = layoutOf(op.getResult());
  return to.atomSize(op.getAxis()) > 1 ? to : layoutOf(op.getSource()).sliced(static_cast<int64_t>(op.getAxis()));
}

/// Where lanes do not keep parts, the first is everything and the others are nothing.
KernelLowering::Values KernelLowering::inFirstPart(ReduceOp op, const Values &lines, Value nothing) {
  const Layout &to = layoutOf(op.getResult()), from = lineLayout(op);
  Values parts;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    Coordinates base = to.base(reg);
    const bool isFirst = std::exchange(base[op.getAxis()], 0) == 0;
    parts.push_back(isFirst ? lines[from.registerAt(base)] : nothing);
  }
  return parts;
}

/// Every thread leaves its part, then reads those of all the warps along the axis, in one order: so all of them come to
/// the same result.
KernelLowering::Values KernelLowering::acrossWarps(ReduceOp op, const Values &partial) {
  const Layout &from = layoutOf(op.getSource()), to = lineLayout(op);
  Value scratch = scratchOf(op);
  if (!scratch)
    return {};

  // 1. The parts are numbered by the bits of the warp that move along the axis; each is a copy of the result.
  SmallVector<int64_t> numbering(from.warpBits().size(), 0);
  int64_t parts = 1;
  for (auto [bit, basis] : llvm::enumerate(from.warpBits()))
    if (basis[op.getAxis()] != 0) {
      numbering[bit] = parts;
      parts *= 2;
    }
  const int64_t partBytes = 4 * (op.getSource().getType().getNumElements() / from.shape()[op.getAxis()]);
  Value ownPart = code.address(scratch, code.mul(gather({}, numbering), partBytes));

  // 2. Write.
  barrier();
  for (auto [reg, value] : llvm::enumerate(partial)) {
    auto write = [&, reg = reg, value = value] { code.store(value, rowMajorAddress(ownPart, to, to.base(reg), 4), 4); };
    if (Value present = insideShape(to, reg))
      code.when(present, write);
    else
      write();
  }

  // 3. Read.
  barrier();
  Values result;
  for (auto [reg, value] : llvm::enumerate(partial)) {
    Value sum, present = insideShape(to, reg);
    for (int64_t part = 0; part < parts; ++part) {
      Value start = code.address(scratch, {}, part * partBytes);
      Value address = rowMajorAddress(start, to, to.base(reg), 4);
      if (present)
        address = code.select(present, address, scratch);
      Value other = code.load(value.getType(), address, 4);
      sum = sum ? combine(op.getKind(), sum, other) : other;
    }
    result.push_back(sum);
  }
  return result;
}
