// A builder for the host's vector stage: addresses, loops, loads and stores, each in one call.
//
// Memory is reached through raw pointers (`llvm.load`, `llvm.store`); everything else is arith, scf and vector.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace sectile::host {

/// An i64 number with its constant part kept apart, so that it ends up in the displacement of an address.
struct Index {
  mlir::Value dynamic; ///< null: 0
  int64_t constant = 0;

  Index(int64_t constant = 0) : constant(constant) {}
  Index(mlir::Value dynamic, int64_t constant = 0) : dynamic(dynamic), constant(constant) {}
  bool isConstant() const { return !dynamic; }
};

class Code {
public:
  Code(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  using Values = llvm::SmallVector<mlir::Value>;
  using Body = llvm::function_ref<void(mlir::Value iv)>;
  using CarryingBody = llvm::function_ref<Values(mlir::Value iv, mlir::ValueRange carried)>;

  // --- integers ---
  mlir::Value i64(int64_t value);
  mlir::Value i32(int64_t value);
  mlir::Value value(Index index);
  Index add(Index a, Index b);
  Index scale(Index a, int64_t factor);
  Index dividedBy(Index a, int64_t divisor); ///< exact
  Index remainder(Index a, int64_t divisor); ///< of a number >= 0, by a power of two
  mlir::Value widen(mlir::Value i32);        ///< sign-extended to i64
  mlir::Value narrow(mlir::Value i64);       ///< truncated to i32
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value lessEqual(mlir::Value a, mlir::Value b); ///< signed; scalars or vectors
  mlir::Value less(mlir::Value a, mlir::Value b);

  // --- constants and vectors ---
  /// A number as a scalar or vector of `type`.
  mlir::Value constant(mlir::Type type, double number);
  mlir::Value constant(mlir::Type type, mlir::Attribute scalar);
  mlir::Value broadcast(mlir::Value scalar, int64_t lanes);
  /// first, first + 1, … as i32.
  mlir::Value lanesFrom(Index first, int64_t lanes);
  mlir::Value shuffle(mlir::Value a, mlir::Value b, llvm::ArrayRef<int64_t> mask);
  /// n vectors of n lanes, transposed.
  void transpose(llvm::MutableArrayRef<mlir::Value> rows);

  // --- memory ---
  mlir::Value address(mlir::Value base, Index elements, int64_t elementBytes, int64_t byteOffset = 0);
  mlir::Value load(mlir::Type type, mlir::Value pointer);
  void store(mlir::Value value, mlir::Value pointer);
  mlir::Value maskedLoad(mlir::VectorType type, mlir::Value pointer, mlir::Value mask, mlir::Value passthrough);
  void maskedStore(mlir::Value value, mlir::Value pointer, mlir::Value mask);
  void atomicAdd(mlir::Value value, mlir::Value pointer);
  void prefetch(mlir::Value pointer); ///< for reading, into the L2 cache
  mlir::Type pointerType();
  /// A processor's own instruction, by LLVM's name; a null type for none.
  mlir::Value intrinsic(llvm::StringRef name, mlir::Type result, mlir::ValueRange arguments);
  mlir::Type matrixTileType(); ///< a register of the matrix unit

  // --- control ---
  void loop(Index begin, Index end, int64_t step, Body body);
  Values loop(Index begin, Index end, int64_t step, mlir::ValueRange initial, CarryingBody body);
  void when(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = nullptr);
  mlir::Value choose(mlir::Value condition, mlir::Type type, llvm::function_ref<mlir::Value()> then,
                     llvm::function_ref<mlir::Value()> otherwise);

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace sectile::host
