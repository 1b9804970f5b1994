// Products in flight are waited for as late as they may be.
//
//   1. What makes the next product's operand in registers goes to the end of the loop's body: until the product in
//      flight is complete, it reads the registers that the next operand shall take.
//   2. A wait goes to the first use of its result. Where that is a branch that some warps take alone, and the other way
//      only passes the result on, the branch hands on a token:
//
//          %O = dot_wait %t                             %u = scf.if %need {
//          %A = scf.if %need { f(%O) } else { %O }  =>    %O = dot_wait %t; token f(%O)
//                                                       } else { %t }
//                                                       %A = dot_wait %u
//   3. A stage is released after its last reader: a read, or a product's wait.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/WgmmaProducts.h"

#include "mlir/IR/Builders.h"

namespace sectile {
#define GEN_PASS_DEF_PLACEWAITS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

/// The wait that a token comes to, maybe out of a branch.
DotWaitOp waitFor(Value token) {
  for (OpOperand &use : token.getUses())
    if (auto yield = dyn_cast<scf::YieldOp>(use.getOwner()))
      return waitFor(yield->getParentOp()->getResult(use.getOperandNumber()));
  for (Operation *user : token.getUsers())
    if (auto wait = dyn_cast<DotWaitOp>(user))
      return wait;
  return {};
}

/// Whether a value goes around the loop to be operand A of a product.
bool isNextOperand(OpOperand &yielded) {
  auto loop = dyn_cast<scf::ForOp>(yielded.getOwner()->getParentOp());
  return loop && llvm::any_of(loop.getRegionIterArg(yielded.getOperandNumber()).getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<DotAsyncOp>(use.getOwner());
           return dot && use.get() == dot.getA();
         });
}

class Placement {
public:
  explicit Placement(Block &block) : block(block), builder(block.getParentOp()->getContext()) {}
  void run();

private:
  void sinkNextOperand(Operation *op);
  void place(DotWaitOp wait);
  Operation *firstUser(DotWaitOp wait);
  DotWaitOp throughBranch(DotWaitOp wait, scf::IfOp branch);
  int64_t begunBetween(DotAsyncOp dot, Operation *end);
  void place(ReleaseOp release);

  Block &block;
  OpBuilder builder;
  Operation *nextOperand = nullptr; ///< the first of those that make one, at the end of the block
};

/// With what only it needs.
void Placement::sinkNextOperand(Operation *op) {
  if (!op || op->getBlock() != &block || !isa<CastOp, ConvertOp>(op) || !op->hasOneUse())
    return;
  op->moveBefore(nextOperand ? nextOperand : block.getTerminator());
  nextOperand = op;
  sinkNextOperand(op->getOperand(0).getDefiningOp());
}

Operation *Placement::firstUser(DotWaitOp wait) {
  Operation *first = block.mightHaveTerminator() ? block.getTerminator() : &block.back();
  for (Operation *user : wait->getUsers()) {
    Operation *inBlock = block.findAncestorOpInBlock(*user);
    first = inBlock->isBeforeInBlock(first) ? inBlock : first;
  }
  if (nextOperand && nextOperand->isBeforeInBlock(first))
    return nextOperand;
  return first;
}

int64_t Placement::begunBetween(DotAsyncOp dot, Operation *end) {
  int64_t begun = 0;
  for (Operation *op = dot->getNextNode(); op && op != end; op = op->getNextNode())
    begun += isa<DotAsyncOp>(op) ? 1 : 0;
  return begun;
}

