#include "compiler/transforms/RoleRun.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

/// A stage that was waited for.
struct Held {
  Value ring;
  int64_t index;
};

struct Product {
  DotAsyncOp op;
  int64_t number; ///< of the role's products
  SmallVector<Held, 2> reads;
  Operation *wait = nullptr;
};

class RoleRun {
public:
  RoleRun(Role &role, PaperScalars &scalars, Faults &refuse, std::deque<Role> &roles)
      : role(role), scalars(scalars), refuse(refuse), roles(roles), shared(scalars.latestSymbol()) {}

  void execute(Block &block);
  void finish();

private:
  void execute(Operation &op);
  void loop(scf::ForOp op);
  void branch(scf::IfOp op);
  void carry(ValueRange from, ValueRange to);
  void use(Operation &op);
  void choose(PaperScalar value, int64_t number, bool matters = true);
  /// The index of an operation on a ring, `next` when it is not known.
  int64_t indexOf(Value index, int64_t next);

  void acquire(AcquireOp op);
  void copy(CopyBulkOp op);
  void waitFull(WaitFullOp op);
  void release(ReleaseOp op);
  void begin(DotAsyncOp op);
  void wait(DotWaitOp op);

  Role &role;
  PaperScalars &scalars;
  Faults &refuse;
  std::deque<Role> &roles;
  const int64_t shared; ///< symbols up to here are the same in all roles
  std::deque<Product> products;
  int64_t complete = 0; ///< so many products are
  DenseMap<Value, Held> held;
  DenseMap<Value, Product *> tokens, taken; ///< `taken`: accumulators
  int64_t passes = 0;
  bool isTooLong = false; ///< the run ended early: nothing is said from there on
};

} // namespace

void RoleRun::choose(PaperScalar value, int64_t number, bool matters) {
  role.isGuessed |= matters && value.symbol > shared;
  scalars.choose(value, number);
}

int64_t RoleRun::indexOf(Value index, int64_t next) {
  const PaperScalar value = scalars.of(index);
  if (value.isNumber())
    return value.number;
  choose(value, next);
  return next;
}

/// Whether what an operation holds counts iterations.
static bool usesRings(Operation *op) {
  auto hands = [](Operation *inner) {
    return isa<AcquireOp, CopyBulkOp, WaitFullOp, ReleaseOp>(inner) ? WalkResult::interrupt() : WalkResult::advance();
  };
  return op->walk(hands).wasInterrupted();
}

//===-- rings -----------------------------------------------------------------------------------------------------===//

void RoleRun::acquire(AcquireOp op) {
  RingRecord &record = role.rings[op.getRing()];
  if (!record.isWrong)
    record.acquire(op, indexOf(op.getIndex(), record.acquired), refuse);
}

void RoleRun::copy(CopyBulkOp op) {
  RingRecord &record = role.rings[op.getRing()];
  if (!record.isWrong)
    record.copy(op, indexOf(op.getIndex(), std::max<int64_t>(record.acquired - 1, 0)), refuse);
}

void RoleRun::waitFull(WaitFullOp op) {
  RingRecord &record = role.rings[op.getRing()];
  held.erase(op.getStage());
  if (record.isWrong)
    return;
  const int64_t index = indexOf(op.getIndex(), record.full);
  record.waitFull(op, index, refuse);
  if (!record.isWrong)
    held[op.getStage()] = {op.getRing(), index};
}

void RoleRun::release(ReleaseOp op) {
  RingRecord &record = role.rings[op.getRing()];
  if (record.isWrong)
    return;
  int64_t oldest = 0;
  while (oldest + 1 < record.full && record[oldest].released)
    ++oldest;
  const int64_t index = indexOf(op.getIndex(), oldest);
  record.release(op, index, refuse);
  for (const Product &product : llvm::drop_begin(products, complete))
    for (const Held &read : product.reads)
      if (read.ring == op.getRing() && read.index == index && !record.isWrong) {
        record.isWrong = true;
        refuse(op, "releases a stage that a product in flight may still read: a block.dot_wait is missing", product.op,
               "the product");
      }
}

//===-- products in flight ----------------------------------------------------------------------------------------===//

static bool isConstant(Value tensor) {
  return matchPattern(tensor, m_Constant()) || isa_and_nonnull<SplatOp>(tensor.getDefiningOp());
}

void RoleRun::begin(DotAsyncOp op) {
  Product &product = products.emplace_back(Product{op, static_cast<int64_t>(products.size()), {}});
  for (Value operand : op->getOperands())
    if (auto stage = held.find(operand); stage != held.end())
      product.reads.push_back(stage->second);
  tokens[op.getToken()] = &product;
  if (!isConstant(op.getAccumulator())) // which is made anew for each
    taken[op.getAccumulator()] = &product;
}

void RoleRun::wait(DotWaitOp op) {
  Product *product = tokens.lookup(op.getToken());
  if (!product)
    return;
  if (product->wait)
    return refuse(op, "waits for a product for the second time", product->wait, "waited for here");
  product->wait = op;
  const int64_t begun = static_cast<int64_t>(products.size()), later = begun - 1 - product->number;
  const int64_t pending = static_cast<int32_t>(op.getPending());
  complete = std::max(complete, begun - pending);
  if (pending > later && product->number >= complete)
    refuse(op,
           "leaves " + Twine(pending) + " products pending, this one among them: " + Twine(later) +
               " were begun after it",
           product->op, "the product");
}

//===-- the run ---------------------------------------------------------------------------------------------------===//

