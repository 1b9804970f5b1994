// Four more warps fill the rings.
//
//     scf.for %j { acquire; copy_bulk; wait_full; … ; release }
//
//  => block.specialize roles ["consumer", "producer"] {
//       scf.for %j iter_args(…) { wait_full; … ; release }
//     }, {
//       scf.for %j { acquire; copy_bulk }
//     }
//
// The producer's warps have no tensors: what it needs, it computes from scalars.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/WgmmaProducts.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace sectile {
#define GEN_PASS_DEF_SPECIALIZEWARPS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

constexpr int32_t producerWarps = 4; // registers change hands by groups of four

/// The part of a kernel that fills its rings, built anew.
class Producer {
public:
  Producer(OpBuilder &builder, const llvm::SetVector<Operation *> &needed) : builder(builder), needed(needed) {}

  void clone(Block &block) {
    for (Operation &op : block)
      if (needed.contains(&op))
        clone(&op);
  }

private:
  void clone(Operation *op);
  void clone(scf::ForOp loop);
  void clone(scf::IfOp branch);

  OpBuilder &builder;
  const llvm::SetVector<Operation *> &needed;
  IRMapping mapping;
};

void Producer::clone(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    clone(loop);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    clone(branch);
  else
    builder.clone(*op, mapping);
}

/// With the scalars only that go around it and are needed.
void Producer::clone(scf::ForOp loop) {
  auto isCarried = [&](Value yielded) {
    Operation *op = yielded.getDefiningOp();
    return !isa<RankedTensorType>(yielded.getType()) && (!op || needed.contains(op));
  };
  SmallVector<Value> inits;
  SmallVector<size_t> carried;
  for (auto [i, yielded] : llvm::enumerate(loop.getYieldedValues()))
    if (isCarried(yielded)) {
      carried.push_back(i);
      inits.push_back(mapping.lookupOrDefault(loop.getInitArgs()[i]));
    }
  auto copy =
      scf::ForOp::create(builder, loop.getLoc(), mapping.lookupOrDefault(loop.getLowerBound()),
                         mapping.lookupOrDefault(loop.getUpperBound()), mapping.lookupOrDefault(loop.getStep()), inits);
  OpBuilder::InsertionGuard guard(builder);
  mapping.map(loop.getInductionVar(), copy.getInductionVar());
  for (auto [from, to, result] : llvm::zip_equal(carried, copy.getRegionIterArgs(), copy.getResults())) {
    mapping.map(loop.getRegionIterArg(from), to);
    mapping.map(loop.getResult(from), result);
  }
  if (inits.empty())
    builder.setInsertionPoint(copy.getBody()->getTerminator());
  else
    builder.setInsertionPointToEnd(copy.getBody());
  clone(*loop.getBody());
  if (!inits.empty())
    scf::YieldOp::create(builder, loop.getLoc(), llvm::map_to_vector(carried, [&](size_t i) {
                           return mapping.lookupOrDefault(loop.getYieldedValues()[i]);
                         }));
}

/// Without results: nothing that a producer needs comes out of a branch.
void Producer::clone(scf::IfOp branch) {
  const bool hasElse =
      branch.elseBlock() && llvm::any_of(*branch.elseBlock(), [&](Operation &op) { return needed.contains(&op); });
  auto copy = scf::IfOp::create(builder, branch.getLoc(), mapping.lookupOrDefault(branch.getCondition()), hasElse);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(copy.thenBlock()->getTerminator());
  clone(*branch.thenBlock());
  if (hasElse) {
    builder.setInsertionPoint(copy.elseBlock()->getTerminator());
    clone(*branch.elseBlock());
  }
}

void specialize(BlockKernelOp kernel, int32_t registers, int32_t producerRegisters) {
  SmallVector<Operation *> copies;
  kernel.walk([&](Operation *op) {
    if (isa<AcquireOp, CopyBulkOp>(op))
      copies.push_back(op);
  });
  if (copies.empty())
    return;
  llvm::SetVector<Operation *> needed;
  collectScalars(kernel, copies, needed);

  // 1. Two roles at the end of the kernel; buffers stay outside of them.
  Block &body = kernel.getBody().front();
  OpBuilder builder(body.getTerminator());
  const auto warps = static_cast<int32_t>(kernel.getWarps());
  auto roles = SpecializeOp::create(builder, kernel.getLoc(), builder.getStrArrayAttr({"consumer", "producer"}),
                                    ArrayRef<int32_t>{warps, producerWarps}, ArrayRef{registers, producerRegisters}, 2);
  kernel.setWarps(static_cast<uint32_t>(warps + producerWarps));
  Block &consumer = roles.getBodies()[0].emplaceBlock(), &producer = roles.getBodies()[1].emplaceBlock();

  // 2. The producer is made anew, then the rest becomes the consumer.
  builder.setInsertionPointToStart(&producer);
  Producer(builder, needed).clone(body);
  for (Operation &op : llvm::make_early_inc_range(body))
    if (!isa<AllocOp, SpecializeOp, BlockReturnOp>(op))
      op.moveBefore(&consumer, consumer.end());
  for (Operation *copy : copies)
    copy->erase();
}

struct SpecializeWarps : sectile::impl::SpecializeWarpsBase<SpecializeWarps> {
  using SpecializeWarpsBase::SpecializeWarpsBase;

  void runOnOperation() override {
    getOperation()->walk([&](BlockKernelOp kernel) { specialize(kernel, registers, producerRegisters); });
  }
};

} // namespace
