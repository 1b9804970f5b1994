// Buffers in shared memory: where an element is, and how a tensor gets there and back.
#include "compiler/lower/gpu/KernelLowering.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

LogicalResult KernelLowering::lower(AllocOp op) {
  std::optional<int64_t> offset = op.getOffset();
  if (!offset)
    return op.emitError("has no place in shared memory yet: plan shared memory first");
  SharedBuffer &buffer = buffers[op.getResult()] = {sharedAddress(*offset), op.getType()};
  if (std::optional<int64_t> barriers = op.getBarriers())
    buffer.barriers = sharedAddress(*barriers);
  return success();
}

void KernelLowering::lower(StageOp op) {
  const SharedBuffer ring = buffers.lookup(op.getRing());
  Value offset = code.mul(registers.lookup(op.getIndex()).front(), ring.type.stageBytes());
  buffers[op.getResult()] = {code.address(ring.address, offset), op.getResult().getType()};
}

/// Swizzles permute by XOR, so that what the thread and what the base contribute to the place in a row are XORed. Only
/// in bits that both may have is that an instruction; the rest is added to the address as it is. Where rows are a power
/// of two apart, the thread's row is in bits of its own: one number holds all of the thread's part, for every base.
/// The bits of a column that do not fit into a panel count panels.
Value KernelLowering::addressIn(const SharedBuffer &buffer, Bases lanes, Bases warps, ArrayRef<int64_t> base,
                                bool transposed) {
  const Swizzle swizzle = buffer.type.swizzle();
  const size_t rowDim = transposed ? 1 : 0, columnDim = 1 - rowDim;
  const bool joined = llvm::isPowerOf2_64(swizzle.rowBytes);
  const int64_t panel = buffer.type.hasPanels() ? buffer.type.getPanel() : int64_t{1} << 32;
  int64_t reach = 0;
  auto inRow = [&](ArrayRef<int64_t> at) {
    return at[columnDim] % panel * buffer.type.elementBytes() ^ at[rowDim] / swizzle.step % swizzle.span * swizzle.unit;
  };
  auto bytes = [&](Bases bases) {
    return llvm::map_to_vector(bases, [&](const Coordinates &basis) {
      reach |= inRow(basis);
      return inRow(basis) + (joined ? basis[rowDim] * swizzle.rowBytes : 0);
    });
  };
  auto panels = [&](Bases bases) {
    return llvm::map_to_vector(bases, [&](const Coordinates &basis) { return basis[columnDim] / panel; });
  };
  const SmallVector<int64_t> laneBytes = bytes(lanes), warpBytes = bytes(warps);
  const int64_t constant = inRow(base);
  Value offset = gather(laneBytes, warpBytes);
  if (offset)
    offset = code.bitXor(offset, constant & reach);
  auto move = [&](Value count, int64_t bytes) {
    Value moved = count ? code.mul(count, bytes) : Value();
    offset = offset && moved ? code.add(offset, moved) : moved ? moved : offset;
  };
  move(joined ? Value() : threadPart(lanes, warps, rowDim), swizzle.rowBytes);
  move(gather(panels(lanes), panels(warps)), buffer.type.panelBytes());
  return code.address(buffer.address, offset,
                      base[columnDim] / panel * buffer.type.panelBytes() + base[rowDim] * swizzle.rowBytes +
                          (constant & ~reach));
}

/// Elements in one access: neighbours in the layout, in the swizzle and in rows that end where vectors do.
static int64_t vectorElements(const Layout &layout, SharedType buffer, bool transposed) {
  const int64_t bytes = buffer.elementBytes();
  int64_t vector = vectorBytes(layout, static_cast<int>(8 * bytes), transposed, buffer.getUnit()) / bytes;
  while (buffer.getPanel() % vector != 0)
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

void KernelLowering::lower(WriteOp op) {
  if (!writeFragment(op))
    writeVectors(op);
  written(op);
}

void KernelLowering::writeVectors(WriteOp op) {
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getValue());
  const Values values = registers.lookup(op.getValue());
  const int64_t vector = vectorElements(layout, buffer.type, /*transposed=*/false);
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    if (layout.presence(reg) == Layout::Presence::none)
      continue;
    auto write = [&] {
      storeVector(ArrayRef<Value>(values).slice(reg, vector),
                  addressIn(buffer, layout.laneBits(), layout.warpBits(), layout.base(reg), /*transposed=*/false));
    };
    if (Value present = insideShape(layout, reg))
      code.when(present, write);
    else
      write();
  }
}

void KernelLowering::lower(ReadOp op) {
  if (readFragment(op))
    return;
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getResult());
  const bool transposed = op.getTransposed();
  Type held = heldType(buffer.type.getElementType());
  const int64_t vector = vectorElements(layout, buffer.type, transposed);
  Values values;
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    if (layout.presence(reg) == Layout::Presence::none) {
      values.append(vector, zero(held));
      continue;
    }
    Value address = addressIn(buffer, layout.laneBits(), layout.warpBits(), layout.base(reg), transposed);
    if (Value present = insideShape(layout, reg))
      address = code.select(present, address, buffer.address);
    llvm::append_range(values, loadVector(held, vector, address));
  }
  registers[op.getResult()] = values;
}
