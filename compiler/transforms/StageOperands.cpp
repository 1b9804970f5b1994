// Operands of matrix products go through shared memory.
//
//   1. For each operand: what it is a conversion of, maybe transposed. That tensor gets a buffer.
//   2. The buffer is filled where the tensor is made: by an asynchronous copy when it is a load of whole 16-byte
//      chunks that nothing else reads, else by a write, after the products that come before its own.
//   3. It is read just before the product; or, outside of the loop when the operand is made there and takes few
//      registers. Before the first read all threads meet at a barrier. What is made outside of the loop and read in it
//      is read last, after the waits for other operands: fragments are then read as the product needs them, and none
//      takes registers while the others arrive.
//   4. In a loop they also meet before the buffer is filled again, since others may still read it.
//
// AMD's fragments hold several k in a register, and no instruction turns them on the way. What does not run along k in
// memory (the values of attention) is turned as it is written: each thread loads a few rows of a few columns, and
// writes columns to a buffer that holds the transpose. Rows of A are loaded as fragments: nobody else needs them.
#include "compiler/ir/Block.h"
#include "compiler/ir/LayoutConversion.h"
#include "compiler/transforms/Barriers.h"
#include "compiler/transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

#include <functional>

namespace sectile {
#define GEN_PASS_DEF_STAGEOPERANDS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// An operand of a product, read from the buffer of a tensor.
struct Use {
  OpOperand *operand;
  bool transposed; ///< against the buffer
};

/// The tensor behind an operand, through its transposes.
std::pair<Value, bool> untransposed(Value operand) {
  bool transposed = false;
  while (auto transpose = operand.getDefiningOp<TransposeOp>()) {
    transposed ^= !llvm::is_sorted(transpose.getOrder());
    operand = transpose.getSource();
  }
  return {operand, transposed};
}

int64_t bytesOf(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

/// Whether a scalar is known to be a multiple of a number.
bool isMultipleOf(Value scalar, int64_t number) {
  APInt value;
  if (matchPattern(scalar, m_ConstantInt(&value)))
    return value.getSExtValue() % number == 0;
  Operation *op = scalar.getDefiningOp();
  if (isa_and_nonnull<arith::MulIOp>(op))
    return isMultipleOf(op->getOperand(0), number) || isMultipleOf(op->getOperand(1), number);
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return isMultipleOf(op->getOperand(0), number) && isMultipleOf(op->getOperand(1), number);
  return false;
}

/// Whether a load can become an asynchronous copy: of an array that the kernel only reads, in whole chunks, padded
/// with zeros.
bool isCopyable(LoadOp load) {
  auto argument = cast<BlockArgument>(load.getView());
  auto kernel = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto fact = [&](StringRef name) { return kernel.getArgAttr(argument.getArgNumber(), name); };
  RankedTensorType type = load.getType();
  const int64_t bytes = bytesOf(type.getElementType());
  if (!fact("tile.unit_stride") || !fact("tile.aligned16") ||
      fact("tile.access") != StringAttr::get(load.getContext(), "input"))
    return false;
  if (std::optional<TypedAttr> padding = load.getPadding())
    if (auto number = dyn_cast<FloatAttr>(*padding); !number || !number.getValue().isPosZero())
      return false;
  return type.getRank() == 2 && type.getShape().back() * bytes % 16 == 0 &&
         isMultipleOf(load.getIndices().back(), 16 / bytes);
}

/// How many groups are begun between one group and its wait in the same block; 0 when that depends on loops.
int32_t groupsBetween(CommitOp commit, WaitOp wait) {
  int32_t groups = 0;
  for (Operation *op = commit->getNextNode(); op != wait; op = op->getNextNode()) {
    if (op->getNumRegions() != 0)
      return 0;
    groups += isa<CommitOp>(op) ? 1 : 0;
  }
  return groups;
}

/// The operation of `block` that contains `op`, or is it.
Operation *ancestorIn(Block *block, Operation *op) { return block->findAncestorOpInBlock(*op); }

/// Whether an operand goes through shared memory: what crosses warps, and what comes from memory even where shuffles
/// would do.
bool isStaged(ConvertOp convert) {
  const auto kind = conversion(layoutOf(convert.getSource()), layoutOf(convert.getResult())).kind;
  Value origin = convert.getSource();
  if (auto cast = origin.getDefiningOp<CastOp>())
    origin = cast.getSource();
  return kind == Conversion::Kind::shared || (kind == Conversion::Kind::shuffle && origin.getDefiningOp<LoadOp>());
}

bool isAmd(DotKind kind) { return kind == DotKind::mfma || kind == DotKind::wmma; }

/// A layout in which each thread has `keys` x `vector` elements of [rows, columns], so that it can load along rows and
/// write along columns; lanes along columns first, then warps. With the register's bits of rows first where
/// `rowsFirst`.
Layout turnable(ArrayRef<int64_t> shape, int64_t keys, int64_t vector, int64_t lanes, int64_t warps, bool rowsFirst) {
  SmallVector<Coordinates> along, across, laneBits, warpBits;
  for (int64_t i = 1; i < vector; i *= 2)
    along.push_back({0, i});
  for (int64_t i = 1; i < keys; i *= 2)
    across.push_back({i, 0});
  int64_t columns = vector, rows = keys;
  auto next = [&]() -> Coordinates {
    if (columns < shape[1])
      return {0, std::exchange(columns, 2 * columns)};
    if (rows < shape[0])
      return {std::exchange(rows, 2 * rows), 0};
    return {0, 0};
  };
  for (int64_t i = 1; i < lanes; i *= 2)
    laneBits.push_back(next());
  for (int64_t i = 1; i < warps; i *= 2)
    warpBits.push_back(next());
  SmallVector<Coordinates> registers(rowsFirst ? across : along);
  registers.append(rowsFirst ? along : across);
  return Layout(registers, laneBits, warpBits, shape);
}

class Staging {
public:
  Staging(BlockKernelOp kernel, bool asyncCopies, int64_t operandRegisters)
      : kernel(kernel), asyncCopies(asyncCopies), operandRegisters(operandRegisters), builder(kernel.getContext()) {}

  void run();

private:
  void collect(BlockDotOp dot);
  void stage(Value tensor, ArrayRef<Use> uses);
  SharedType bufferType(RankedTensorType type, ArrayRef<Use> uses, bool isCopy);
  bool isReadOutside(const Use &use);
  bool loadAsFragment(BlockDotOp dot, OpOperand *operand, ConvertOp convert);
  Value turned(Value tensor, SmallVectorImpl<Use> &uses);
  Value readFor(Value tensor, Value buffer, const Use &use);

  BlockKernelOp kernel;
  bool asyncCopies;
  int64_t operandRegisters;
  OpBuilder builder;
  llvm::MapVector<Value, SmallVector<Use>> staged;
  SmallVector<std::pair<CommitOp, WaitOp>> groups; ///< and the first wait for each
  SmallVector<std::function<void()>> lateReads;    ///< of tensors that are made outside of the product's loop
};

void Staging::collect(BlockDotOp dot) {
  for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()}) {
    auto [tensor, transposed] = untransposed(operand->get());
    if (dot.getKind() == DotKind::fma) {
      staged[tensor].push_back({operand, transposed});
      continue;
    }
    auto convert = tensor.getDefiningOp<ConvertOp>();
    if (!convert)
      continue;
    if (isAmd(dot.getKind()) && !transposed && loadAsFragment(dot, operand, convert))
      continue;
    if (isStaged(convert))
      staged[convert.getSource()].push_back({operand, transposed});
  }
}

