// Buffers in shared memory: where an element is, and how a tensor gets there and back.
#include "compiler/lower/nvidia/KernelLowering.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::ir;

LogicalResult KernelLowering::lower(AllocOp op) {
  std::optional<int64_t> offset = op.getOffset();
  if (!offset)
    return op.emitError("has no place in shared memory yet: plan shared memory first");
  buffers[op.getResult()] = {sharedAddress(*offset), op.getResult().getType()};
  return success();
}

void KernelLowering::lower(StageOp op) {
  const SharedBuffer ring = buffers.lookup(op.getRing());
  Value offset = code.mul(registers.lookup(op.getIndex()).front(), ring.type.stageBytes());
  buffers[op.getResult()] = {code.address(ring.address, offset), op.getResult().getType()};
}

/// Swizzles permute by XOR, so that what the thread and what the base contribute to the place in a row are XORed. Only
/// in bits that both may have is that an instruction; the rest is added to the address as it is.
Value KernelLowering::addressIn(const SharedBuffer &buffer, Bases lanes, Bases warps, ArrayRef<int64_t> base,
                                bool transposed) {
  const Swizzle swizzle = buffer.type.swizzle();
  const size_t rowDim = transposed ? 1 : 0, columnDim = 1 - rowDim;
  int64_t reach = 0;
  auto inRow = [&](ArrayRef<int64_t> at) {
    return at[columnDim] * buffer.type.elementBytes() ^ at[rowDim] / swizzle.step % swizzle.span * swizzle.unit;
  };
  auto bytes = [&](Bases bases) {
    return llvm::map_to_vector(bases, [&](const Coordinates &basis) {
      reach |= inRow(basis);
      return inRow(basis);
    });
  };
  const SmallVector<int64_t> laneBytes = bytes(lanes), warpBytes = bytes(warps);
  const int64_t constant = inRow(base);
  Value offset = gather(laneBytes, warpBytes);
  if (offset)
    offset = code.bitXor(offset, constant & reach);
  if (Value rows = threadPart(lanes, warps, rowDim)) {
    Value start = code.mul(rows, swizzle.rowBytes);
    offset = offset ? code.add(offset, start) : start;
  }
  return code.address(buffer.address, offset, base[rowDim] * swizzle.rowBytes + (constant & ~reach));
}

/// Elements in one access: neighbours in the layout, in the swizzle and in rows that end where vectors do.
static int64_t vectorElements(const Layout &layout, SharedType buffer, bool transposed) {
  const int64_t bytes = buffer.elementBytes();
  int64_t vector = vectorBytes(layout, static_cast<int>(8 * bytes), transposed, buffer.getUnit()) / bytes;
  while (buffer.getColumns() % vector != 0)
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

void KernelLowering::lower(WriteOp op) {
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
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getResult());
  const bool transposed = op.getTransposed();

  // 1. Fragments of matrix instructions come by ldmatrix, which wants rows at multiples of 16 bytes.
  const int bits = static_cast<int>(8 * buffer.type.elementBytes());
  const bool isAligned = buffer.type.swizzle().rowBytes % 16 == 0 && buffer.type.getUnit() >= 16;
  if (std::optional<MatrixAccesses> matrices = matrixAccesses(layout, bits, transposed ? 0 : 1);
      matrices && isAligned && !buffer.type.getElementType().isInteger(1)) {
    registers[op.getResult()] = readMatrices(buffer, layout, *matrices, transposed);
    return;
  }

  // 2. Others by vectors.
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

/// A lane gives the address of a row and receives parts of eight. Rows past the shape are read elsewhere: what they
/// hold does not matter, but shared memory may end there.
KernelLowering::Values KernelLowering::readMatrices(const SharedBuffer &buffer, const Layout &layout,
                                                    const MatrixAccesses &matrices, bool transposed) {
  Type held = heldType(buffer.type.getElementType());
  const int64_t wordElements = 32 / held.getIntOrFloatBitWidth();
  Values values(layout.registers());
  for (const MatrixAccess &access : matrices.accesses) {
    Value address = addressIn(buffer, access.laneBits, layout.warpBits(), access.base, transposed);
    if (Value present = inside(access.laneBits, layout.warpBits(), access.base, layout.shape()))
      address = code.select(present, address, buffer.address);
    const std::string name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + std::to_string(access.count) +
                             (matrices.trans ? ".trans" : "") + ".b16.p3";
    Values words = code.intrinsic(name, SmallVector<Type>(access.count, code.i32Type()), {address});
    for (auto [i, word] : llvm::enumerate(words))
      llvm::copy(code.unpack(word, held), values.begin() + access.firstRegister + i * wordElements);
  }
  for (Value &value : values)
    if (!value)
      value = zero(held);
  return values;
}
