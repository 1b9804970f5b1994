// That nobody reads what is not there yet, and nobody overwrites what others may still read.
//
// The kernel is run on paper, by one thread that stands for all: loops for a few passes, scalars as far as they are
// constants (the slots of rings are), conditions of copies as true. For each stage of each buffer it keeps who filled
// it, how far that has come, and who has read it since the last barrier:
//
//     copy_async   -> begun -> commit: in group g -> wait: complete -> barrier: visible to all
//     write        -> complete                                      -> barrier: visible to all
//
// A product in flight reads until somebody waits for it, or for a later one. Stages that are handed to and fro are the
// affair of CheckRings. A slot that is no constant makes its whole ring unknown: what cannot be decided is not refused.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace sectile {
#define GEN_PASS_DEF_CHECKSHARED
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile::ir;

namespace {

/// A buffer, or one stage of a ring.
using Slot = std::pair<Operation *, int64_t>;

struct Fill {
  Operation *op;
  enum { begun, grouped, complete, visible } state;
  int64_t group = 0;
};

class PaperRun {
public:
  bool run(BlockKernelOp kernel) {
    execute(kernel.getBody().front());
    return isSound;
  }

private:
  void execute(Block &block);
  void execute(Operation &op);
  void loop(scf::ForOp loop);
  void compute(Operation &op);
  std::optional<Slot> slotOf(Value buffer);
  void read(Operation *reader, Value buffer);
  void fill(Operation *op, Value buffer, bool isCopy);
  void wait(int64_t pending);
  void begin(DotAsyncOp product);
  void barrier();
  void refuse(Operation *op, const Twine &message, Operation *other, StringRef note);

  Attribute constantOf(Value scalar) const {
    Attribute value = constants.lookup(scalar);
    if (!value)
      matchPattern(scalar, m_Constant(&value));
    return value;
  }