/// The wait after a branch of which one way passes the product on; null when the branch is not like that.
DotWaitOp Placement::throughBranch(DotWaitOp wait, scf::IfOp branch) {
  if (!isTakenByWarps(branch) || !branch.elseBlock())
    return {};
  // 1. The way that yields the result as it is, and does nothing else with it.
  OpOperand *passed = nullptr;
  for (OpOperand &use : wait.getResult().getUses()) {
    if (!branch->isAncestor(use.getOwner()))
      return {};
    if (branch.getElseRegion().isAncestor(use.getOwner()->getParentRegion())) {
      if (passed || use.getOwner() != branch.elseYield())
        return {};
      passed = &use;
    }
  }
  if (!passed)
    return {};
  const unsigned number = passed->getOperandNumber();
  // 2. The other way waits, and has a complete product.
  Block &other = *branch.thenBlock();
  auto dot = wait.getToken().getDefiningOp<DotAsyncOp>();
  const auto pending = static_cast<uint32_t>(dot ? begunBetween(dot, branch) : 0);
  builder.setInsertionPointToStart(&other);
  auto inOther = DotWaitOp::create(builder, wait.getLoc(), wait.getResult().getType(), wait.getToken(), pending);
  Operation *first = other.getTerminator();
  wait.getResult().replaceUsesWithIf(inOther.getResult(), [&](OpOperand &use) {
    const bool isInOther = branch.getThenRegion().isAncestor(use.getOwner()->getParentRegion());
    if (Operation *user = other.findAncestorOpInBlock(*use.getOwner()); isInOther && user->isBeforeInBlock(first))
      first = user;
    return isInOther;
  });
  inOther->moveBefore(first);
  builder.setInsertionPoint(other.getTerminator());
  auto token =
      TokenOp::create(builder, wait.getLoc(), wait.getToken().getType(), branch.thenYield()->getOperand(number));
  branch.thenYield()->setOperand(number, token);
  // 3. The branch hands on the token.
  passed->set(wait.getToken());
  Value result = branch.getResult(number);
  result.setType(wait.getToken().getType());
  builder.setInsertionPointAfter(branch);
  auto after = DotWaitOp::create(builder, wait.getLoc(), wait.getResult().getType(), result, pending);
  result.replaceAllUsesExcept(after, after);
  wait.erase();
  return after;
}

void Placement::place(DotWaitOp wait) {
  Operation *first = firstUser(wait);
  if (auto branch = dyn_cast<scf::IfOp>(first))
    if (DotWaitOp after = throughBranch(wait, branch)) {
      after->moveBefore(firstUser(after));
      return;
    }
  wait->moveBefore(first);
  if (auto dot = wait.getToken().getDefiningOp<DotAsyncOp>(); dot && dot->getBlock() == &block)
    wait.setPending(static_cast<uint32_t>(begunBetween(dot, wait)));
}

void Placement::place(ReleaseOp release) {
  Operation *last = nullptr;
  auto note = [&](Operation *reader) {
    Operation *inBlock = reader ? block.findAncestorOpInBlock(*reader) : nullptr;
    if (inBlock && (!last || last->isBeforeInBlock(inBlock)))
      last = inBlock;
  };
  for (auto full : block.getOps<WaitFullOp>())
    if (full.getRing() == release.getRing() && full.getIndex() == release.getIndex())
      for (Operation *reader : full->getUsers()) {
        auto dot = dyn_cast<DotAsyncOp>(reader);
        note(dot ? waitFor(dot.getToken()) : reader);
      }
  if (last)
    release->moveAfter(last);
}

void Placement::run() {
  if (isa<scf::ForOp>(block.getParentOp()))
    for (OpOperand &yielded : block.getTerminator()->getOpOperands())
      if (isNextOperand(yielded))
        sinkNextOperand(yielded.get().getDefiningOp());
  for (auto wait : llvm::to_vector(block.getOps<DotWaitOp>()))
    place(wait);
  for (auto release : llvm::to_vector(block.getOps<ReleaseOp>()))
    place(release);
}

struct PlaceWaits : sectile::impl::PlaceWaitsBase<PlaceWaits> {
  void runOnOperation() override {
    SmallVector<Block *> blocks; // inner ones first
    getOperation()->walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          if (!block.getOps<DotAsyncOp>().empty() || !block.getOps<ReleaseOp>().empty())
            blocks.push_back(&block);
    });
    for (Block *block : blocks)
      Placement(*block).run();
  }
};

} // namespace
