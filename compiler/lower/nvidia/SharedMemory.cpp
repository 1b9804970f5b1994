// Buffers in shared memory: where an element is, and how a tensor gets there and back.
#include "compiler/lower/nvidia/KernelLowering.h"

using namespace mlir;
using namespace sectile::nvidia;
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

/// The ldmatrix or stmatrix instructions for a tensor, if it is a fragment of matrix instructions. They want rows at
/// multiples of 16 bytes.
static std::optional<MatrixAccesses> matricesIn(SharedType buffer, const Layout &layout, bool transposed) {
  if (buffer.swizzle().rowBytes % 16 != 0 || buffer.getUnit() < 16 || buffer.getElementType().isInteger(1))
    return std::nullopt;
  return matrixAccesses(layout, static_cast<int>(8 * buffer.elementBytes()), transposed ? 0 : 1);
}

/// Whether each warp has all rows of the matrices inside of the shape or none of them: those past it cannot be written
/// elsewhere, and lanes cannot stay away from the instruction.
static bool areWhole(const MatrixAccess &access, const Layout &layout, int64_t rowElements) {
  const Layout::Bases warps = layout.warpBits();
  for (size_t warp = 0; warp >> warps.size() == 0; ++warp) {
    bool begins = true, ends = true;
    for (size_t d = 0; d < 2; ++d) {
      int64_t first = access.base[d], last = d == 1 ? rowElements - 1 : 0;
      for (size_t bit = 0; bit < warps.size(); ++bit)
        first += (warp >> bit & 1) * warps[bit][d];
      for (const Coordinates &basis : access.laneBits)
        last += basis[d];
      begins &= first < layout.shape()[d];
      ends &= first + last < layout.shape()[d];
    }
    if (begins != ends)
      return false;
  }
  return true;
}

/// Whether wgmma reads a buffer, as it is or taken from a ring.
static bool isReadByMatrixUnit(Value buffer) {
  if (auto stage = buffer.getDefiningOp<StageOp>())
    buffer = stage.getRing();
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    return isa<DotAsyncOp>(user) || (isa<StageOp>(user) && llvm::any_of(user->getUsers(), llvm::IsaPred<DotAsyncOp>));
  });
}

void KernelLowering::lower(WriteOp op) {
  write(op);
  if (isReadByMatrixUnit(op.getBuffer())) // by a way of its own, past the threads' one
    code.intrinsic("llvm.nvvm.fence.proxy.async.shared_cta", {});
}

void KernelLowering::write(WriteOp op) {
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getValue());
  const Values values = registers.lookup(op.getValue());

  // 1. Fragments of matrix instructions go by stmatrix: a lane gives the address of a row and parts of eight.
  const int64_t rowElements = 16 / buffer.type.elementBytes(), wordElements = 4 / buffer.type.elementBytes();
  if (auto matrices = matricesIn(buffer.type, layout, /*transposed=*/false);
      matrices && options.hasStmatrix() &&
      llvm::all_of(matrices->accesses, [&](auto &access) { return areWhole(access, layout, rowElements); })) {
    for (const MatrixAccess &access : matrices->accesses) {
      auto write = [&] {
        Values arguments{addressIn(buffer, access.laneBits, layout.warpBits(), access.base, /*transposed=*/false)};
        for (int i = 0; i < access.count; ++i)
          arguments.push_back(code.pack(
              ArrayRef<Value>(values).slice(access.firstRegister + i * wordElements, wordElements), code.i32Type()));
        code.intrinsic("llvm.nvvm.stmatrix.sync.aligned.m8n8.x" + std::to_string(access.count) +
                           (matrices->trans ? ".trans" : "") + ".b16.p3",
                       arguments);
      };
      if (Value present = inside({}, layout.warpBits(), access.base, layout.shape())) // the same in all of a warp
        code.when(present, write);
      else
        write();
    }
    return;
  }

  // 2. Others by vectors.
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

/// Whether a read may wait for the product that it is for: nothing in between writes memory or waits for others.
static bool isReadByProduct(ReadOp op) {
  if (!op.getResult().hasOneUse())
    return false;
  auto dot = dyn_cast<BlockDotOp>(*op.getResult().getUsers().begin());
  if (!dot || dot.getKind() != DotKind::mma || dot->getBlock() != op->getBlock())
    return false;
  for (Operation *between = op->getNextNode(); between != dot; between = between->getNextNode())
    if (!isa<ReadOp>(between) && !isMemoryEffectFree(between))
      return false;
  return true;
}

void KernelLowering::lower(ReadOp op) {
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getResult());
  const bool transposed = op.getTransposed();
  Type held = heldType(buffer.type.getElementType());

  // 1. Fragments of matrix instructions come by ldmatrix. Products read theirs as they go, so that no more registers
  // are
  //    taken than needed.
  if (std::optional<MatrixAccesses> matrices = matricesIn(buffer.type, layout, transposed)) {
    const FragmentRead read{buffer, std::move(*matrices), transposed};
    if (isReadByProduct(op)) {
      fragments[op.getResult()] = read;
      return;
    }
    Values values(layout.registers());
    for (const MatrixAccess &access : read.matrices.accesses)
      readMatrices(read, layout, access, values);
    for (Value &value : values)
      if (!value) // past the shape, and not read
        value = zero(held);
    registers[op.getResult()] = values;
    return;
  }

  // 2. Others by vectors.
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
void KernelLowering::readMatrices(const FragmentRead &read, const Layout &layout, const MatrixAccess &access,
                                  Values &values) {
  const SharedBuffer &buffer = read.buffer;
  Type held = heldType(buffer.type.getElementType());
  Value address = addressIn(buffer, access.laneBits, layout.warpBits(), access.base, read.transposed);
  if (Value present = inside(access.laneBits, layout.warpBits(), access.base, layout.shape()))
    address = code.select(present, address, buffer.address);
  const std::string name = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x" + std::to_string(access.count) +
                           (read.matrices.trans ? ".trans" : "") + ".b16.p3";
  const int64_t wordElements = 32 / held.getIntOrFloatBitWidth();
  for (auto [i, word] :
       llvm::enumerate(code.intrinsic(name, SmallVector<Type>(access.count, code.i32Type()), {address})))
    llvm::copy(code.unpack(word, held), values.begin() + access.firstRegister + i * wordElements);
}
