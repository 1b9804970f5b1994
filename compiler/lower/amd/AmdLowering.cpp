#include "compiler/lower/amd/AmdLowering.h"

using namespace mlir;
using namespace sectile::amd;
using namespace sectile::gpu;
using namespace sectile::ir;

//===-- the function --------------------------------------------------------------------------------------------===//

void AmdLowering::describe(LLVM::LLVMFuncOp function) {
  OpBuilder &builder = code.builder;
  constexpr int64_t wordBytes = 8;
  Type record = LLVM::LLVMArrayType::get(code.i64Type(), words + 3);
  function.setArgAttr(0, LLVM::LLVMDialect::getByRefAttrName(), TypeAttr::get(record));
  function.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(wordBytes));
  function->setAttr("rocdl.kernel", builder.getUnitAttr());
  const auto threads = static_cast<int32_t>(warps * warpLanes);
  function->setAttr("rocdl.reqd_work_group_size", builder.getDenseI32ArrayAttr({threads, 1, 1}));
  function->setAttr("rocdl.flat_work_group_size",
                    builder.getStringAttr(std::to_string(threads) + "," + std::to_string(threads)));
}

/// LDS is a symbol with a size, which the code object states.
void AmdLowering::declareShared(ModuleOp, StringRef symbol, int64_t bytes) {
  constexpr uint64_t alignment = 128;
  LLVM::GlobalOp::create(code.builder, code.loc,
                         LLVM::LLVMArrayType::get(code.i8Type(), static_cast<unsigned>(std::max<int64_t>(bytes, 1))),
                         /*isConstant=*/false, LLVM::Linkage::Internal, symbol, Attribute(), alignment, sharedSpace);
}

Value AmdLowering::threadIndex() { return code.intrinsic("llvm.amdgcn.workitem.id.x", code.i32Type(), {}); }
Value AmdLowering::blockIndex() { return code.intrinsic("llvm.amdgcn.workgroup.id.x", code.i32Type(), {}); }

/// The first of the hidden arguments.
Value AmdLowering::blockCount() {
  Value hidden = code.intrinsic("llvm.amdgcn.implicitarg.ptr", code.pointerType(constantSpace), {});
  return code.load(code.i32Type(), hidden, 4);
}

/// One number in all of a wave: it is in a scalar register.
Value AmdLowering::warpOf(Value thread) {
  return code.intrinsic("llvm.amdgcn.readfirstlane", code.i32Type(), {KernelLowering::warpOf(thread)});
}

/// The fences order memory; without them waves would wait for each other, but not for each other's stores.
void AmdLowering::barrier() {
  auto fence = [&](LLVM::AtomicOrdering ordering) {
    LLVM::FenceOp::create(code.builder, code.loc, ordering, "workgroup");
  };
  fence(LLVM::AtomicOrdering::release);
  code.intrinsic("llvm.amdgcn.s.barrier", {});
  fence(LLVM::AtomicOrdering::acquire);
}

//===-- numbers -------------------------------------------------------------------------------------------------===//

Value AmdLowering::exp2(Value exponent) { return code.intrinsic("llvm.amdgcn.exp2", code.f32Type(), {exponent}); }
Value AmdLowering::reciprocal(Value divisor) { return code.intrinsic("llvm.amdgcn.rcp", code.f32Type(), {divisor}); }
Value AmdLowering::opaque(Value number) { return code.assembly("", "=v,0", {number.getType()}, {number}).front(); }
