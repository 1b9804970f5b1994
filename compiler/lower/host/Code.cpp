#include "compiler/lower/host/Code.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sectile::host;

Value Code::i64(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value)); }
Value Code::i32(int64_t value) {
  return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(static_cast<int32_t>(value)));
}

Value Code::value(Index index) {
  if (index.isConstant())
    return i64(index.constant);
  return index.constant ? add(index.dynamic, i64(index.constant)) : index.dynamic;
}

Index Code::add(Index a, Index b) {
  Value dynamic = !a.dynamic ? b.dynamic : !b.dynamic ? a.dynamic : add(a.dynamic, b.dynamic);
  return Index(dynamic, a.constant + b.constant);
}

Index Code::scale(Index a, int64_t factor) {
  if (factor == 0)
    return Index(0);
  Value dynamic = a.dynamic && factor != 1 ? mul(a.dynamic, i64(factor)) : a.dynamic;
  return Index(dynamic, a.constant * factor);
}

Index Code::dividedBy(Index a, int64_t divisor) {
  if (a.isConstant())
    return Index(a.constant / divisor);
  return Index(Value(arith::DivUIOp::create(builder, loc, value(a), i64(divisor))));
}

Index Code::remainder(Index a, int64_t divisor) {
  if (a.isConstant())
    return Index(a.constant % divisor);
  return Index(Value(arith::AndIOp::create(builder, loc, value(a), i64(divisor - 1))));
}

Value Code::widen(Value value) { return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), value); }
Value Code::narrow(Value value) { return arith::TruncIOp::create(builder, loc, builder.getI32Type(), value); }
Value Code::min(Value a, Value b) { return arith::MinSIOp::create(builder, loc, a, b); }
Value Code::max(Value a, Value b) { return arith::MaxSIOp::create(builder, loc, a, b); }
Value Code::add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
Value Code::sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
Value Code::mul(Value a, Value b) { return arith::MulIOp::create(builder, loc, a, b); }
Value Code::both(Value a, Value b) { return arith::AndIOp::create(builder, loc, a, b); }
Value Code::lessEqual(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, a, b); }
Value Code::less(Value a, Value b) { return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b); }

Value Code::constant(Type type, Attribute scalar) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, scalar));
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(scalar));
}

Value Code::constant(Type type, double number) {
  Type element = getElementTypeOrSelf(type);
  Attribute scalar = isa<FloatType>(element) ? Attribute(builder.getFloatAttr(element, number))
                                             : Attribute(builder.getIntegerAttr(element, static_cast<int64_t>(number)));
  return constant(type, scalar);
}

Value Code::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value Code::lanesFrom(Index first, int64_t lanes) {
  SmallVector<int32_t> numbers;
  for (int64_t i = 0; i < lanes; ++i)
    numbers.push_back(static_cast<int32_t>(first.constant + i));
  Value steps = arith::ConstantOp::create(builder, loc, builder.getI32VectorAttr(numbers));
  return first.isConstant() ? steps : add(broadcast(narrow(first.dynamic), lanes), steps);
}

Value Code::shuffle(Value a, Value b, ArrayRef<int64_t> mask) {
  return vector::ShuffleOp::create(builder, loc, a, b, mask);
}

// Bit s of the row number and bit s of the lane number trade places, for each bit.
void Code::transpose(MutableArrayRef<Value> rows) {
  int64_t n = static_cast<int64_t>(rows.size());
  for (int64_t s = 1; s < n; s *= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < n; ++lane) {
      low.push_back(lane & s ? n + lane - s : lane);
      high.push_back(lane & s ? n + lane : lane + s);
    }
    for (int64_t i = 0; i < n; ++i) {
      if (i & s)
        continue;
      Value a = rows[i], b = rows[i + s];
      rows[i] = shuffle(a, b, low);
      rows[i + s] = shuffle(a, b, high);
    }
  }
}

Type Code::pointerType() { return LLVM::LLVMPointerType::get(builder.getContext()); }

Value Code::address(Value base, Index elements, int64_t elementBytes, int64_t byteOffset) {
  auto step = [&](Value from, LLVM::GEPArg bytes, int64_t unit) -> Value {
    return LLVM::GEPOp::create(builder, loc, pointerType(), builder.getIntegerType(8 * unit), from,
                               ArrayRef<LLVM::GEPArg>{bytes});
  };
  if (elements.dynamic)
    base = step(base, elements.dynamic, elementBytes);
  if (int64_t bytes = elements.constant * elementBytes + byteOffset)
    base = step(base, LLVM::GEPArg(static_cast<int32_t>(bytes)), 1);
  return base;
}

namespace {
unsigned elementAlignment(Type type) { return std::max(1u, getElementTypeOrSelf(type).getIntOrFloatBitWidth() / 8); }
} // namespace

Value Code::load(Type type, Value pointer) {
  return LLVM::LoadOp::create(builder, loc, type, pointer,
                              isa<LLVM::LLVMPointerType>(type) ? 8 : elementAlignment(type));
}

void Code::store(Value value, Value pointer) {
  LLVM::StoreOp::create(builder, loc, value, pointer, elementAlignment(value.getType()));
}

Value Code::maskedLoad(VectorType type, Value pointer, Value mask, Value passthrough) {
  return LLVM::MaskedLoadOp::create(builder, loc, type, pointer, mask, passthrough, elementAlignment(type));
}

void Code::maskedStore(Value value, Value pointer, Value mask) {
  LLVM::MaskedStoreOp::create(builder, loc, value, pointer, mask, elementAlignment(value.getType()));
}

void Code::prefetch(Value pointer) {
  constexpr unsigned read = 0, intoL2 = 2, data = 1;
  LLVM::Prefetch::create(builder, loc, pointer, read, intoL2, data);
}

void Code::atomicAdd(Value value, Value pointer) {
  auto kind = isa<FloatType>(value.getType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  LLVM::AtomicRMWOp::create(builder, loc, kind, pointer, value, LLVM::AtomicOrdering::monotonic);
}

Value Code::intrinsic(StringRef name, Type result, ValueRange arguments) {
  StringAttr symbol = builder.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(builder, loc, symbol, arguments);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(builder, loc, result, symbol, arguments).getResult(0);
}

Type Code::matrixTileType() { return LLVM::LLVMX86AMXType::get(builder.getContext()); }

void Code::loop(Index begin, Index end, int64_t step, Body body) {
  loop(begin, end, step, {}, [&](Value iv, ValueRange) {
    body(iv);
    return Values();
  });
}

Code::Values Code::loop(Index begin, Index end, int64_t step, ValueRange initial, CarryingBody body) {
  auto loop = scf::ForOp::create(builder, loc, value(begin), value(end), i64(step), initial,
                                 [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                                   OpBuilder::InsertionGuard guard(builder);
                                   // ForOp hands out its own builder: continue with ours at the same place.
                                   builder.setInsertionPointToEnd(iv.getParentBlock());
                                   Values next = body(iv, carried);
                                   scf::YieldOp::create(builder, loc, next);
                                 });
  return Values(loop.getResults());
}

void Code::when(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(builder, loc, condition, static_cast<bool>(otherwise));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
  if (otherwise) {
    builder.setInsertionPointToStart(branch.elseBlock());
    otherwise();
  }
}

Value Code::choose(Value condition, Type type, llvm::function_ref<Value()> then,
                   llvm::function_ref<Value()> otherwise) {
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type}, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, then());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, otherwise());
  return branch.getResult(0);
}