/// What goes around a loop or out of a branch, all at once.
void RoleRun::carry(ValueRange from, ValueRange to) {
  struct Carried {
    PaperScalar scalar;
    std::optional<Held> stage;
    Product *product;
  };
  SmallVector<Carried> all;
  for (Value value : from) {
    auto stage = held.find(value);
    all.push_back({value.getType().isIntOrIndex() ? scalars.of(value) : PaperScalar(),
                   stage == held.end() ? std::nullopt : std::optional(stage->second), tokens.lookup(value)});
  }
  for (auto [carried, value] : llvm::zip_equal(all, to)) {
    taken.erase(value);
    held.erase(value);
    if (value.getType().isIntOrIndex())
      scalars.set(value, carried.scalar);
    if (carried.stage)
      held[value] = *carried.stage;
    tokens[value] = carried.product;
  }
}

void RoleRun::loop(scf::ForOp op) {
  constexpr int64_t guess = 5, most = 4096; // five: each stage of a ring of four comes again
  const bool matters = usesRings(op);
  const PaperScalar step = scalars.of(op.getStep());
  auto bounds = [&] { return std::pair(scalars.of(op.getLowerBound()), scalars.of(op.getUpperBound())); };
  auto chooseEnd = [&] {
    if (auto [from, to] = bounds(); from.isNumber() && !to.isNumber() && step.isNumber())
      choose(to, from.number + guess * step.number, matters);
  };
  chooseEnd();
  auto [from, to] = bounds();
  const bool isKnown = from.symbol == to.symbol && step.isNumber() && step.number > 0;
  const int64_t trips = isKnown ? llvm::divideCeilSigned(to.number - from.number, step.number) : guess;
  role.isGuessed |= matters && !isKnown;
  carry(op.getInitArgs(), op.getRegionIterArgs());
  for (int64_t pass = 0; pass < trips && !isTooLong; ++pass) {
    if (++passes > most) {
      isTooLong = role.isGuessed = true;
      return;
    }
    const PaperScalar start = scalars.of(op.getLowerBound()); // which the last pass may have chosen
    if (step.isNumber())
      scalars.set(op.getInductionVar(), {start.symbol, start.number + pass * step.number});
    execute(*op.getBody());
    carry(op.getYieldedValues(), op.getRegionIterArgs());
  }
  chooseEnd();
  carry(op.getRegionIterArgs(), op.getResults());
}

void RoleRun::branch(scf::IfOp op) {
  const PaperScalar condition = scalars.of(op.getCondition());
  role.isGuessed |= !condition.isNumber() && usesRings(op);
  Region &way = !condition.isNumber() || condition.number != 0 ? op.getThenRegion() : op.getElseRegion();
  if (way.empty())
    return;
  execute(way.front());
  carry(way.front().getTerminator()->getOperands(), op.getResults());
}

/// Operands that are not there, or not any more.
void RoleRun::use(Operation &op) {
  for (Value operand : op.getOperands()) {
    if (auto stage = held.find(operand); stage != held.end() && !isa<scf::YieldOp, scf::ForOp>(op)) {
      RingRecord &record = role.rings[stage->second.ring];
      if (Operation *released = record[stage->second.index].released; released && !record.isWrong) {
        record.isWrong = true;
        refuse(&op, "reads a stage that was released", released, "released here");
      }
    }
    if (auto product = taken.find(operand); product != taken.end() && !product->second->wait)
      refuse(&op, "uses the accumulator of a product in flight: a block.dot_wait gives the sum", product->second->op,
             "the product");
  }
}

void RoleRun::execute(Operation &op) {
  use(op);
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](AcquireOp acquiring) { acquire(acquiring); })
      .Case([&](CopyBulkOp copying) { copy(copying); })
      .Case([&](WaitFullOp waiting) { waitFull(waiting); })
      .Case([&](ReleaseOp releasing) { release(releasing); })
      .Case([&](DotAsyncOp product) { begin(product); })
      .Case([&](DotWaitOp waiting) { wait(waiting); })
      .Case([&](scf::ForOp nested) { loop(nested); })
      .Case([&](scf::IfOp nested) { branch(nested); })
      .Case([&](SpecializeOp specialize) {
        for (auto [name, body] :
             llvm::zip_equal(specialize.getRoles().getAsValueRange<StringAttr>(), specialize.getBodies())) {
          RoleRun run(roles.emplace_back(Role{name, {}}), scalars, refuse, roles);
          run.execute(body.front());
          run.finish();
        }
      })
      .Default([&](Operation *op) {
        scalars.run(*op);
        role.isGuessed |= op->getNumRegions() != 0 && usesRings(op);
        for (Region &region : op->getRegions())
          for (Block &block : region)
            execute(block);
      });
}

void RoleRun::execute(Block &block) {
  for (Operation &op : block)
    if (!isTooLong)
      execute(op);
}

void RoleRun::finish() {
  if (isTooLong)
    return;
  for (const Product &product : products)
    if (!product.wait)
      refuse(product.op, "is never waited for: its result is nowhere");
  for (auto &[ring, record] : role.rings)
    record.finish(refuse);
}

std::deque<Role> sectile::runOnPaper(BlockKernelOp kernel, Faults &refuse) {
  PaperScalars scalars;
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (argument.getType().isIntOrIndex())
      scalars.of(argument);
  std::deque<Role> roles;
  RoleRun run(roles.emplace_back(Role{"kernel", {}}), scalars, refuse, roles);
  run.execute(kernel.getBody().front());
  run.finish();
  return roles;
}