  DenseMap<Value, Attribute> constants;
  llvm::MapVector<Slot, Fill> fills;
  llvm::MapVector<Slot, Operation *> readers;                        ///< since the last barrier
  SmallPtrSet<Operation *, 4> unknown;                               ///< rings that were filled somewhere
  SmallVector<std::pair<DotAsyncOp, SmallVector<Slot, 2>>> products; ///< in flight, with what they read
  int64_t groups = 0;
  bool isSound = true;
  SmallPtrSet<Operation *, 4> reported;
};

void PaperRun::refuse(Operation *op, const Twine &message, Operation *other, StringRef note) {
  isSound = false;
  if (reported.insert(op).second)
    op->emitOpError(message).attachNote(other->getLoc()) << note;
}

std::optional<Slot> PaperRun::slotOf(Value buffer) {
  if (auto alloc = buffer.getDefiningOp<AllocOp>())
    return Slot{alloc, 0};
  auto stage = buffer.getDefiningOp<StageOp>();
  auto ring = stage ? stage.getRing().getDefiningOp<AllocOp>() : AllocOp();
  auto index = stage ? dyn_cast_or_null<IntegerAttr>(constantOf(stage.getIndex())) : IntegerAttr();
  if (ring && index)
    return Slot{ring, index.getInt()};
  if (ring)
    unknown.insert(ring);
  return {};
}

void PaperRun::read(Operation *reader, Value buffer) {
  std::optional<Slot> slot = slotOf(buffer);
  if (!slot || unknown.contains(slot->first))
    return;
  readers[*slot] = reader;
  auto found = fills.find(*slot);
  if (found == fills.end())
    return refuse(reader, "reads shared memory that nothing has filled", slot->first, "the buffer");
  const Fill &fill = found->second;
  if (fill.state == Fill::begun || fill.state == Fill::grouped)
    refuse(reader,
           fill.state == Fill::begun ? "reads a copy that is in no group: a block.commit and a block.wait are missing"
                                     : "reads a copy that may be under way: a block.wait for its group is missing",
           fill.op, "the copy");
  else if (fill.state == Fill::complete)
    refuse(reader, "reads what other threads may not have stored yet: a block.barrier is missing", fill.op,
           "stored here");
}

void PaperRun::fill(Operation *op, Value buffer, bool isCopy) {
  std::optional<Slot> slot = slotOf(buffer);
  if (!slot)
    return;
  if (auto reader = readers.find(*slot); reader != readers.end() && !unknown.contains(slot->first))
    refuse(op, "overwrites what other threads may still read: a block.barrier is missing", reader->second, "read here");
  for (auto &[product, slots] : products)
    if (llvm::is_contained(slots, *slot) && !unknown.contains(slot->first))
      refuse(op, "overwrites what a product in flight may still read: a block.dot_wait is missing", product,
             "the product");
  fills[*slot] = {op, isCopy ? Fill::begun : Fill::complete};
}

void PaperRun::begin(DotAsyncOp product) {
  SmallVector<Slot, 2> slots;
  for (Value operand : product->getOperands())
    if (isa<SharedType>(operand.getType())) {
      read(product, operand);
      if (std::optional<Slot> slot = slotOf(operand))
        slots.push_back(*slot);
    }
  products.emplace_back(product, slots);
}

void PaperRun::wait(int64_t pending) {
  for (auto &[slot, fill] : fills)
    if (fill.state == Fill::grouped && fill.group < groups - pending)
      fill.state = Fill::complete;
}

void PaperRun::barrier() {
  for (auto &[slot, fill] : fills)
    if (fill.state == Fill::complete)
      fill.state = Fill::visible;
  readers.clear();
}

/// Scalars of constants.
void PaperRun::compute(Operation &op) {
  if (op.getNumResults() != 1 || !op.getResult(0).getType().isIntOrIndex() || !isMemoryEffectFree(&op))
    return;
  constants.erase(op.getResult(0));
  SmallVector<Attribute> operands;
  for (Value operand : op.getOperands())
    operands.push_back(constantOf(operand));
  if (operands.empty() || llvm::is_contained(operands, Attribute()))
    return;
  SmallVector<OpFoldResult> results;
  if (succeeded(op.fold(operands, results)) && !results.empty()) {
    auto value = dyn_cast<Attribute>(results.front());
    if (!value)
      value = constantOf(cast<Value>(results.front()));
    if (value)
      constants[op.getResult(0)] = value;
  }
}

void PaperRun::loop(scf::ForOp loop) {
  constexpr int passes = 5; // each slot of a ring of four comes again
  SmallVector<Attribute> carried;
  for (Value init : loop.getInitArgs())
    carried.push_back(constantOf(init));
  for (int pass = 0; pass < passes; ++pass) {
    for (auto [argument, value] : llvm::zip_equal(loop.getRegionIterArgs(), carried))
      constants[argument] = value;
    execute(*loop.getBody());
    carried.clear();
    for (Value yielded : loop.getYieldedValues())
      carried.push_back(constantOf(yielded));
  }
}

void PaperRun::execute(Block &block) {
  for (Operation &op : block)
    execute(op);
}

void PaperRun::execute(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](CopyAsyncOp copy) { fill(copy, copy.getBuffer(), /*isCopy=*/true); })
      .Case([&](WriteOp write) { fill(write, write.getBuffer(), /*isCopy=*/false); })
      .Case([&](ReadOp reading) { read(reading, reading.getBuffer()); })
      .Case([&](BlockDotOp dot) {
        for (Value operand : {dot.getA(), dot.getB()})
          if (isa<SharedType>(operand.getType()))
            read(dot, operand);
      })
      .Case([&](DotAsyncOp product) { begin(product); })
      .Case([&](DotWaitOp waiting) { // products complete in order
        const size_t pending = waiting.getPending();
        products.erase(products.begin(), products.end() - std::min(pending, products.size()));
      })
      .Case([&](CommitOp) {
        for (auto &[slot, fill] : fills)
          if (fill.state == Fill::begun)
            fill.state = Fill::grouped, fill.group = groups;
        ++groups;
      })
      .Case([&](WaitOp waiting) { wait(static_cast<int32_t>(waiting.getPending())); })
      .Case([&](BarrierOp) { barrier(); })
      .Case([&](scf::ForOp nested) { loop(nested); })
      .Default([&](Operation *op) {
        if (op->getNumRegions() == 0)
          return compute(*op);
        for (Region &region : op->getRegions()) // branches: one after the other
          for (Block &block : region)
            execute(block);
      });
}

struct CheckShared : sectile::impl::CheckSharedBase<CheckShared> {
  void runOnOperation() override {
    bool isSound = true;
    getOperation()->walk([&](BlockKernelOp kernel) { isSound &= PaperRun().run(kernel); });
    if (!isSound)
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
