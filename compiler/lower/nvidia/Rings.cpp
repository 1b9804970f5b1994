// Rings that are handed to and fro: acquire, copy_bulk, wait_full and release by barriers in shared memory (mbarrier).
//
//     a ring's barriers      full[stages]: one thread arrives, which says how many bytes will follow
//                            empty[stages]: each warp of the roles that read arrives once
//     iteration i            stage i mod stages, phase i / stages
//     wait_full              until the full barrier has passed the phase:              parity phase & 1
//     acquire                until the empty one has passed the phase before, which    parity (phase & 1) ^ 1
//                            of a new barrier counts as passed
//
// A tile is copied by TMA, an instruction for each panel. Its tensor maps lie in front of the function's parameters,
// 128 bytes each, one for each different box; the attribute `sectile.tensor_maps` tells which.
#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

constexpr int64_t barrierBytes = 8;

//===-- tensor maps -----------------------------------------------------------------------------------------------===//

NvidiaLowering::TensorMap NvidiaLowering::TensorMap::of(CopyBulkOp op) {
  SharedType ring = op.getRing().getType();
  return {cast<BlockArgument>(op.getView()).getArgNumber(), ring.getRows(), ring.getPanel(),
          ring.hardwareSwizzle().value_or(0)};
}

/// Of all copies; what the launch must know of them.
void NvidiaLowering::collectTensorMaps(Operation *function) {
  kernel.walk([&](CopyBulkOp op) {
    if (const TensorMap map = TensorMap::of(op); !llvm::is_contained(tensorMaps, map))
      tensorMaps.push_back(map);
  });
  OpBuilder &builder = code.builder;
  auto describe = [&](const TensorMap &map) -> Attribute {
    auto number = [&](StringRef name, int64_t value) {
      return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
    };
    return builder.getDictionaryAttr({number("parameter", map.parameter), number("rows", map.rows),
                                      number("columns", map.columns), number("swizzle", map.swizzle)});
  };
  if (!tensorMaps.empty())
    function->setAttr("sectile.tensor_maps", builder.getArrayAttr(llvm::map_to_vector(tensorMaps, describe)));
}

//===-- barriers --------------------------------------------------------------------------------------------------===//

/// How many threads say that a stage is empty.
static int64_t arrivals(AllocOp ring) {
  llvm::SmallPtrSet<Region *, 2> regions;
  int64_t count = 0;
  for (Operation *user : ring->getUsers()) {
    if (!isa<ReleaseOp>(user))
      continue;
    const Role role = roleOf(user);
    if (regions.insert(role.body).second)
      count += role.isOneThread() ? 1 : role.warps;
  }
  return std::max<int64_t>(count, 1);
}

/// By one thread, before anybody uses them. The fences are for TMA, which reads and writes by a way of its own.
void NvidiaLowering::initializeBarriers() {
  SmallVector<AllocOp> rings;
  kernel.walk([&](AllocOp alloc) {
    if (alloc.getBarriers())
      rings.push_back(alloc);
  });
  if (rings.empty())
    return;
  code.when(code.compare(arith::CmpIPredicate::eq, thread, 0), [&] {
    for (AllocOp ring : rings) {
      const int64_t stages = ring.getType().getStages(), start = static_cast<int64_t>(*ring.getBarriers());
      for (int64_t i = 0; i < 2 * stages; ++i)
        code.intrinsic("llvm.nvvm.mbarrier.init.shared",
                       {sharedAddress(start + i * barrierBytes), code.i32(i < stages ? 1 : arrivals(ring))});
    }
    code.intrinsic("llvm.nvvm.fence.mbarrier_init.release.cluster", {});
    code.intrinsic("llvm.nvvm.fence.proxy.async.shared_cta", {});
    for (size_t i = 0; i < tensorMaps.size(); ++i)
      code.intrinsic("llvm.nvvm.prefetch.tensormap.p0", {tensorMapAddress(i)});
  });
  barrier();
}

Value NvidiaLowering::tensorMapAddress(int64_t index) { return code.address(parameters, {}, index * TensorMap::bytes); }

