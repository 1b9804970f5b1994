// A builder for one lane's program: integers, packed words, addresses, memory and control, each in one call.
//
// Arithmetic is arith on scalars, control is scf; memory is llvm's, through pointers of the global (1) and shared (3)
// address spaces. The machine's own instructions are LLVM intrinsics, by name: they carry their properties (convergent,
// reads memory) with them, unlike inline assembly.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace sectile::gpu {

constexpr unsigned globalSpace = 1, sharedSpace = 3;

class LaneCode {
public:
  LaneCode(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  using Values = llvm::SmallVector<mlir::Value>;

  // --- types ---
  mlir::Type i1Type() { return builder.getI1Type(); }
  mlir::Type i8Type() { return builder.getI8Type(); }
  mlir::Type i16Type() { return builder.getI16Type(); }
  mlir::Type i32Type() { return builder.getI32Type(); }
  mlir::Type i64Type() { return builder.getI64Type(); }
  mlir::Type f32Type() { return builder.getF32Type(); }
  mlir::Type vectorOf(int64_t count, mlir::Type element) { return mlir::VectorType::get({count}, element); }
  mlir::Type pointerType(unsigned space);

  // --- numbers ---
  mlir::Value integer(mlir::Type type, int64_t value);
  mlir::Value i32(int64_t value) { return integer(i32Type(), value); }
  mlir::Value i64(int64_t value) { return integer(i64Type(), value); }
  mlir::Value truth(bool value) { return integer(i1Type(), value); }
  mlir::Value real(mlir::Type type, double value);
  mlir::Value f32(double value) { return real(f32Type(), value); }
  mlir::Value poison(mlir::Type type);

  template <class Op, class... Arguments> mlir::Value make(Arguments... arguments) {
    return Op::create(builder, loc, arguments...);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) { return make<mlir::arith::AddIOp>(a, b); }
  mlir::Value sub(mlir::Value a, mlir::Value b) { return make<mlir::arith::SubIOp>(a, b); }
  mlir::Value mul(mlir::Value a, mlir::Value b) { return make<mlir::arith::MulIOp>(a, b); }
  mlir::Value bitAnd(mlir::Value a, mlir::Value b) { return make<mlir::arith::AndIOp>(a, b); }
  mlir::Value bitOr(mlir::Value a, mlir::Value b) { return make<mlir::arith::OrIOp>(a, b); }
  mlir::Value bitXor(mlir::Value a, mlir::Value b) { return make<mlir::arith::XOrIOp>(a, b); }
  mlir::Value add(mlir::Value a, int64_t b) { return b ? add(a, integer(a.getType(), b)) : a; }
  mlir::Value mul(mlir::Value a, int64_t b) { return b == 1 ? a : mul(a, integer(a.getType(), b)); }
  mlir::Value bitAnd(mlir::Value a, int64_t b) { return bitAnd(a, integer(a.getType(), b)); }
  mlir::Value bitXor(mlir::Value a, int64_t b) { return b ? bitXor(a, integer(a.getType(), b)) : a; }
  mlir::Value shiftLeft(mlir::Value a, int64_t count);
  mlir::Value shiftRight(mlir::Value a, int64_t count); ///< zeros come in
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, int64_t b);
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value signExtend(mlir::Value a, mlir::Type type) { return make<mlir::arith::ExtSIOp>(type, a); }
  mlir::Value zeroExtend(mlir::Value a, mlir::Type type) { return make<mlir::arith::ExtUIOp>(type, a); }
  mlir::Value truncate(mlir::Value a, mlir::Type type) { return make<mlir::arith::TruncIOp>(type, a); }
  mlir::Value widenFloat(mlir::Value narrow);                   ///< f16, bf16 to f32
  mlir::Value narrowFloat(mlir::Value wide, mlir::Type narrow); ///< f32 to f16, bf16, to nearest even
  Values narrowPair(mlir::Value first, mlir::Value second, mlir::Type narrow);

  // --- words ---
  mlir::Value bitcast(mlir::Value a, mlir::Type type);
  /// Scalars of one type, lowest first, as one value of `type` with as many bits.
  mlir::Value pack(mlir::ValueRange elements, mlir::Type type);
  /// The inverse: `type` is a scalar type.
  Values unpack(mlir::Value word, mlir::Type type);

  // --- memory ---
  /// base + offset + constant, in bytes; `offset` may be null.
  mlir::Value address(mlir::Value base, mlir::Value offset, int64_t constant = 0);
  mlir::Value pointer(mlir::Value integer, unsigned space); ///< from an i64
  mlir::Value integerOf(mlir::Value pointer);               ///< an i64
  mlir::Value load(mlir::Type type, mlir::Value pointer, int64_t alignment);
  void store(mlir::Value value, mlir::Value pointer, int64_t alignment);
  void atomicAdd(mlir::Value value, mlir::Value pointer);

  // --- instructions ---
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange arguments);
  Values intrinsic(llvm::StringRef name, llvm::ArrayRef<mlir::Type> results, mlir::ValueRange arguments);
  void intrinsic(llvm::StringRef name, mlir::ValueRange arguments);
  /// Assembly with side effects, in LLVM's syntax of constraints.
  Values assembly(llvm::StringRef text, llvm::StringRef constraints, llvm::ArrayRef<mlir::Type> results,
                  mlir::ValueRange arguments);

  // --- control ---
  using Body = llvm::function_ref<void()>;
  using Yielding = llvm::function_ref<Values()>;
  void when(mlir::Value condition, Body then);
  Values choose(mlir::Value condition, mlir::TypeRange types, Yielding then, Yielding otherwise);
  void repeatUntil(llvm::function_ref<mlir::Value()> isDone);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  Values membersOf(mlir::Value structure, size_t count);
};

/// Bits that an element takes in registers and in memory: i1 is a byte in memory.
inline int64_t memoryBits(mlir::Type element) { return std::max<int64_t>(element.getIntOrFloatBitWidth(), 8); }

} // namespace sectile::gpu
