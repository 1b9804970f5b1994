// Where buffers and scratch memory lie in the block's shared memory.
//
//   1. Each gets an interval of the program in which it lives: from the first use of a buffer to the last, loops as a
//      whole unless every pass fills it first; the operation itself for scratch memory.
//   2. The largest first, each goes to the lowest offset that is free of those that live at the same time.
//      Roles run side by side: what is in one lives as long as all of them.
//   3. A buffer on top of another one's place begins with a barrier: threads may still read what was there. Scratch
//      memory does by itself.
//   4. Rings that are handed to and fro share their places with nobody, as the barriers of threads do not hold back
//      bulk copies. What their stages' own barriers take lies behind everything else.
#include "compiler/analysis/Scratch.h"
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

namespace sectile {
#define GEN_PASS_DEF_PLANSHARED
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

constexpr int64_t barrierBytes = 8, barriersPerStage = 2;

/// A buffer or scratch memory.
struct Area {
  Operation *op;
  int64_t bytes;
  int64_t from = 0, to = 0;   ///< of the program, both inclusive
  Operation *begin = nullptr; ///< what uses it first
  int64_t offset = 0;
  int64_t alignment = 128; ///< all banks

  bool meets(const Area &other) const { return from <= other.to && other.from <= to; }
  bool overlaps(const Area &other) const {
    return offset < other.offset + other.bytes && other.offset < offset + bytes;
  }
};

class Plan {
public:
  explicit Plan(BlockKernelOp kernel) : kernel(kernel) {}

  /// Attributes and barriers into the IR; the bytes in all.
  int64_t run();
  ArrayRef<Area> inUse() const { return areas; }

private:
  void number();
  void extend(Area &area, Block *home, Operation *user);
  void collect();
  void place();

  BlockKernelOp kernel;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> spans; ///< numbers of an operation and the last one in it
  SmallVector<Area> areas;
};

void Plan::number() {
  int64_t next = 0;
  kernel.walk([&](Operation *op, const WalkStage &stage) {
    if (stage.isBeforeAllRegions())
      spans[op].first = next++;
    if (stage.isAfterAllRegions())
      spans[op].second = next++;
  });
}

/// The block in whose passes a buffer lives: that of the allocation, or of loops in it that hold all uses and begin
/// with one that fills the buffer.
Block *homeOf(AllocOp alloc) {
  Block *home = alloc->getBlock();
  while (true) {
    Operation *loop = nullptr;
    for (Operation *user : alloc->getUsers()) {
      Operation *outer = home->findAncestorOpInBlock(*user);
      if (isa<StageOp>(user) || !isa<scf::ForOp>(outer) || (loop && loop != outer))
        return home;
      loop = outer;
    }
    if (!loop)
      return home;
    Block *body = cast<scf::ForOp>(loop).getBody();
    Operation *first = nullptr;
    for (Operation *user : alloc->getUsers()) {
      Operation *inner = body->findAncestorOpInBlock(*user);
      first = first && first->isBeforeInBlock(inner) ? first : inner;
    }
    auto copy = dyn_cast<CopyAsyncOp>(first);
    if (!isa<WriteOp>(first) && !(copy && !copy.getCondition()))
      return home;
    home = body;
  }
}

/// The operation itself, or the roles that it is in.
Operation *outsideOfRoles(Operation *op) {
  auto roles = op->getParentOfType<SpecializeOp>();
  return roles ? roles.getOperation() : op;
}

bool isHandedOn(AllocOp alloc) {
  return llvm::any_of(alloc->getUsers(),
                      [](Operation *user) { return isa<AcquireOp, CopyBulkOp, WaitFullOp, ReleaseOp>(user); });
}

/// An operation inside of a loop may run again: the loop as a whole uses the buffer. A product reads it until somebody
/// waits for the result.
void Plan::extend(Area &area, Block *home, Operation *user) {
  if (isa<CopyBulkOp, WaitFullOp, DotAsyncOp>(user))
    area.alignment = 1024; // as the hardware's swizzle repeats
  if (isa<StageOp>(user)) {
    for (Operation *next : user->getUsers())
      extend(area, home, next);
    return;
  }
  if (auto product = dyn_cast<DotAsyncOp>(user))
    for (Operation *wait : product.getToken().getUsers())
      extend(area, home, isa<DotWaitOp>(wait) ? wait : home->getTerminator());
  Operation *outermost = outsideOfRoles(home->findAncestorOpInBlock(*user));
  auto [from, to] = spans.lookup(outermost);
  if (!area.begin || from < area.from) {
    area.from = from;
    area.begin = outermost;
  }
  area.to = std::max(area.to, to);
}

void Plan::collect() {
  kernel.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<AllocOp>(op)) {
      Area area{op, alloc.getType().bytes()};
      Block *home = homeOf(alloc);
      for (Operation *user : op->getUsers())
        extend(area, home, user);
      if (isHandedOn(alloc)) {
        std::tie(area.from, area.to) = spans.lookup(kernel);
        area.begin = alloc;
      }
      if (area.begin)
        areas.push_back(area);
    } else if (const int64_t bytes = sectile::scratchBytes(op)) {
      Operation *outermost = outsideOfRoles(op);
      auto [from, to] = spans.lookup(outermost);
      areas.push_back({op, bytes, from, to, outermost});
    }
  });
}