/// A's rows, where nobody else reads them and neighbours along k are neighbours in memory.
bool Staging::loadAsFragment(BlockDotOp dot, OpOperand *operand, ConvertOp convert) {
  auto load = convert.getSource().getDefiningOp<LoadOp>();
  if (operand != &dot.getAMutable() || !load || !load->hasOneUse() || !convert->hasOneUse())
    return false;
  auto argument = cast<BlockArgument>(load.getView());
  if (!kernel.getArgAttr(argument.getArgNumber(), "tile.unit_stride"))
    return false;
  load.getResult().setType(convert.getResult().getType());
  convert.getResult().replaceAllUsesWith(load.getResult());
  return true;
}

/// The transpose of a tensor, made such that threads have columns to write: of one that is only loaded for fragments
/// that run along its rows. `uses` change sides. Null: it stays as it is.
Value Staging::turned(Value tensor, SmallVectorImpl<Use> &uses) {
  auto type = cast<RankedTensorType>(tensor.getType());
  auto load = tensor.getDefiningOp<LoadOp>();
  const auto isTurned = [&](const Use &use) {
    auto dot = cast<BlockDotOp>(use.operand->getOwner());
    return isAmd(dot.getKind()) && (use.operand == &dot.getAMutable()) == use.transposed;
  };
  if (!llvm::all_of(uses, isTurned) || !load ||
      llvm::any_of(tensor.getUsers(), [](Operation *user) { return !isa<ConvertOp>(user); }))
    return {};
  // 1. Four rows, which are the neighbours of a fragment, by as many columns as keep all threads busy.
  const Layout before = layoutOf(type);
  ArrayRef<int64_t> shape = type.getShape();
  constexpr int64_t keys = 4, bytes = 16;
  const int64_t threads = before.lanes() * before.warps();
  int64_t vector = std::min<int64_t>(bytes / bytesOf(type.getElementType()), shape[1] & -shape[1]);
  while (vector > 1 && keys * vector * threads > shape[0] * shape[1])
    vector /= 2;
  if (shape[0] % keys != 0)
    return {};
  auto layout = [&](bool rowsFirst) {
    return turnable(shape, keys, vector, before.lanes(), before.warps(), rowsFirst);
  };
  load.getResult().setType(withLayout(type, layout(false)));
  // 2. The registers of a column side by side, and then it is a row.
  builder.setInsertionPointAfterValue(tensor);
  const Layout columns = layout(true);
  Value sorted = ConvertOp::create(builder, tensor.getLoc(), withLayout(type, columns), tensor);
  constexpr int64_t order[] = {1, 0};
  auto turnedType = RankedTensorType::get({shape[1], shape[0]}, type.getElementType());
  Value result = TransposeOp::create(builder, tensor.getLoc(), withLayout(turnedType, columns.transposed(order)),
                                     sorted, builder.getDenseI64ArrayAttr(order));
  for (Use &use : uses)
    use.transposed = !use.transposed;
  return result;
}

