// Thread blocks stay, and run one program after another.
//
//     role { … acquire %k[%j] … }   =>   role { scf.for %t = worker to programs step workers iter_args(%before) {
//                                                 … acquire %k[%before + %j] …
//                                                 yield %before + what this program took
//                                               } }
//
// Rings that a role goes through together are counted together. With a chunk of several, a worker takes so many
// programs at a time, each at its place in a loop of its own.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sectile {
#define GEN_PASS_DEF_MAKEPERSISTENT
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// The operations of a role that begin an iteration of a ring.
using Steps = SmallVector<Operation *>;

Value ringOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<AcquireOp, CopyBulkOp, WaitFullOp, ReleaseOp>([](auto op) { return op.getRing(); })
      .Default(Value());
}

class Persistence {
public:
  Persistence(Block &role, int32_t chunk)
      : role(role), chunk(chunk), builder(role.getParentOp()->getContext()), loc(role.getParentOp()->getLoc()) {}
  void run();

private:
  Value constant(int32_t number) { return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(number)); }
  template <class Op> Value make(Value a, Value b) { return Op::create(builder, loc, a, b); }
  /// How many of the steps a block takes, at its end; null when none.
  Value count(Block &block, const Steps &steps);
  Value count(Operation &op, const Steps &steps);
  /// The loop over this worker's programs, by their numbers; it carries so many numbers, which begin at 0.
  scf::ForOp makeLoop(size_t carried);

  Block &role;
  int32_t chunk;
  OpBuilder builder;
  Location loc;
};

Value Persistence::count(Operation &op, const Steps &steps) {
  if (llvm::is_contained(steps, &op))
    return constant(1);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value inBody = count(*loop.getBody(), steps); // a number, since what a loop is staged for counts its trips
    if (!inBody)
      return {};
    builder.setInsertionPointAfter(loop);
    return make<arith::MaxSIOp>(make<arith::SubIOp>(loop.getUpperBound(), loop.getLowerBound()), constant(0));
  }
  auto branch = dyn_cast<scf::IfOp>(op);
  if (!branch)
    return {};
  SmallVector<Value> counts;
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    OpBuilder::InsertionGuard guard(builder);
    if (block)
      builder.setInsertionPoint(block->getTerminator());
    counts.push_back(block ? count(*block, steps) : Value());
  }
  if (!counts[0] && !counts[1])
    return {};
  // Another result of the branch, in a new one around its regions.
  SmallVector<Type> types(branch.getResultTypes());
  types.push_back(builder.getI32Type());
  builder.setInsertionPoint(branch);
  auto longer = scf::IfOp::create(builder, branch.getLoc(), types, branch.getCondition(), /*withElseRegion=*/true);
  for (auto [from, to, counted] : llvm::zip_equal(SmallVector{branch.thenBlock(), branch.elseBlock()},
                                                  SmallVector{longer.thenBlock(), longer.elseBlock()}, counts)) {
    OpBuilder::InsertionGuard guard(builder);
    if (from)
      to->getOperations().splice(to->end(), from->getOperations());
    else
      builder.setInsertionPointToEnd(to);
    Operation *end = to->empty() ? nullptr : &to->back();
    if (end)
      builder.setInsertionPoint(end);
    SmallVector<Value> yielded(end ? end->getOperands() : ValueRange());
    yielded.push_back(counted ? counted : constant(0));
    scf::YieldOp::create(builder, branch.getLoc(), yielded);
    if (end)
      end->erase();
  }
  branch->replaceAllUsesWith(longer.getResults().drop_back());
  branch.erase();
  builder.setInsertionPointAfter(longer);
  return longer.getResults().back();
}

Value Persistence::count(Block &block, const Steps &steps) {
  Value sum;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    builder.setInsertionPointAfter(&op);
    if (Value one = count(op, steps))
      sum = sum ? make<arith::AddIOp>(sum, one) : one;
  }
  return sum;
}

