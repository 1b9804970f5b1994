// tile.any: a vote of the warp on what its registers hold.
#include "compiler/lower/gpu/KernelLowering.h"

#include "compiler/analysis/Scratch.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

/// What all threads of the block have to take part in, or null.
static Operation *findMeeting(scf::IfOp branch) {
  Operation *meeting = nullptr;
  branch.walk([&](Operation *inside) {
    if (isa<BarrierOp>(inside) || sectile::scratchBytes(inside) != 0)
      meeting = inside;
    return meeting ? WalkResult::interrupt() : WalkResult::advance();
  });
  return meeting;
}

LogicalResult KernelLowering::lower(AnyOp op) {
  // 1. Warps answer differently.
  for (Operation *user : op.getResult().getUsers())
    if (auto branch = dyn_cast<scf::IfOp>(user))
      if (Operation *meeting = findMeeting(branch))
        return meeting->emitOpError("lets all threads meet, in a branch on tile.any, where a warp may be alone");

  // 2. The registers of a thread, those past the shape left out, then the lanes.
  const Layout &layout = layoutOf(op.getSource());
  Value any = code.integer(code.i1Type(), 0);
  for (auto [reg, value] : llvm::enumerate(registers.lookup(op.getSource()))) {
    const auto presence = layout.presence(static_cast<int64_t>(reg));
    if (presence == Layout::Presence::none)
      continue;
    if (presence == Layout::Presence::some)
      value = code.bitAnd(value, insideShape(layout, static_cast<int64_t>(reg)));
    any = code.bitOr(any, value);
  }
  registers[op.getResult()] = {anyLane(any)};
  return success();
}
