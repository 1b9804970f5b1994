#include "compiler/lower/gpu/LaneCode.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace sectile::gpu;

Type LaneCode::pointerType(unsigned space) { return LLVM::LLVMPointerType::get(builder.getContext(), space); }

//===-- numbers -------------------------------------------------------------------------------------------------===//

Value LaneCode::integer(Type type, int64_t value) {
  const unsigned width = type.getIntOrFloatBitWidth();
  return make<arith::ConstantOp>(TypedAttr(builder.getIntegerAttr(type, APInt(64, value).trunc(width))));
}

Value LaneCode::real(Type type, double value) {
  return make<arith::ConstantOp>(TypedAttr(builder.getFloatAttr(type, value)));
}

Value LaneCode::poison(Type type) { return make<LLVM::PoisonOp>(type); }

Value LaneCode::shiftLeft(Value a, int64_t count) {
  return count ? make<arith::ShLIOp>(a, integer(a.getType(), count)) : a;
}

Value LaneCode::shiftRight(Value a, int64_t count) {
  return count ? make<arith::ShRUIOp>(a, integer(a.getType(), count)) : a;
}

Value LaneCode::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return make<arith::CmpIOp>(predicate, a, b);
}

Value LaneCode::compare(arith::CmpIPredicate predicate, Value a, int64_t b) {
  return compare(predicate, a, integer(a.getType(), b));
}

Value LaneCode::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return make<arith::CmpFOp>(predicate, a, b);
}

Value LaneCode::select(Value condition, Value a, Value b) { return make<arith::SelectOp>(condition, a, b); }

// llvm's own conversions: LLVM pairs them into cvt.rn.bf16x2.f32 where that exists, and expands them where not.
Value LaneCode::widenFloat(Value narrow) { return make<LLVM::FPExtOp>(f32Type(), narrow); }
Value LaneCode::narrowFloat(Value wide, Type narrow) { return make<LLVM::FPTruncOp>(narrow, wide); }
LaneCode::Values LaneCode::narrowPair(Value first, Value second, Type narrow) {
  Value pair = make<LLVM::FPTruncOp>(vectorOf(2, narrow), pack({first, second}, vectorOf(2, f32Type())));
  return unpack(pair, narrow);
}

//===-- words ---------------------------------------------------------------------------------------------------===//

Value LaneCode::bitcast(Value a, Type type) { return a.getType() == type ? a : make<LLVM::BitcastOp>(type, a); }

// Packing what was unpacked costs nothing: LLVM sees that the elements are those of the word.
Value LaneCode::pack(ValueRange elements, Type type) {
  if (elements.size() == 1)
    return bitcast(elements.front(), type);
  auto vector = vectorOf(elements.size(), elements.front().getType());
  Value whole = poison(vector);
  for (auto [i, element] : llvm::enumerate(elements))
    whole = make<LLVM::InsertElementOp>(whole, element, i32(i));
  return bitcast(whole, type);
}

LaneCode::Values LaneCode::unpack(Value word, Type type) {
  unsigned bits = 0;
  if (auto vector = dyn_cast<VectorType>(word.getType()))
    bits = vector.getNumElements() * vector.getElementTypeBitWidth();
  else
    bits = word.getType().getIntOrFloatBitWidth();
  const int64_t count = bits / type.getIntOrFloatBitWidth();
  if (count == 1)
    return {bitcast(word, type)};
  Value whole = bitcast(word, vectorOf(count, type));
  Values elements;
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(make<LLVM::ExtractElementOp>(whole, i32(i)));
  return elements;
}

//===-- memory --------------------------------------------------------------------------------------------------===//

Value LaneCode::address(Value base, Value offset, int64_t constant) {
  auto plus = [&](Value pointer, LLVM::GEPArg bytes) {
    return make<LLVM::GEPOp>(pointer.getType(), i8Type(), pointer, ArrayRef<LLVM::GEPArg>(bytes));
  };
  if (offset)
    base = plus(base, offset);
  return constant ? plus(base, static_cast<int32_t>(constant)) : base;
}

