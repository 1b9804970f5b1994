// Where a thread's elements are: the part of a coordinate that lane and warp decide, computed once in the function.
#include "compiler/lower/gpu/KernelLowering.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

const Layout &KernelLowering::layoutOf(Type type) {
  std::unique_ptr<Layout> &layout = layouts[type];
  if (!layout)
    layout = std::make_unique<Layout>(ir::layoutOf(cast<RankedTensorType>(type)));
  return *layout;
}

Value KernelLowering::once(const std::string &key, llvm::function_ref<Value()> make) {
  Value &value = known[key];
  if (!value) {
    OpBuilder::InsertionGuard guard(code.builder);
    code.builder.setInsertionPoint(prologueEnd);
    value = make();
  }
  return value;
}

static std::string text(ArrayRef<int64_t> bases) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::interleave(bases, os, " ");
  return result;
}

/// Neighbouring bits that move a number by neighbouring powers of two move it together: a mask and a shift.
static Value gatherBits(LaneCode &code, Value index, ArrayRef<int64_t> bases) {
  Value sum;
  for (size_t bit = 0; bit < bases.size();) {
    if (bases[bit] == 0) {
      ++bit;
      continue;
    }
    size_t end = bit + 1;
    while (end < bases.size() && bases[end] == bases[bit] << (end - bit) && llvm::isPowerOf2_64(bases[bit]))
      ++end;
    Value bits = code.shiftRight(index, bit);
    if (end != bases.size()) // the last bit is the index's own last one
      bits = code.bitAnd(bits, (int64_t{1} << (end - bit)) - 1);
    Value part = code.mul(bits, bases[bit]);
    sum = sum ? code.bitXor(sum, part) : part;
    bit = end;
  }
  return sum;
}

/// The bits of the warp's number come after those of the lane in the thread's, and may go on where those end. Without
/// bases nothing moves.
Value KernelLowering::gather(ArrayRef<int64_t> laneBases, ArrayRef<int64_t> warpBases) {
  SmallVector<int64_t> bases(laneBases);
  bases.resize(laneBits(), 0);
  llvm::append_range(bases, warpBases);
  bases.resize(laneBits() + llvm::Log2_64_Ceil(warps), 0);
  if (llvm::all_of(bases, [](int64_t basis) { return basis == 0; }))
    return {};
  return once("gather " + text(bases), [&] { return gatherBits(code, thread, bases); });
}

static SmallVector<int64_t> column(Layout::Bases bases, size_t d) {
  return llvm::map_to_vector(bases, [&](const Coordinates &basis) { return basis[d]; });
}

/// The lane's part and the warp's are found apart, each of which is wanted alone, too; a thread then keeps fewer
/// numbers in registers than with one for each pair.
Value KernelLowering::threadPart(Bases lanes, Bases warps, size_t d) {
  const SmallVector<int64_t> laneBases = column(lanes, d), warpBases = column(warps, d);
  Value ofLane = gather(laneBases, {}), ofWarp = gather({}, warpBases);
  if (!ofLane || !ofWarp)
    return ofLane ? ofLane : ofWarp;
  return once("part " + text(laneBases) + ", " + text(warpBases), [&] { return code.bitXor(ofLane, ofWarp); });
}

Value KernelLowering::coordinate(const Layout &layout, ArrayRef<int64_t> base, size_t d) {
  Value part = threadPart(layout, d);
  return part ? code.add(part, base[d]) : code.i32(base[d]);
}

Value KernelLowering::inside(Bases lanes, Bases warps, ArrayRef<int64_t> base, int64_t size, size_t d) {
  int64_t farthest = base[d];
  for (Bases bases : {lanes, warps})
    for (const Coordinates &basis : bases)
      farthest += basis[d];
  if (farthest < size)
    return {};
  Value part = threadPart(lanes, warps, d);
  return code.compare(arith::CmpIPredicate::slt, part ? code.add(part, base[d]) : code.i32(base[d]), size);
}

Value KernelLowering::inside(Bases lanes, Bases warps, ArrayRef<int64_t> base, ArrayRef<int64_t> shape) {
  Value all;
  for (size_t d = 0; d < shape.size(); ++d)
    if (Value within = inside(lanes, warps, base, shape[d], d))
      all = all ? code.bitAnd(all, within) : within;
  return all;
}

Value KernelLowering::isOwner(const Layout &layout) {
  const int64_t lanes = layout.replicatedLaneBits(), warps = layout.replicatedWarpBits();
  if (lanes == 0 && warps == 0)
    return {};
  return once("owner " + std::to_string(lanes) + " " + std::to_string(warps), [&] {
    Value copies = code.bitOr(code.bitAnd(lane, lanes), code.bitAnd(warp, warps));
    return code.compare(arith::CmpIPredicate::eq, copies, 0);
  });
}
