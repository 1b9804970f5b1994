#include "compiler/transforms/WgmmaProducts.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

int64_t sectile::panelColumns(RankedTensorType tile) {
  const int64_t bytes = tile.getElementTypeBitWidth() / 8, columns = tile.getShape().back();
  for (int64_t rowBytes : {128, 64, 32})
    if (columns % (rowBytes / bytes) == 0)
      return rowBytes / bytes;
  return 0;
}

bool sectile::isBulkLoad(LoadOp load) {
  constexpr int64_t mostRows = 256, patternRows = 8;
  auto argument = cast<BlockArgument>(load.getView());
  auto kernel = cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
  auto fact = [&](StringRef name) { return kernel.getArgAttr(argument.getArgNumber(), name); };
  RankedTensorType type = load.getType();
  if (!fact("tile.bulk") || fact("tile.access") != StringAttr::get(load.getContext(), "input"))
    return false;
  if (std::optional<TypedAttr> padding = load.getPadding())
    if (auto number = dyn_cast<FloatAttr>(*padding); !number || !number.getValue().isPosZero())
      return false;
  return type.getRank() == 2 && isa<FloatType>(type.getElementType()) && type.getElementTypeBitWidth() <= 16 &&
         type.getShape()[0] <= mostRows && type.getShape()[0] % patternRows == 0 && panelColumns(type) != 0;
}

std::pair<LoadOp, bool> sectile::loadBehind(Value operand) {
  bool transposed = false;
  while (auto transpose = operand.getDefiningOp<TransposeOp>()) {
    transposed ^= !llvm::is_sorted(transpose.getOrder());
    operand = transpose.getSource();
  }
  return {operand.getDefiningOp<LoadOp>(), transposed};
}

bool sectile::isTakenByWarps(scf::IfOp branch) { return branch.getCondition().getDefiningOp<AnyOp>() != nullptr; }

static bool isInWarpsBranch(Operation *op) {
  for (auto branch = op->getParentOfType<scf::IfOp>(); branch; branch = branch->getParentOfType<scf::IfOp>())
    if (isTakenByWarps(branch))
      return true;
  return false;
}

/// 64 rows for each group of four warps; operands of one type of 16 bits; B from memory, A too or from registers.
static bool canMultiply(DotOp dot, int64_t warps) {
  constexpr int64_t rowsPerWarp = 16, mostColumns = 512;
  RankedTensorType a = dot.getA().getType(), b = dot.getB().getType();
  if (a.getElementType() != b.getElementType() || a.getElementTypeBitWidth() != 16)
    return false;
  const int64_t m = a.getShape()[0], k = a.getShape()[1], n = b.getShape()[1];
  if (warps % 4 != 0 || m != rowsPerWarp * warps || k % 16 != 0 || n % 8 != 0 || n > mostColumns)
    return false;
  LoadOp left = loadBehind(dot.getA()).first, right = loadBehind(dot.getB()).first;
  return right && isBulkLoad(right) && (!left || (isBulkLoad(left) && !loadBehind(dot.getA()).second));
}

/// Whether the iterations of a ring can be counted by the trips of a load's loop.
static bool isCounted(LoadOp load) {
  auto loop = load->getParentOfType<scf::ForOp>();
  return !loop || (matchPattern(loop.getStep(), m_One()) && !loop->getParentOfType<scf::ForOp>() &&
                   load->getBlock() == loop.getBody());
}

bool sectile::collectScalars(Operation *kernel, ArrayRef<Operation *> roots, llvm::SetVector<Operation *> &needed) {
  SmallVector<Operation *> pending(roots);
  bool isScalar = true;
  auto need = [&](Value value) {
    if (isa<ViewType, SharedType>(value.getType()))
      return;
    isScalar &= !isa<RankedTensorType>(value.getType());
    if (Operation *op = value.getDefiningOp()) {
      pending.push_back(op);
      return;
    }
    auto argument = cast<BlockArgument>(value);
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument == loop.getInductionVar())
      return;
    pending.push_back(loop.getTiedLoopInit(argument)->get().getDefiningOp());
    pending.push_back(loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp());
  };
  while (!pending.empty() && isScalar) {
    Operation *op = pending.pop_back_val();
    if (!op || op == kernel || !needed.insert(op))
      continue;
    isScalar &= !isa<LoadOp, ExtractOp>(op) || llvm::is_contained(roots, op);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      llvm::for_each(ValueRange{loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}, need);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      need(branch.getCondition());
    else if (auto load = dyn_cast<LoadOp>(op))
      llvm::for_each(load.getIndices(), need);
    else
      llvm::for_each(op->getOperands(), need);
    if (Operation *parent = op->getParentOp(); parent != kernel)
      pending.push_back(parent);
  }
  return isScalar;
}

SmallPtrSet<Operation *, 4> sectile::wgmmaProducts(KernelOp kernel, int64_t warps) {
  SmallPtrSet<Operation *, 4> products;
  SmallVector<Operation *> loads;
  bool areAll = true;
  kernel.walk([&](DotOp dot) {
    if (isInWarpsBranch(dot))
      return;
    areAll &= canMultiply(dot, warps);
    products.insert(dot);
    for (Value operand : {dot.getA(), dot.getB()})
      if (LoadOp load = loadBehind(operand).first) {
        areAll &= isCounted(load);
        loads.push_back(load);
      }
  });
  llvm::SetVector<Operation *> scalars;
  if (!areAll || !collectScalars(kernel, loads, scalars))
    products.clear();
  return products;
}