SharedType Staging::bufferType(RankedTensorType type, ArrayRef<Use> uses, bool isCopy) {
  const int64_t bytes = bytesOf(type.getElementType()), rowBytes = type.getShape()[1] * bytes;
  const int bits = static_cast<int>(8 * bytes);
  Swizzle swizzle = Swizzle::forRows(rowBytes);
  auto read = dyn_cast<RankedTensorType>(uses.front().operand->get().getType());
  const DotKind kind = cast<BlockDotOp>(uses.front().operand->getOwner()).getKind();
  const bool isMma = kind == DotKind::mma || isAmd(kind);
  const bool transposed = uses.front().transposed;
  if (isMma && !isCopy && rowBytes % 16 == 0 && !matrixAccesses(layoutOf(read), bits, transposed ? 0 : 1)) {
    const SharedAccess write{layoutOf(type), bits, false, vectorBytes(layoutOf(type), bits, false)};
    swizzle = chooseSwizzle(rowBytes, write,
                            {layoutOf(read), bits, transposed, vectorBytes(layoutOf(read), bits, transposed)});
  }
  return SharedType::get(type.getShape(), type.getElementType(), swizzle);
}

void Staging::stage(Value tensor, ArrayRef<Use> uses) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Block *home = tensor.getParentBlock(), *body = &kernel.getBody().front();
  Location loc = tensor.getLoc();

  // What reads the tensor otherwise than as one of these operands needs it in registers.
  auto load = tensor.getDefiningOp<LoadOp>();
  bool isCopy = load && asyncCopies && isCopyable(load);
  SmallVector<Operation *> readers(tensor.getUsers());
  llvm::SmallPtrSet<Operation *, 8> products;
  for (const Use &use : uses)
    products.insert(use.operand->getOwner());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (isa<ConvertOp, TransposeOp>(reader))
      readers.append(reader->user_begin(), reader->user_end());
    else
      isCopy &= products.contains(reader);
  }

  // 1. The buffer, outside of all loops.
  builder.setInsertionPointToStart(body);
  Value buffer = AllocOp::create(builder, loc, bufferType(type, uses, isCopy), IntegerAttr(), IntegerAttr());

  // 2. Filled. A load of registers stays under way while products before its own are computed.
  Operation *first = nullptr;
  for (const Use &use : uses) {
    Operation *user = ancestorIn(home, use.operand->getOwner());
    first = first && first->isBeforeInBlock(user) ? first : user;
  }
  builder.setInsertionPointAfterValue(tensor);
  if (!isCopy && std::any_of(builder.getInsertionPoint(), Block::iterator(first),
                             [](Operation &op) { return isa<BlockDotOp>(op); }))
    builder.setInsertionPoint(first);
  if (home != body)
    BarrierOp::create(builder, loc);
  CommitOp commit;
  if (isCopy) {
    CopyAsyncOp::create(builder, loc, load.getView(), load.getIndices(), buffer, Value());
    commit = CommitOp::create(builder, loc);
  } else {
    WriteOp::create(builder, loc, tensor, buffer);
  }

  // 3. Read, behind a barrier before the first product.
  builder.setInsertionPoint(first);
  if (isCopy)
    groups.emplace_back(commit, WaitOp::create(builder, loc, 0));
  BarrierOp::create(builder, loc);
  for (const Use &use : uses) {
    auto read = [=, this] { use.operand->set(readFor(tensor, buffer, use)); };
    if (use.operand->getOwner()->getBlock() == home || isReadOutside(use))
      read();
    else
      lateReads.push_back(read);
  }
}