scf::ForOp Persistence::makeLoop(size_t carried) {
  const SmallVector<Value> zeros(carried, constant(0));
  const Value worker = WorkerOp::create(builder, loc), programs = ProgramsOp::create(builder, loc);
  const Value workers = WorkersOp::create(builder, loc);
  auto loopOver = [&](Value first, Value last, Value step, ValueRange initial) {
    auto loop = scf::ForOp::create(builder, loc, first, last, step, initial);
    builder.setInsertionPointToStart(loop.getBody());
    return loop;
  };
  auto yield = [&](ValueRange values) {
    if (carried != 0) // else there is one
      scf::YieldOp::create(builder, loc, values);
  };
  if (chunk == 1) {
    auto loop = loopOver(worker, programs, workers, zeros);
    yield(loop.getRegionIterArgs());
    return loop;
  }
  const Value size = constant(chunk), one = constant(1);
  auto chunks = loopOver(worker, make<arith::CeilDivSIOp>(programs, size), workers, zeros);
  const Value first = make<arith::MulIOp>(chunks.getInductionVar(), size);
  const Value last = make<arith::MinSIOp>(make<arith::AddIOp>(first, size), programs);
  auto loop = loopOver(first, last, one, chunks.getRegionIterArgs());
  yield(loop.getRegionIterArgs());
  builder.setInsertionPointAfter(loop);
  yield(loop.getResults());
  return loop;
}

void Persistence::run() {
  // 1. The rings, in groups whose steps are taken side by side.
  llvm::MapVector<Value, Steps> stepsOf;
  role.walk([&](Operation *op) {
    if (isa<AcquireOp, WaitFullOp>(op))
      stepsOf[ringOf(op)].push_back(op);
  });
  SmallVector<SmallVector<Value>> groups;
  auto areTogether = [](const Steps &a, const Steps &b) {
    return llvm::equal(a, b, [](Operation *one, Operation *other) { return one->getBlock() == other->getBlock(); });
  };
  for (auto &[ring, steps] : stepsOf) {
    auto *group = llvm::find_if(
        groups, [&, &steps = steps](auto &g) { return areTogether(stepsOf.find(g.front())->second, steps); });
    group == groups.end() ? groups.push_back({ring}) : group->push_back(ring);
  }

  // 2. The loop, with what was done before of each group.
  SmallVector<Operation *> body(llvm::make_pointer_range(role));
  builder.setInsertionPointToStart(&role);
  auto loop = makeLoop(groups.size());
  Operation *end = loop.getBody()->getTerminator();
  for (Operation *op : body)
    op->moveBefore(end);

  // 3. Programs, and the iterations of rings.
  SmallVector<Operation *> operations;
  loop.getBody()->walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations) {
    builder.setInsertionPoint(op);
    if (auto program = dyn_cast<ProgramOp>(op)) {
      program.replaceAllUsesWith(
          ProgramIndexOp::create(builder, op->getLoc(), loop.getInductionVar(), program.getAxis()).getResult());
      program.erase();
    } else if (Value ring = ringOf(op)) {
      const auto number = llvm::find_if(groups, [&](auto &g) { return llvm::is_contained(g, ring); }) - groups.begin();
      op->setOperand(op->getNumOperands() - 1,
                     make<arith::AddIOp>(loop.getRegionIterArg(number), op->getOperands().back()));
    }
  }
  for (auto [i, group] : llvm::enumerate(groups))
    if (Value counted = count(*loop.getBody(), stepsOf.find(group.front())->second)) {
      builder.setInsertionPoint(end);
      end->setOperand(i, make<arith::AddIOp>(loop.getRegionIterArg(i), counted));
    }
}

struct MakePersistent : sectile::impl::MakePersistentBase<MakePersistent> {
  using MakePersistentBase::MakePersistentBase;

  void runOnOperation() override {
    getOperation()->walk([this](BlockKernelOp kernel) {
      for (auto roles : kernel.getOps<SpecializeOp>()) {
        for (Region &body : roles.getBodies())
          Persistence(body.front(), chunk).run();
        kernel->setAttr("persistent", IntegerAttr::get(IntegerType::get(kernel.getContext(), 64), chunk == 1 ? 1 : 2));
      }
    });
  }
};

} // namespace
