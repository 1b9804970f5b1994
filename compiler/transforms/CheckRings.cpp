// That rings which are handed to and fro do not stop, and that nobody reads a stage that was given back.
//
// Each role is looked at by itself; a kernel without roles is one. What is decided:
//
//     a ring     who copies into it acquires it, and fills what is acquired; who waits for it releases it, and releases
//                what it waited for; somebody fills what others wait for
//     a stage    in one block of operations, with one index: acquired before it is copied to, not read after it is
//                released, not released while a product in flight reads it, and not released twice
//     a token    waited for once
//
// An index that is carried around a loop is another one: what cannot be decided is not refused.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace sectile {
#define GEN_PASS_DEF_CHECKRINGS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// The operations on one ring in one role, in program order.
struct Uses {
  SmallVector<AcquireOp> acquires;
  SmallVector<CopyBulkOp> copies;
  SmallVector<WaitFullOp> waits;
  SmallVector<ReleaseOp> releases;
};

bool isSame(Value a, Value b) {
  Attribute first, second;
  return a == b || (matchPattern(a, m_Constant(&first)) && matchPattern(b, m_Constant(&second)) && first == second);
}

/// The operations of a list that are in the block of `op` and have its index.
template <class Op, class Like> SmallVector<Op> besides(Like op, ArrayRef<Op> list) {
  return llvm::filter_to_vector(
      list, [&](Op other) { return other->getBlock() == op->getBlock() && isSame(other.getIndex(), op.getIndex()); });
}

class Rings {
public:
  bool check(BlockKernelOp kernel);

private:
  void collect(Region &body);
  void checkProducer(const Uses &uses);
  void checkConsumer(const Uses &uses);
  void checkRelease(ReleaseOp release, const Uses &uses);
  void checkToken(DotAsyncOp product);
  void refuse(Operation *op, const Twine &message, Operation *other, StringRef note) {
    isSound = false;
    InFlightDiagnostic error = op->emitOpError(message);
    if (other)
      error.attachNote(other->getLoc()) << note;
  }

  SmallVector<llvm::MapVector<Value, Uses>> roles;
  bool isSound = true;
};

void Rings::collect(Region &body) {
  auto &rings = roles.emplace_back();
  body.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<SpecializeOp>(op))
      return WalkResult::skip();
    if (auto acquire = dyn_cast<AcquireOp>(op))
      rings[acquire.getRing()].acquires.push_back(acquire);
    else if (auto copy = dyn_cast<CopyBulkOp>(op))
      rings[copy.getRing()].copies.push_back(copy);
    else if (auto wait = dyn_cast<WaitFullOp>(op))
      rings[wait.getRing()].waits.push_back(wait);
    else if (auto release = dyn_cast<ReleaseOp>(op))
      rings[release.getRing()].releases.push_back(release);
    else if (auto product = dyn_cast<DotAsyncOp>(op))
      checkToken(product);
    return WalkResult::advance();
  });
}

void Rings::checkProducer(const Uses &uses) {
  if (uses.acquires.empty() && !uses.copies.empty())
    refuse(uses.copies.front(), "copies into a ring of which this role acquires no stage: others may still read it",
           nullptr, "");
  if (uses.copies.empty() && !uses.acquires.empty())
    refuse(uses.acquires.front(),
           "acquires a stage of a ring that this role does not fill: who waits for it waits forever", nullptr, "");
  for (CopyBulkOp copy : uses.copies)
    for (AcquireOp acquire : besides(copy, ArrayRef(uses.acquires)))
      if (copy->isBeforeInBlock(acquire))
        refuse(copy, "copies into a stage before it is acquired", acquire, "acquired here");
}

void Rings::checkConsumer(const Uses &uses) {
  if (uses.releases.empty() && !uses.waits.empty())
    refuse(uses.waits.front(), "waits for stages of a ring that this role never releases: its producer waits forever",
           nullptr, "");
  if (uses.waits.empty() && !uses.releases.empty())
    refuse(uses.releases.front(), "releases a stage of a ring that this role never waits for", nullptr, "");
  for (ReleaseOp release : uses.releases)
    checkRelease(release, uses);
}

void Rings::checkRelease(ReleaseOp release, const Uses &uses) {
  Block *block = release->getBlock();
  for (ReleaseOp other : besides(release, ArrayRef(uses.releases)))
    if (other->isBeforeInBlock(release))
      return refuse(release, "releases a stage for the second time", other, "released here");
  for (WaitFullOp wait : besides(release, ArrayRef(uses.waits)))
    for (Operation *reader : wait.getStage().getUsers()) {
      Operation *inBlock = block->findAncestorOpInBlock(*reader);
      if (inBlock && release->isBeforeInBlock(inBlock))
        return refuse(reader, "reads a stage that was released", release, "released here");
      auto product = dyn_cast<DotAsyncOp>(reader);
      if (!inBlock || !product)
        continue;
      const bool isDone = llvm::any_of(product.getToken().getUsers(), [&](Operation *user) {
        Operation *waiting = isa<DotWaitOp>(user) ? block->findAncestorOpInBlock(*user) : nullptr;
        return waiting && waiting->isBeforeInBlock(release);
      });
      if (!isDone)
        return refuse(release, "releases a stage that a product in flight may still read: a block.dot_wait is missing",
                      product, "the product");
    }
}

void Rings::checkToken(DotAsyncOp product) {
  SmallVector<Operation *> users(product.getToken().getUsers());
  if (users.empty())
    return refuse(product, "is never waited for: its result is nowhere", nullptr, "");
  SmallVector<Operation *> waits = llvm::filter_to_vector(users, [](Operation *user) { return isa<DotWaitOp>(user); });
  if (waits.size() > 1)
    refuse(waits.front(), "waits for a product for the second time", waits[1], "waited for here");
}

bool Rings::check(BlockKernelOp kernel) {
  collect(kernel.getBody());
  kernel.walk([&](SpecializeOp specialize) {
    for (Region &body : specialize.getBodies())
      collect(body);
  });
  for (auto &rings : roles)
    for (auto &[ring, uses] : rings) {
      checkProducer(uses);
      checkConsumer(uses);
      const bool isFilled = llvm::any_of(roles, [&, ring = ring](auto &other) {
        auto found = other.find(ring);
        return found != other.end() && !found->second.copies.empty();
      });
      if (!isFilled && !uses.waits.empty())
        refuse(uses.waits.front(), "waits for a ring that nobody fills", ring.getDefiningOp(), "the ring");
    }
  return isSound;
}

struct CheckRings : sectile::impl::CheckRingsBase<CheckRings> {
  void runOnOperation() override {
    bool isSound = true;
    getOperation()->walk([&](BlockKernelOp kernel) { isSound &= Rings().check(kernel); });
    if (!isSound)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