/// Whether an operand is read where the tensor is made, and kept: when it takes few registers.
bool Staging::isReadOutside(const Use &use) {
  auto type = cast<RankedTensorType>(use.operand->get().getType());
  const int64_t registers = layoutOf(type).registers() * bytesOf(type.getElementType()) / 4;
  return registers <= operandRegisters;
}

Value Staging::readFor(Value tensor, Value buffer, const Use &use) {
  auto dot = cast<BlockDotOp>(use.operand->getOwner());
  if (dot.getKind() == DotKind::fma) {
    if (use.transposed && use.operand == &dot.getAMutable())
      dot.setTransposedA(true);
    else if (use.transposed)
      dot.setTransposedB(true);
    return buffer;
  }
  builder.setInsertionPoint(isReadOutside(use) ? ancestorIn(tensor.getParentBlock(), dot) : dot);
  return ReadOp::create(builder, dot.getLoc(), use.operand->get().getType(), buffer, use.transposed);
}

void Staging::run() {
  kernel.walk([&](BlockDotOp dot) { collect(dot); });
  for (auto &[tensor, uses] : staged) {
    Value transpose = turned(tensor, uses);
    stage(transpose ? transpose : tensor, uses);
  }
  for (const std::function<void()> &read : lateReads)
    read();
  for (auto [commit, wait] : groups)
    wait.setPending(groupsBetween(commit, wait));
}

struct StageOperands : sectile::impl::StageOperandsBase<StageOperands> {
  using StageOperandsBase::StageOperandsBase;

  void runOnOperation() override {
    getOperation()->walk([&](BlockKernelOp kernel) { Staging(kernel, asyncCopies, operandRegisters).run(); });
    // Loads, conversions and transposes that nothing uses any more.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isa<LoadOp, ConvertOp, TransposeOp>(op) && op->use_empty())
        op->erase();
    });
    sectile::dropRedundantBarriers(getOperation());
  }
};

} // namespace