void Plan::place() {
  SmallVector<Area *> order, placed;
  for (Area &area : areas)
    order.push_back(&area);
  llvm::sort(order, [](const Area *a, const Area *b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a < b; });
  for (Area *area : order) {
    // Past each area in the way, until none is; offsets only grow.
    for (bool moved = true; moved;) {
      moved = false;
      for (const Area *other : placed)
        if (area->meets(*other) && area->overlaps(*other)) {
          area->offset = static_cast<int64_t>(llvm::alignTo(other->offset + other->bytes, area->alignment));
          moved = true;
        }
    }
    placed.push_back(area);
  }
}

int64_t Plan::run() {
  number();
  collect();
  place();
  OpBuilder builder(kernel.getContext());
  int64_t total = 0;
  for (Area &area : areas) {
    total = std::max(total, area.offset + area.bytes);
    IntegerAttr offset = builder.getI64IntegerAttr(area.offset);
    auto alloc = dyn_cast<AllocOp>(area.op);
    if (!alloc) {
      area.op->setAttr(scratchAttribute, offset);
      continue;
    }
    alloc.setOffsetAttr(offset);
    // In a loop, what comes later is earlier in the next pass.
    const bool isNested = !isa<BlockKernelOp>(area.begin->getParentOp());
    if (isa_and_nonnull<BarrierOp>(area.begin->getPrevNode()))
      continue;
    if (llvm::any_of(areas, [&](Area &other) {
          return &other != &area && area.overlaps(other) && (isNested || other.to < area.from);
        })) {
      builder.setInsertionPoint(area.begin);
      BarrierOp::create(builder, alloc.getLoc());
    }
  }
  total = static_cast<int64_t>(llvm::alignTo(total, barrierBytes));
  for (Area &area : areas)
    if (auto alloc = dyn_cast<AllocOp>(area.op); alloc && isHandedOn(alloc)) {
      alloc.setBarriersAttr(builder.getI64IntegerAttr(total));
      total += barriersPerStage * alloc.getType().getStages() * barrierBytes;
    }
  kernel.setSharedBytesAttr(builder.getI64IntegerAttr(total));
  return total;
}

struct PlanShared : sectile::impl::PlanSharedBase<PlanShared> {
  using PlanSharedBase::PlanSharedBase;

  void runOnOperation() override {
    getOperation()->walk([&](BlockKernelOp kernel) {
      Plan plan(kernel);
      const int64_t bytes = plan.run();
      const int64_t most = limit;
      if (most == 0 || bytes <= most)
        return;
      auto error = kernel.emitError() << "'" << kernel.getSymName() << "' needs " << bytes
                                      << " bytes of shared memory, the target has " << most
                                      << ": smaller tiles, fewer stages or elements of fewer bits take less";
      for (const Area &area : plan.inUse())
        error.attachNote(area.op->getLoc()) << area.bytes << " bytes at " << area.offset << " for '"
                                            << area.op->getName() << "' (" << area.op->getResult(0).getType() << ")";
      signalPassFailure();
    });
  }
};

} // namespace
