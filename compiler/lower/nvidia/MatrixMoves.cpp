// Fragments of matrix instructions in shared memory: ldmatrix and stmatrix move blocks of 8 rows of 16 bytes, of which
// a lane gives the address of a row and has parts of eight.
#include "compiler/lower/nvidia/NvidiaLowering.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

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

/// By a way of its own, past the threads' one.
void NvidiaLowering::written(WriteOp op) {
  if (isReadByMatrixUnit(op.getBuffer()))
    code.intrinsic("llvm.nvvm.fence.proxy.async.shared_cta", {});
}

bool NvidiaLowering::writeFragment(WriteOp op) {
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getValue());
  const Values values = registers.lookup(op.getValue());
  const int64_t rowElements = 16 / buffer.type.elementBytes(), wordElements = 4 / buffer.type.elementBytes();
  auto matrices = matricesIn(buffer.type, layout, /*transposed=*/false);
  if (!matrices || !options.hasStmatrix() ||
      !llvm::all_of(matrices->accesses, [&](auto &access) { return areWhole(access, layout, rowElements); }))
    return false;
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
  return true;
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

/// Products read theirs as they go, so that no more registers are taken than needed.
bool NvidiaLowering::readFragment(ReadOp op) {
  const SharedBuffer buffer = buffers.lookup(op.getBuffer());
  const Layout &layout = layoutOf(op.getResult());
  std::optional<MatrixAccesses> matrices = matricesIn(buffer.type, layout, op.getTransposed());
  if (!matrices)
    return false;
  const FragmentRead read{buffer, std::move(*matrices), op.getTransposed()};
  if (isReadByProduct(op)) {
    fragments[op.getResult()] = read;
    return true;
  }
  Values values(layout.registers());
  for (const MatrixAccess &access : read.matrices.accesses)
    readMatrices(read, layout, access, values);
  for (Value &value : values)
    if (!value) // past the shape, and not read
      value = zero(heldType(buffer.type.getElementType()));
  registers[op.getResult()] = values;
  return true;
}

/// A lane gives the address of a row and receives parts of eight. Rows past the shape are read elsewhere: what they
/// hold does not matter, but shared memory may end there.
void NvidiaLowering::readMatrices(const FragmentRead &read, const Layout &layout, const MatrixAccess &access,
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
