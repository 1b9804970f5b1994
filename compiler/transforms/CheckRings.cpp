// That rings which are handed to and fro do not stop, that nobody reads a stage which is not there or was given back,
// and that each product in flight is waited for once.
//
// The kernel is run on paper, role by role (RoleRun.h); a kernel without roles is one. Then roles are compared: who
// fills a ring and who reads it go through as many iterations. What is refused is wrong whatever the numbers are that
// the kernel is given, or wrong for some that it does not exclude.
#include "compiler/analysis/Scratch.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/RoleRun.h"

namespace sectile {
#define GEN_PASS_DEF_CHECKRINGS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

/// That somebody fills a ring and somebody reads it, one role the former, and that they agree on the number of
/// iterations.
void compare(TypedValue<SharedType> ring, std::deque<Role> &roles, Faults &refuse) {
  if (llvm::any_of(roles, [&](Role &role) { return role.rings[ring].isWrong; }))
    return;
  auto find = [&](auto isOne) {
    auto users = ring.getUsers();
    auto found = llvm::find_if(users, isOne);
    return found == users.end() ? nullptr : *found;
  };
  Operation *fills = find([](Operation *user) { return isa<CopyBulkOp>(user); });
  Operation *waits = find([](Operation *user) { return isa<WaitFullOp>(user); });
  if (waits && !fills)
    return refuse(waits, "waits for a ring that nobody fills", ring.getDefiningOp(), "the ring");
  if (fills && !waits)
    return refuse(fills, "fills a ring that nobody waits for", ring.getDefiningOp(), "the ring");

  Role *producer = nullptr;
  for (Role &role : roles)
    for (const Iteration &iteration : role.rings[ring].iterations) {
      if (!iteration.copied)
        continue;
      if (producer && producer != &role)
        return refuse(iteration.copied, "fills a ring that role '" + Twine(producer->name) + "' fills, too", fills,
                      "filled here");
      producer = &role;
      fills = iteration.copied;
    }
  if (!producer || producer->isGuessed)
    return;
  const int64_t filled = producer->rings[ring].acquired;
  for (Role &role : roles)
    if (const int64_t full = role.rings[ring].full; full != 0 && full != filled && !role.isGuessed)
      refuse(role.rings[ring][full - 1].full,
             "waits for " + Twine(full) + " iterations of a ring of which " + Twine(filled) + " are filled", fills,
             "filled here");
}

/// That nobody goes around the barriers of a ring that has some.
void checkStages(TypedValue<SharedType> ring, Faults &refuse) {
  Operation *handed = nullptr;
  for (Operation *user : ring.getUsers())
    if (isa<AcquireOp, CopyBulkOp, WaitFullOp, ReleaseOp>(user))
      handed = user;
  for (Operation *user : ring.getUsers())
    if (handed && isa<StageOp>(user))
      refuse(user, "takes a stage of a ring that is handed to and fro: block.wait_full gives it once it is full",
             handed, "handed on here");
}

/// Barriers of the whole block that are inside of operations.
void checkScratch(SpecializeOp specialize, Faults &refuse) {
  for (auto [role, body] : llvm::zip_equal(specialize.getRoles().getAsValueRange<StringAttr>(), specialize.getBodies()))
    body.walk([&, role = role](Operation *op) {
      if (const int64_t bytes = scratchBytes(op))
        refuse(op,
               "takes " + Twine(bytes) + " bytes of scratch memory between barriers of all threads, which in role '" +
                   role + "' do not come",
               specialize, "the roles");
    });
}

bool check(BlockKernelOp kernel) {
  Faults refuse;
  std::deque<Role> roles = runOnPaper(kernel, refuse);
  kernel.walk([&](SpecializeOp specialize) { checkScratch(specialize, refuse); });
  kernel.walk([&](AllocOp alloc) {
    if (alloc.getType().isRing()) {
      checkStages(alloc.getResult(), refuse);
      compare(alloc.getResult(), roles, refuse);
    }
  });
  return refuse.none();
}

struct CheckRings : sectile::impl::CheckRingsBase<CheckRings> {
  void runOnOperation() override {
    bool isSound = true;
    getOperation()->walk([&](BlockKernelOp kernel) { isSound &= check(kernel); });
    if (!isSound)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
