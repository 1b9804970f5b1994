// The function around a kernel: its parameters, its place in the grid, the order of statements.
#include "compiler/lower/gpu/KernelLowering.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;

KernelLowering::KernelLowering(BlockKernelOp kernel, int64_t warpLanes, OpBuilder &builder)
    : kernel(kernel), warpLanes(warpLanes), code(builder, kernel.getLoc()), warps(kernel.getWarps()) {}

static constexpr llvm::StringLiteral sharedSymbol = "sectile_shared";
constexpr int64_t wordBytes = 8;

FailureOr<Operation *> KernelLowering::run() {
  OpBuilder &builder = code.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto module = kernel->getParentOfType<ModuleOp>();
  const int64_t threads = warps * warpLanes, sharedBytes = kernel.getSharedBytes().value_or(0);
  if (!module.lookupSymbol(sharedSymbol)) {
    builder.setInsertionPointToStart(module.getBody());
    declareShared(module, sharedSymbol, sharedBytes);
  }
  builder.setInsertionPoint(kernel);

  // 1. One parameter: words of 64 bits, the grid last.
  for (Type type : kernel.getArgumentTypes())
    words += isa<ViewType>(type) ? 1 + 2 * cast<ViewType>(type).getRank() : 1;
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {parameterPointer()});
  auto function = LLVM::LLVMFuncOp::create(builder, code.loc, kernel.getSymName(), type);

  // 2. What compilers and drivers must know.
  describe(function);
  if (Attribute loops = kernel->getAttr("persistent"))
    function->setAttr("sectile.persistent", loops);
  function->setAttr("sectile.threads", builder.getI64IntegerAttr(threads));
  function->setAttr("sectile.shared_bytes", builder.getI64IntegerAttr(sharedBytes));

  // 3. The body.
  Block *entry = function.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  prologueEnd = LLVM::ReturnOp::create(builder, code.loc, ValueRange());
  builder.setInsertionPoint(prologueEnd);
  parameters = entry->getArgument(0);
  thread = threadIndex();
  lane = code.bitAnd(thread, warpLanes - 1);
  warp = warpOf(thread);
  unpackArguments();

  // From here on the prologue is closed: it ends with an operation that does nothing, and goes at the end.
  Operation *end = prologueEnd;
  prologueEnd = code.i32(0).getDefiningOp();
  builder.setInsertionPoint(end);
  begin();
  if (failed(lower(kernel.getBody().front())))
    return failure();
  return function.getOperation();
}

Value KernelLowering::word(int64_t index, Type type) {
  return code.load(type, code.address(parameters, {}, bytesBeforeArguments() + index * wordBytes), wordBytes);
}

void KernelLowering::unpackArguments() {
  int64_t index = 0;
  for (BlockArgument argument : kernel.getBody().getArguments()) {
    auto type = dyn_cast<ViewType>(argument.getType());
    if (!type) {
      registers[argument] = {word(index++, argument.getType())};
      continue;
    }
    auto fact = [&](StringRef name) { return kernel.getArgAttr(argument.getArgNumber(), name) != nullptr; };
    ViewArgument &view = views[argument];
    view.element = type.getElementType();
    view.unitStride = fact("tile.unit_stride");
    view.aligned = fact("tile.aligned16");
    view.pointer = code.pointer(word(index++, code.i64Type()), globalSpace);
    for (int64_t i = 0; i < type.getRank(); ++i)
      view.sizes.push_back(word(index++, code.i32Type()));
    for (int64_t i = 0; i < type.getRank(); ++i)
      view.strides.push_back(word(index++, code.i64Type()));
  }
}

/// Launches are one-dimensional: blocks are numbered x fastest, then y, then z.
Value KernelLowering::programIndex(Value program, int64_t axis) {
  for (int64_t i = 0; i < axis; ++i)
    program = code.make<arith::DivUIOp>(program, word(words + i, code.i32Type()));
  return axis < 2 ? code.make<arith::RemUIOp>(program, word(words + axis, code.i32Type())) : program;
}

Value KernelLowering::program(int64_t axis) {
  return once("program " + std::to_string(axis), [&] { return programIndex(blockIndex(), axis); });
}

Value KernelLowering::sharedAddress(int64_t offset) {
  Value base =
      once("shared", [&] { return code.make<LLVM::AddressOfOp>(code.pointerType(sharedSpace), sharedSymbol); });
  return code.address(base, {}, offset);
}

Value KernelLowering::scratchOf(Operation *op) {
  if (auto offset = op->getAttrOfType<IntegerAttr>(scratchAttribute))
    return sharedAddress(offset.getInt());
  op->emitError("needs scratch memory, which has no place yet: plan shared memory first");
  return {};
}

LogicalResult KernelLowering::lower(Block &block) {
  for (Operation &op : block)
    if (failed(lower(&op)))
      return failure();
  return success();
}

LogicalResult KernelLowering::lower(Operation *op) {
  code.loc = op->getLoc();
  auto always = [&](auto statement) {
    lower(statement);
    return success();
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<SplatOp, IotaOp, CastOp, LoadOp, StoreOp, AtomicAddOp, StageOp, WriteOp, ReadOp>(always)
      .Case<ExtractOp, BroadcastOp, ReshapeOp, TransposeOp, ConvertOp, ReduceOp, AnyOp, AllocOp, BlockDotOp, scf::ForOp,
            scf::IfOp>([&](auto statement) { return lower(statement); })
      .Case<scf::YieldOp, BlockReturnOp>([](auto) { return success(); }) // by whoever lowers the region
      .Case([&](arith::ConstantOp constant) { return lowerConstant(constant); })
      .Case([&](ProgramOp op) {
        registers[op] = {program(op.getAxis())};
        return success();
      })
      .Case([&](ProgramIndexOp op) {
        registers[op] = {programIndex(registers.lookup(op.getProgram()).front(), op.getAxis())};
        return success();
      })
      .Case([&](WorkerOp op) {
        registers[op] = {blockIndex()};
        return success();
      })
      .Case([&](WorkersOp op) {
        registers[op] = {blockCount()};
        return success();
      })
      .Case([&](ProgramsOp op) {
        Value all = word(words, code.i32Type());
        for (int64_t axis : {1, 2})
          all = code.mul(all, word(words + axis, code.i32Type()));
        registers[op] = {all};
        return success();
      })
      .Case([&](DimOp op) {
        registers[op] = {views.find(op.getView())->second.sizes[op.getAxis()]};
        return success();
      })
      .Case([&](TokenOp op) { // its registers are those of the tensor
        registers[op] = registers.lookup(op.getTensor());
        return success();
      })
      .Case([&](BarrierOp) {
        barrier();
        return success();
      })
      .Default([&](Operation *op) -> LogicalResult {
        if (isa<arith::ArithDialect, math::MathDialect>(op->getDialect()))
          return lowerElementwise(op);
        return lowerOwn(op);
      });
}

LogicalResult KernelLowering::lowerOwn(Operation *op) { return op->emitOpError("has no lowering to ") << machine(); }
