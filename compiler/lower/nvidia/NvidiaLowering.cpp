#include "compiler/lower/nvidia/NvidiaLowering.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::nvidia;
using namespace sectile::gpu;
using namespace sectile::ir;

//===-- the function --------------------------------------------------------------------------------------------===//

std::string NvidiaLowering::machine() const {
  return "sm_" + std::to_string(options.sm) + (options.archSpecific ? "a" : "");
}

/// Tensor maps come first in the record.
void NvidiaLowering::describe(LLVM::LLVMFuncOp function) {
  OpBuilder &builder = code.builder;
  collectTensorMaps(function);
  constexpr int64_t wordBytes = 8;
  Type record = LLVM::LLVMArrayType::get(code.i64Type(), bytesBeforeArguments() / wordBytes + words + 3);
  function.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(record));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(),
                      builder.getI64IntegerAttr(tensorMaps.empty() ? wordBytes : 64));
  function.setArgAttr(0, "nvvm.grid_constant", builder.getUnitAttr()); // else it is copied to local memory
  function->setAttr("nvvm.kernel", builder.getUnitAttr());
  const auto threads = static_cast<int32_t>(warps * warpSize);
  function->setAttr("nvvm.reqntid", builder.getDenseI32ArrayAttr({threads, 1, 1}));
  for (auto roles : kernel.getOps<SpecializeOp>()) // which share out what each thread begins with
    function->setAttr("nvvm.maxnreg", builder.getI32IntegerAttr(static_cast<int32_t>(roles.registersAtLaunch())));
}

/// Dynamic: a symbol without a size, the launch gives it one.
void NvidiaLowering::declareShared(ModuleOp, StringRef symbol, int64_t) {
  constexpr uint64_t alignment = 1024; // of swizzled buffers
  LLVM::GlobalOp::create(code.builder, code.loc, LLVM::LLVMArrayType::get(code.i8Type(), 0), /*isConstant=*/false,
                         LLVM::Linkage::External, symbol, Attribute(), alignment, sharedSpace);
}

Value NvidiaLowering::threadIndex() { return code.intrinsic("llvm.nvvm.read.ptx.sreg.tid.x", code.i32Type(), {}); }
Value NvidiaLowering::blockIndex() { return code.intrinsic("llvm.nvvm.read.ptx.sreg.ctaid.x", code.i32Type(), {}); }
Value NvidiaLowering::blockCount() { return code.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", code.i32Type(), {}); }

/// Where roles branch on it and wgmma's descriptors depend on it, ptxas must know that it is one number in all of a
/// warp.
Value NvidiaLowering::warpOf(Value thread) {
  Value warp = KernelLowering::warpOf(thread);
  const bool isWanted =
      kernel
          ->walk([](Operation *op) {
            return isa<SpecializeOp, DotAsyncOp, CopyBulkOp>(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted();
  return isWanted ? shuffleWord(warp, code.i32(0)) : warp;
}

//===-- across threads ------------------------------------------------------------------------------------------===//

void NvidiaLowering::barrier() {
  if (group.threads == 0)
    code.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", {code.i32(group.barrier)});
  else
    code.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.count", {code.i32(group.barrier), code.i32(group.threads)});
}

static Value shuffle(LaneCode &code, StringRef name, Value word, Value lane) {
  return code.intrinsic(name, code.i32Type(), {code.i32(-1), word, lane, code.i32(warpSize - 1)});
}
Value NvidiaLowering::shuffleWordXor(Value word, int64_t mask) {
  return ::shuffle(code, "llvm.nvvm.shfl.sync.bfly.i32", word, code.i32(mask));
}
Value NvidiaLowering::shuffleWord(Value word, Value lane) {
  return ::shuffle(code, "llvm.nvvm.shfl.sync.idx.i32", word, lane);
}

Value NvidiaLowering::anyLane(Value condition) {
  return code.intrinsic("llvm.nvvm.vote.any.sync", code.i1Type(), {code.i32(-1), condition});
}

//===-- numbers -------------------------------------------------------------------------------------------------===//

Value NvidiaLowering::exp2(Value exponent) {
  return code.intrinsic("llvm.nvvm.ex2.approx.ftz.f32", code.f32Type(), {exponent});
}
Value NvidiaLowering::reciprocal(Value divisor) {
  return code.intrinsic("llvm.nvvm.rcp.approx.ftz.f", code.f32Type(), {divisor});
}
Value NvidiaLowering::opaque(Value number) { return code.assembly("", "=r,0", {number.getType()}, {number}).front(); }

/// Two at a time, by way of f16, which represents them all.
NvidiaLowering::Values NvidiaLowering::widenFloat8(ValueRange held, Type element) {
  if (!options.hasFp8())
    return KernelLowering::widenFloat8(held, element);
  Values wide;
  StringRef name = isa<Float8E4M3FNType>(element) ? "llvm.nvvm.e4m3x2.to.f16x2.rn" : "llvm.nvvm.e5m2x2.to.f16x2.rn";
  Type half = code.builder.getF16Type();
  for (size_t i = 0; i < held.size(); i += 2) {
    Value second = i + 1 < held.size() ? held[i + 1] : code.integer(code.i8Type(), 0);
    Value pair = code.pack({held[i], second}, code.i16Type());
    for (Value x : code.unpack(code.intrinsic(name, code.vectorOf(2, half), {pair}), half))
      if (wide.size() < held.size())
        wide.push_back(code.widenFloat(x));
  }
  return wide;
}

NvidiaLowering::Values NvidiaLowering::narrowFloat8(ValueRange wide, Type element) {
  if (!options.hasFp8())
    return KernelLowering::narrowFloat8(wide, element);
  Values held;
  StringRef name = isa<Float8E4M3FNType>(element) ? "llvm.nvvm.ff.to.e4m3x2.rn" : "llvm.nvvm.ff.to.e5m2x2.rn";
  for (size_t i = 0; i < wide.size(); i += 2) {
    Value second = i + 1 < wide.size() ? wide[i + 1] : code.f32(0);
    Value pair = code.intrinsic(name, code.i16Type(), {second, wide[i]}); // the first operand is the upper half
    for (Value x : code.unpack(pair, code.i8Type()))
      if (held.size() < wide.size())
        held.push_back(x);
  }
  return held;
}

//===-- operations of some machines -----------------------------------------------------------------------------===//

LogicalResult NvidiaLowering::lowerOwn(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<CopyAsyncOp, AcquireOp, CopyBulkOp, WaitFullOp, ReleaseOp, SpecializeOp, DotAsyncOp, DotWaitOp>(
          [&](auto statement) { return lower(statement); })
      .Case([&](CommitOp) {
        if (options.hasCpAsync())
          code.intrinsic("llvm.nvvm.cp.async.commit.group", {});
        return success();
      })
      .Case([&](WaitOp op) {
        if (options.hasCpAsync())
          code.intrinsic("llvm.nvvm.cp.async.wait.group", {code.i32(op.getPending())});
        return success();
      })
      .Default([&](Operation *op) { return KernelLowering::lowerOwn(op); });
}
