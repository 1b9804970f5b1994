// block.copy_async: from global to shared memory by chunks of 16 bytes, spread over all threads.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "compiler/lower/gpu/Window.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;
using P = arith::CmpIPredicate;

constexpr int64_t chunkBytes = 16;

LogicalResult NvidiaLowering::lower(CopyAsyncOp op) {
  orderAccess(op, op.getView());
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const int64_t chunk = chunkBytes / buffer.type.elementBytes();
  const Layout layout = Layout::blocked({buffer.type.getRows(), buffer.type.getColumns()}, warps, chunk);
  auto copyTile = [&] {
    const Window window = windowOf(op.getView(), op.getIndices(), layout.rank());
    // Most tiles are inside as a whole: one test then stands for one a chunk.
    code.choose(
        isWholeTile(window, layout.shape()), {}, [&] { return copyChunks(window, layout, buffer, false), Values(); },
        [&] { return copyChunks(window, layout, buffer, true), Values(); });
  };
  if (op.getCondition())
    code.when(registers.lookup(op.getCondition()).front(), copyTile);
  else
    copyTile();
  return success();
}

/// `guarded`: chunks may be outside of the view, and become 0. None is across its end, since tile.aligned16 says that
/// it consists of whole chunks.
void NvidiaLowering::copyChunks(const Window &window, const Layout &layout, const SharedBuffer &buffer, bool guarded) {
  const int64_t chunk = chunkBytes / window.bytes;
  // An address is found from the one before it: then only a few multiples of the strides take registers, not one a
  // chunk.
  Coordinates base = layout.base(0);
  Value from = addressIn(window, layout, base);
  for (int64_t reg = 0; reg < layout.registers(); reg += chunk) {
    if (layout.presence(reg) == Layout::Presence::none)
      continue;
    Coordinates distance = layout.base(reg);
    for (auto [now, before] : llvm::zip_equal(distance, base))
      now -= before;
    base = layout.base(reg);
    from = addressBeside(window, from, distance);
    auto copy = [&] {
      Value to = addressIn(buffer, layout.laneBits(), layout.warpBits(), base, /*transposed=*/false);
      Value isInside = guarded ? insideView(window, layout, base) : Value();
      if (!options.hasCpAsync()) {
        copyThroughRegisters(from, to, isInside);
        return;
      }
      if (!guarded) {
        code.intrinsic("llvm.nvvm.cp.async.cg.shared.global.16", {to, from});
        return;
      }
      Value bytes = code.select(isInside, code.i32(chunkBytes), code.i32(0));
      Value readable = code.select(isInside, from, window.array.pointer); // an address that exists, though none is read
      code.intrinsic("llvm.nvvm.cp.async.cg.shared.global.16.s", {to, readable, bytes});
    };
    Value mine = isOwner(layout);
    if (Value present = insideShape(layout, reg))
      mine = mine ? code.bitAnd(mine, present) : present;
    if (mine)
      code.when(mine, copy);
    else
      copy();
  }
}

/// What machines before cp.async do instead: the copy is complete at once. A null condition: always inside.
void NvidiaLowering::copyThroughRegisters(Value from, Value to, Value isInside) {
  Type word = code.i32Type();
  auto load = [&] { return code.unpack(code.load(code.vectorOf(4, word), from, chunkBytes), word); };
  auto zeros = [&] { return Values(4, code.i32(0)); };
  const Values words = isInside ? code.choose(isInside, SmallVector<Type>(4, word), load, zeros) : load();
  code.store(code.pack(words, code.vectorOf(4, word)), to, chunkBytes);
}
