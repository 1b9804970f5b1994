// Operands of wgmma come through rings that TMA fills.
//
//     %K = tile.load %k[…, %j, 0]                 block.acquire %ring[%j]
//     %S = block.dot wgmma %Q, %Kt, %0     =>     block.copy_bulk %k[…, %j, 0] -> %ring[%j]
//                                                 %K = block.wait_full %ring[%j]
//                                                 %t = block.dot_async %Q, %K, %0 {transposed_b}
//                                                 %S = block.dot_wait %t pending 0
//                                                 block.release %ring[%j]
//
// The iterations of a ring count its loads: those before a loop, then the loop's trips. What is loaded outside of loops
// has one stage, or two where there is room and the next program's load can begin before this one ends.
#include "compiler/ir/Block.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/WgmmaProducts.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Iterators.h"
#include "llvm/ADT/MapVector.h"

#include <deque>

namespace sectile {
#define GEN_PASS_DEF_STAGERINGS
#include "compiler/transforms/Passes.h.inc"
} // namespace sectile

using namespace mlir;
using namespace sectile;
using namespace sectile::ir;

namespace {

/// Loads that follow one another in one ring.
struct Ring {
  SmallVector<LoadOp> loads;
  int64_t stages = 0;
  AllocOp alloc;

  bool isLooped() const {
    return llvm::any_of(loads, [](LoadOp load) { return load->getParentOfType<scf::ForOp>() != nullptr; });
  }
  RankedTensorType tile() { return loads.front().getType(); }
};

class RingStaging {
public:
  RingStaging(BlockKernelOp kernel, int64_t stages, int64_t sharedForTwo)
      : kernel(kernel), stages(stages), sharedForTwo(sharedForTwo), builder(kernel.getContext()) {}
  void run();

private:
  void collect(BlockDotOp dot);
  Ring &ringFor(LoadOp load);
  void countStages();
  void makeAlloc(Ring &ring);
  Value indexOf(LoadOp load, const Ring &ring);
  void stage(LoadOp load, Ring &ring);
  void multiply(BlockDotOp dot);

  BlockKernelOp kernel;
  int64_t stages, sharedForTwo;
  OpBuilder builder;
  SmallVector<BlockDotOp> products;                        ///< by wgmma
  llvm::MapVector<LoadOp, SmallVector<OpOperand *>> loads; ///< with the operands of products that they are
  std::deque<Ring> rings;
  DenseMap<Value, Value> stageOf; ///< of a load's tensor
};

/// The load behind an operand of mma.sync: through transposes and the conversion to a fragment.
std::pair<LoadOp, bool> loadBehindFragment(Value operand) {
  bool transposed = false;
  for (Operation *op = operand.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    if (auto load = dyn_cast<LoadOp>(op))
      return {load, transposed};
    if (auto transpose = dyn_cast<TransposeOp>(op))
      transposed ^= !llvm::is_sorted(transpose.getOrder());
    else if (!isa<ConvertOp>(op))
      break;
  }
  return {};
}

void RingStaging::collect(BlockDotOp dot) {
  if (dot.getKind() != DotKind::wgmma)
    return;
  products.push_back(dot);
  for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()})
    if (LoadOp load = loadBehind(operand->get()).first)
      loads[load].push_back(operand);
}

/// Whether `later` comes a known number of loads after `earlier`: in its block, or in a loop there.
bool follows(LoadOp earlier, LoadOp later) {
  Operation *ancestor = earlier->getBlock()->findAncestorOpInBlock(*later);
  return ancestor && earlier->isBeforeInBlock(ancestor) && !earlier->getParentOfType<scf::ForOp>() &&
         (ancestor == later || ancestor == later->getParentOfType<scf::ForOp>());
}

Ring &RingStaging::ringFor(LoadOp load) {
  for (Ring &ring : rings)
    if (ring.loads.front().getView() == load.getView() && ring.loads.front().getType() == load.getType() &&
        llvm::all_of(ring.loads, [&](LoadOp earlier) { return follows(earlier, load); })) {
      ring.loads.push_back(load);
      return ring;
    }
  return rings.emplace_back(Ring{.loads = {load}, .alloc = {}});
}

void RingStaging::countStages() {
  auto count = [&](int64_t outside) {
    int64_t bytes = 0;
    for (Ring &ring : rings) {
      ring.stages = ring.isLooped() ? stages : outside;
      bytes += ring.stages * ring.tile().getNumElements() * ring.tile().getElementTypeBitWidth() / 8;
    }
    return bytes;
  };
  if (count(2) > sharedForTwo)
    count(1);
}

