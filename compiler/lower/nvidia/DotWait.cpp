// block.dot_wait, and what keeps it where it is.
//
// Neither LLVM nor ptxas see that the wait is what completes a product's registers. Two things order code around it:
//
//   * The result passes through assembly without instructions ("" with "=f,…,0,1,…"), so that no use comes before it.
//   * ptxas moves a wait up past arithmetic, which then does not run beside the product. It does not move it past a
//     branch: where there is none, a branch is made that depends on the last number computed and is never taken. It
//     compares with a NaN that no arithmetic gives; its barrier, of a warp with itself, would do no harm.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

/// The same numbers, which nothing knows anything about. Assembly has so many operands at most.
static LaneCode::Values opaque(LaneCode &code, ArrayRef<Value> values) {
  constexpr size_t most = 128;
  LaneCode::Values result;
  for (; !values.empty(); values = values.drop_front(std::min(most, values.size()))) {
    const ArrayRef<Value> part = values.take_front(most);
    SmallVector<std::string> constraints(part.size(), "=f");
    for (size_t i = 0; i < part.size(); ++i)
      constraints.push_back(std::to_string(i));
    llvm::append_range(
        result, code.assembly("", llvm::join(constraints, ","), SmallVector<Type>(part.size(), code.f32Type()), part));
  }
  return result;
}

/// Whether an operation on tensors is arithmetic, not a new name for what there is.
static bool isArithmetic(Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()) || isa<arith::ConstantOp>(op))
    return false;
  return isa<ReduceOp, CastOp>(op) || isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

/// What comes between a wait and the last product, wait, or branch before it; latest first.
static SmallVector<Operation *> straightBefore(DotWaitOp wait) {
  SmallVector<Operation *> operations;
  for (Operation *op = wait->getPrevNode(); op; op = op->getPrevNode()) {
    if (isa<DotAsyncOp, DotWaitOp, scf::IfOp, scf::ForOp, AcquireOp, WaitFullOp>(op))
      return operations;
    operations.push_back(op);
  }
  return operations;
}

static bool isUsedAfter(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *inBlock = op->getBlock()->findAncestorOpInBlock(*user);
    return inBlock && op->isBeforeInBlock(inBlock);
  });
}

void NvidiaLowering::holdBack(DotWaitOp wait) {
  const SmallVector<Operation *> before = straightBefore(wait);
  auto isFloat = [&](Value value) { return value.getType().isF32() && !value.getDefiningOp<arith::ConstantOp>(); };
  auto last = llvm::find_if(before, [&](Operation *op) {
    return isArithmetic(op) && !registers.lookup(op->getResult(0)).empty() &&
           isFloat(registers.lookup(op->getResult(0)).back());
  });
  if (last == before.end())
    return;

  // 1. What was computed and will be used is computed here.
  llvm::MapVector<Value, Value> live;
  live[registers.lookup((*last)->getResult(0)).back()] = {};
  SmallVector<Value> tensors;
  for (Operation *op : before)
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()) && isUsedAfter(result, wait)) {
        tensors.push_back(result);
        for (Value value : registers.lookup(result))
          if (isFloat(value))
            live[value] = {};
      }
  const Values held = ::opaque(code, llvm::map_to_vector(live, [](auto &entry) { return entry.first; }));
  for (auto [entry, value] : llvm::zip_equal(live, held))
    entry.second = value;
  for (Value tensor : tensors)
    for (Value &value : registers[tensor])
      if (Value known = live.lookup(value))
        value = known;

  // 2. The branch.
  constexpr int64_t neverComputed = 0x7fdecade;
  Value bits = code.bitcast(held.front(), code.i32Type());
  code.when(code.compare(arith::CmpIPredicate::eq, bits, neverComputed),
            [&] { code.assembly("bar.sync 15, 32;", "", {}, {}); });
}

LogicalResult NvidiaLowering::lower(DotWaitOp op) {
  constexpr int64_t most = 7; // that the instruction can leave
  holdBack(op);
  code.intrinsic("llvm.nvvm.wgmma.wait_group.sync.aligned",
                 {code.i64(std::min<int64_t>(static_cast<int64_t>(op.getPending()), most))});
  registers[op.getResult()] = ::opaque(code, registers.lookup(op.getToken()));
  return success();
}