Value LaneCode::pointer(Value integer, unsigned space) { return make<LLVM::IntToPtrOp>(pointerType(space), integer); }

Value LaneCode::integerOf(Value pointer) { return make<LLVM::PtrToIntOp>(i64Type(), pointer); }

Value LaneCode::load(Type type, Value pointer, int64_t alignment) {
  return make<LLVM::LoadOp>(type, pointer, static_cast<unsigned>(alignment));
}

void LaneCode::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(builder, loc, value, pointer, static_cast<unsigned>(alignment));
}

void LaneCode::atomicAdd(Value value, Value pointer) {
  auto kind = isa<FloatType>(value.getType()) ? LLVM::AtomicBinOp::fadd : LLVM::AtomicBinOp::add;
  LLVM::AtomicRMWOp::create(builder, loc, kind, pointer, value, LLVM::AtomicOrdering::monotonic);
}

//===-- instructions --------------------------------------------------------------------------------------------===//

Value LaneCode::intrinsic(StringRef name, Type result, ValueRange arguments) {
  return LLVM::CallIntrinsicOp::create(builder, loc, result, builder.getStringAttr(name), arguments).getResult(0);
}

void LaneCode::intrinsic(StringRef name, ValueRange arguments) {
  LLVM::CallIntrinsicOp::create(builder, loc, builder.getStringAttr(name), arguments);
}

LaneCode::Values LaneCode::intrinsic(StringRef name, ArrayRef<Type> results, ValueRange arguments) {
  if (results.size() == 1)
    return {intrinsic(name, results.front(), arguments)};
  return membersOf(intrinsic(name, LLVM::LLVMStructType::getLiteral(builder.getContext(), results), arguments),
                   results.size());
}

LaneCode::Values LaneCode::membersOf(Value structure, size_t count) {
  Values values;
  for (auto i : llvm::seq<int64_t>(0, count))
    values.push_back(make<LLVM::ExtractValueOp>(structure, ArrayRef<int64_t>(i)));
  return values;
}

LaneCode::Values LaneCode::assembly(StringRef text, StringRef constraints, ArrayRef<Type> results,
                                    ValueRange arguments) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type, 1> types(results);
  if (results.size() > 1)
    types = {LLVM::LLVMStructType::getLiteral(context, results)};
  auto op = LLVM::InlineAsmOp::create(builder, loc, types, arguments, text, constraints, /*has_side_effects=*/true,
                                      /*is_align_stack=*/false, LLVM::TailCallKind::None,
                                      LLVM::AsmDialectAttr::get(context, LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.size() <= 1)
    return Values(op->getResults());
  return membersOf(op.getResult(0), results.size());
}

//===-- control -------------------------------------------------------------------------------------------------===//

void LaneCode::when(Value condition, Body then) {
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  then();
}

void LaneCode::repeatUntil(llvm::function_ref<Value()> isDone) {
  auto test = [&](OpBuilder &, Location, ValueRange) {
    Value again = bitXor(isDone(), 1);
    scf::ConditionOp::create(builder, loc, again, ValueRange());
  };
  scf::WhileOp::create(builder, loc, TypeRange(), ValueRange(), test,
                       [](OpBuilder &inner, Location loc, ValueRange) { scf::YieldOp::create(inner, loc); });
}

LaneCode::Values LaneCode::choose(Value condition, TypeRange types, Yielding then, Yielding otherwise) {
  auto branch = scf::IfOp::create(builder, loc, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, body] : {std::pair(branch.thenBlock(), then), std::pair(branch.elseBlock(), otherwise)}) {
    builder.setInsertionPointToStart(block);
    Values yields = body();
    if (!types.empty()) // else it was made with its terminator
      scf::YieldOp::create(builder, loc, yields);
  }
  return Values(branch.getResults());
}
