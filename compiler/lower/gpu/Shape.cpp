// Operations that make tensors and give them other shapes: they rename registers.
#include "compiler/lower/gpu/KernelLowering.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

void KernelLowering::lower(SplatOp op) {
  registers[op.getResult()] = Values(layoutOf(op.getResult()).registers(), registers.lookup(op.getValue()).front());
}

void KernelLowering::lower(IotaOp op) {
  const Layout &layout = layoutOf(op.getResult());
  Values values;
  for (int64_t reg = 0; reg < layout.registers(); ++reg)
    values.push_back(coordinate(layout, layout.base(reg), 0));
  registers[op.getResult()] = values;
}

LogicalResult KernelLowering::lower(ExtractOp op) {
  const Layout &layout = layoutOf(op.getSource());
  const int64_t allLanes = warpLanes - 1;
  if (layout.replicatedLaneBits() != allLanes || layout.replicatedWarpBits() != layout.warps() - 1)
    return op.emitError("needs an element that all threads hold");
  registers[op.getResult()] = {registers.lookup(op.getSource()).front()};
  return success();
}

LogicalResult KernelLowering::lower(BroadcastOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getResult());
  const Values source = registers.lookup(op.getSource());
  Values values;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    Coordinates base = to.base(reg);
    for (size_t d = 0; d < from.rank(); ++d)
      if (from.shape()[d] == 1)
        base[d] = 0;
    const int64_t origin = from.registerAt(base);
    if (origin < 0)
      return op.emitError("needs the source in the result's layout, sliced");
    values.push_back(source[origin]);
  }
  registers[op.getResult()] = values;
  return success();
}

/// Free where the registers keep their numbers; else by way of shared memory.
LogicalResult KernelLowering::lower(ReshapeOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getResult());
  const Values source = registers.lookup(op.getSource());
  if (from.reshaped(to.shape()) == to) {
    registers[op.getResult()] = source;
    return success();
  }
  Value scratch = scratchOf(op);
  if (!scratch)
    return failure();
  registers[op.getResult()] = throughShared(from, to, source, scratch);
  return success();
}

LogicalResult KernelLowering::lower(TransposeOp op) {
  const Layout &from = layoutOf(op.getSource()), &to = layoutOf(op.getResult());
  const Values source = registers.lookup(op.getSource());
  Values values;
  for (int64_t reg = 0; reg < to.registers(); ++reg) {
    Coordinates base = to.base(reg), origin(base.size(), 0);
    for (auto [d, sourceDim] : llvm::enumerate(op.getOrder()))
      origin[sourceDim] = base[d];
    const int64_t sourceReg = from.registerAt(origin);
    if (sourceReg < 0)
      return op.emitError("needs the source's layout, transposed");
    values.push_back(source[sourceReg]);
  }
  registers[op.getResult()] = values;
  return success();
}