/// Null, with a diagnostic, of a ring without barriers.
FailureOr<NvidiaLowering::RingPlace> NvidiaLowering::placeIn(Operation *op, Value ring, Value index) {
  const SharedBuffer buffer = buffers.lookup(ring);
  if (!options.hasTma())
    return op->emitOpError("has no lowering to sm_") << options.sm << ": barriers that count bytes came with sm_90";
  if (!buffer.barriers)
    return op->emitOpError("needs a ring with barriers, which have no place yet: plan shared memory first");
  const int64_t stages = buffer.type.getStages();
  Value number = registers.lookup(index).front(), phase = number, stage = code.i32(0);
  if (llvm::isPowerOf2_64(stages)) {
    stage = stages == 1 ? stage : code.bitAnd(number, stages - 1);
    phase = code.shiftRight(number, llvm::Log2_64(stages));
  } else {
    phase = code.make<arith::DivUIOp>(number, code.i32(stages));
    stage = code.sub(number, code.mul(phase, stages));
  }
  Value full = code.address(buffer.barriers, code.mul(stage, barrierBytes));
  return RingPlace{code.address(buffer.address, code.mul(stage, buffer.type.stageBytes())), full,
                   code.address(full, {}, stages * barrierBytes), code.bitAnd(phase, 1)};
}

void NvidiaLowering::waitForPhase(Value barrier, Value parity) {
  code.repeatUntil([&] {
    return code.intrinsic("llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta", code.i1Type(), {barrier, parity});
  });
}

LogicalResult NvidiaLowering::lower(AcquireOp op) {
  FailureOr<RingPlace> place = placeIn(op, op.getRing(), op.getIndex());
  if (failed(place))
    return failure();
  waitForPhase(place->empty, code.bitXor(place->parity, 1));
  return success();
}

LogicalResult NvidiaLowering::lower(WaitFullOp op) {
  FailureOr<RingPlace> place = placeIn(op, op.getRing(), op.getIndex());
  if (failed(place))
    return failure();
  waitForPhase(place->full, place->parity);
  buffers[op.getStage()] = {place->address, op.getStage().getType()};
  return success();
}

/// Whether threads read a ring's stages: what only wgmma reads is read once the warps have waited for it together.
static bool isReadByThreads(Value ring) {
  return llvm::any_of(ring.getUsers(), [](Operation *user) {
    return isa<WaitFullOp>(user) &&
           llvm::any_of(user->getUsers(), [](Operation *reader) { return !isa<DotAsyncOp>(reader); });
  });
}

LogicalResult NvidiaLowering::lower(ReleaseOp op) {
  FailureOr<RingPlace> place = placeIn(op, op.getRing(), op.getIndex());
  if (failed(place))
    return failure();
  auto arrive = [&] { code.intrinsic("llvm.nvvm.mbarrier.arrive.shared", code.i64Type(), {place->empty}); };
  if (isOneThread) {
    arrive();
    return success();
  }
  if (isReadByThreads(op.getRing()))
    code.intrinsic("llvm.nvvm.bar.warp.sync", {code.i32(-1)});
  code.when(code.compare(arith::CmpIPredicate::eq, lane, 0), arrive);
  return success();
}

//===-- copies ----------------------------------------------------------------------------------------------------===//

LogicalResult NvidiaLowering::lower(CopyBulkOp op) {
  for (Operation *user : op.getView().getUsers())
    if (isa<StoreOp, AtomicAddOp>(user)) {
      auto error = op.emitOpError("reads a view that the kernel writes, and bulk copies are in no order with stores");
      error.attachNote(user->getLoc()) << "written here";
      return error;
    }
  FailureOr<RingPlace> place = placeIn(op, op.getRing(), op.getIndex());
  if (failed(place))
    return failure();
  SharedType ring = op.getRing().getType();
  const auto map = llvm::find(tensorMaps, TensorMap::of(op)) - tensorMaps.begin();
  byOneThread([&] {
    code.intrinsic("llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta", code.i64Type(),
                   {place->full, code.i32(ring.stageBytes())});
    for (int64_t column = 0; column < ring.getColumns(); column += ring.getPanel()) {
      Value to = code.address(place->address, {}, column / ring.getPanel() * ring.panelBytes());
      Values arguments{code.pointer(code.integerOf(to), clusterSpace), place->full, tensorMapAddress(map)};
      for (Value index : llvm::reverse(op.getIndices()))
        arguments.push_back(registers.lookup(index).front());
      arguments[3] = code.add(arguments[3], column);
      // No multicast, no hint for the cache.
      llvm::append_range(arguments, Values{code.integer(code.i16Type(), 0), code.i64(0), code.truth(false),
                                           code.truth(false), code.i32(0)});
      code.intrinsic("llvm.nvvm.cp.async.bulk.tensor.g2s.tile." + std::to_string(op.getIndices().size()) + "d",
                     arguments);
    }
  });
  return success();
}
