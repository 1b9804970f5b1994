// block.specialize: branches on the number of the warp, each with its own registers and its own numbers of threads and
// warps, which count from the role's first one.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

bool Role::isOneThread() const {
  if (!isa<SpecializeOp>(body->getParentOp()))
    return false;
  const auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return !body->walk([&](Operation *op) {
                return llvm::any_of(op->getResultTypes(), isTensor) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

Role sectile::nvidia::roleOf(Operation *op) {
  auto kernel = op->getParentOfType<BlockKernelOp>();
  auto roles = op->getParentOfType<SpecializeOp>();
  if (!roles)
    return {&kernel.getBody(), 0, static_cast<int64_t>(kernel.getWarps())};
  int64_t firstWarp = 0;
  for (auto [body, warps] : llvm::zip_equal(roles.getBodies(), roles.getWarps())) {
    if (body.findAncestorOpInRegion(*op))
      return {&body, firstWarp, warps};
    firstWarp += warps;
  }
  llvm_unreachable("an operation in roles is in one of them");
}

LogicalResult NvidiaLowering::lower(SpecializeOp op) {
  if (!options.hasSetmaxnreg())
    return op.emitOpError("has no lowering to sm_")
           << options.sm << (options.archSpecific ? "a" : "") << ": warps exchange registers from sm_90a on";
  OpBuilder::InsertionGuard guard(code.builder);
  int64_t firstWarp = 0;
  for (auto [i, body] : llvm::enumerate(op.getBodies())) {
    const Role role{&body, firstWarp, op.getWarps()[i]};
    firstWarp += role.warps;
    if (i + 1 == op.getBodies().size()) // the warps that are left
      return lowerRole(role, op.getRegisters()[i]);
    auto branch = scf::IfOp::create(code.builder, op.getLoc(), code.compare(arith::CmpIPredicate::slt, warp, firstWarp),
                                    /*withElseRegion=*/true);
    code.builder.setInsertionPointToStart(branch.thenBlock());
    if (failed(lowerRole(role, op.getRegisters()[i])))
      return failure();
    code.builder.setInsertionPointToStart(branch.elseBlock());
  }
  return success();
}

LogicalResult NvidiaLowering::lowerRole(const Role &role, int64_t budget) {
  // 1. From what each thread has at launch.
  const int64_t atLaunch = cast<SpecializeOp>(role.body->getParentOp()).registersAtLaunch();
  if (budget != atLaunch)
    code.intrinsic(budget > atLaunch ? "llvm.nvvm.setmaxnreg.inc.sync.aligned.u32"
                                     : "llvm.nvvm.setmaxnreg.dec.sync.aligned.u32",
                   {code.i32(budget)});

  // 2. Who it is. Barriers of all its threads have a number of their own; 0 is that of the block.
  llvm::SaveAndRestore savedWarps(warps, role.warps);
  llvm::SaveAndRestore savedThread(thread, code.add(thread, -role.firstWarp * warpSize));
  llvm::SaveAndRestore savedWarp(warp, code.add(warp, -role.firstWarp));
  llvm::SaveAndRestore savedGroup(group,
                                  {1 + static_cast<int64_t>(role.body->getRegionNumber()), role.warps * warpSize});

  // 3. What it does.
  LogicalResult result = success();
  auto perform = [&] {
    llvm::SaveAndRestore savedEnd(prologueEnd, code.i32(0).getDefiningOp());
    llvm::SaveAndRestore savedKnown(known);
    llvm::SaveAndRestore savedCount(isOneThread, role.isOneThread());
    result = lower(role.body->front());
  };
  if (role.isOneThread())
    byOneThread(perform);
  else
    perform();
  return result;
}

/// One and the same thread each time.
void NvidiaLowering::byOneThread(LaneCode::Body body) {
  if (isOneThread)
    return body();
  code.when(code.compare(arith::CmpIPredicate::eq, warp, 0), [&] {
    code.when(code.intrinsic("llvm.nvvm.elect.sync", {code.i32Type(), code.i1Type()}, {code.i32(-1)})[1], body);
  });
}