void RingStaging::makeAlloc(Ring &ring) {
  LoadOp load = ring.loads.front();
  RankedTensorType tile = ring.tile();
  const int64_t rowBytes = panelColumns(tile) * tile.getElementTypeBitWidth() / 8;
  builder.setInsertionPointToStart(&kernel.getBody().front());
  ring.alloc = AllocOp::create(builder, load.getLoc(),
                               SharedType::get({ring.stages, tile.getShape()[0], tile.getShape()[1]},
                                               tile.getElementType(), Swizzle::forRows(rowBytes)),
                               IntegerAttr(), IntegerAttr());
}

/// The loads before it, and of its loop's trips those before this one.
Value RingStaging::indexOf(LoadOp load, const Ring &ring) {
  Location loc = load.getLoc();
  const auto before = std::find(ring.loads.begin(), ring.loads.end(), load) - ring.loads.begin();
  Value index = arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(before)));
  auto loop = load->getParentOfType<scf::ForOp>();
  if (!loop)
    return index;
  Value trips = arith::SubIOp::create(builder, loc, loop.getInductionVar(), loop.getLowerBound());
  return before == 0 ? trips : arith::AddIOp::create(builder, loc, trips, index).getResult();
}

void RingStaging::stage(LoadOp load, Ring &ring) {
  Location loc = load.getLoc();
  Block *home = load->getBlock();
  Value alloc = ring.alloc;

  // 1. Filled where it was loaded.
  builder.setInsertionPoint(load);
  Value index = indexOf(load, ring);
  AcquireOp::create(builder, loc, alloc, index);
  CopyBulkOp::create(builder, loc, load.getView(), load.getIndices(), alloc, index);

  // 2. There before the first reader, and given back after the last one.
  Operation *first = nullptr, *last = nullptr;
  SmallVector<Operation *> readers(load->getUsers());
  while (!readers.empty()) {
    Operation *reader = readers.pop_back_val();
    if (isa<TransposeOp, ConvertOp>(reader)) {
      readers.append(reader->user_begin(), reader->user_end());
      continue;
    }
    Operation *inHome = home->findAncestorOpInBlock(*reader);
    first = !first || inHome->isBeforeInBlock(first) ? inHome : first;
    last = !last || last->isBeforeInBlock(inHome) ? inHome : last;
  }
  builder.setInsertionPoint(first);
  stageOf[load.getResult()] = WaitFullOp::create(builder, loc, ring.alloc.getType().stage(), alloc, index);
  builder.setInsertionPointAfter(last);
  ReleaseOp::create(builder, loc, alloc, index);
}

void RingStaging::multiply(BlockDotOp dot) {
  auto [left, leftTransposed] = loadBehind(dot.getA());
  auto [right, rightTransposed] = loadBehind(dot.getB());
  Value a = left ? stageOf.lookup(left.getResult()) : dot.getA();
  builder.setInsertionPoint(dot);
  auto token = DotAsyncOp::create(builder, dot.getLoc(), TokenType::get(dot.getContext(), dot.getResult().getType()), a,
                                  stageOf.lookup(right.getResult()), dot.getAccumulator(), rightTransposed);
  auto wait = DotWaitOp::create(builder, dot.getLoc(), dot.getResult().getType(), token, 0);
  dot.replaceAllUsesWith(wait.getResult());
  dot.erase();
}

void RingStaging::run() {
  kernel.walk([&](BlockDotOp dot) { collect(dot); });
  if (products.empty())
    return;
  // In program order, which is that of the iterations.
  kernel.walk<WalkOrder::PreOrder>([&](LoadOp load) {
    if (loads.contains(load))
      ringFor(load);
  });
  countStages();
  for (Ring &ring : rings) {
    makeAlloc(ring);
    for (LoadOp load : ring.loads)
      stage(load, ring);
  }
  for (BlockDotOp dot : products)
    multiply(dot);
  kernel.walk([&](BlockDotOp dot) {
    for (OpOperand *operand : {&dot.getAMutable(), &dot.getBMutable()})
      if (auto [load, transposed] = loadBehindFragment(operand->get()); load && stageOf.contains(load.getResult())) {
        builder.setInsertionPoint(dot);
        operand->set(ReadOp::create(builder, dot.getLoc(), operand->get().getType(), stageOf.lookup(load.getResult()),
                                    transposed));
      }
  });
  kernel.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isa<LoadOp, ConvertOp, TransposeOp>(op) && op->use_empty())
      op->erase();
  });
}

struct StageRings : sectile::impl::StageRingsBase<StageRings> {
  using StageRingsBase::StageRingsBase;

  void runOnOperation() override {
    getOperation()->walk([&](BlockKernelOp kernel) { RingStaging(kernel, stages, sharedForTwo).run(); });
  }
};

} // namespace
