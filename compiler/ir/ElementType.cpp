#include "compiler/ir/ElementType.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace sectile;

mlir::Type ir::toMlir(mlir::MLIRContext *context, Type type) {
  switch (type) {
  case Type::f32:
    return mlir::Float32Type::get(context);
  case Type::f16:
    return mlir::Float16Type::get(context);
  case Type::bf16:
    return mlir::BFloat16Type::get(context);
  case Type::f8e4m3:
    return mlir::Float8E4M3FNType::get(context);
  case Type::f8e5m2:
    return mlir::Float8E5M2Type::get(context);
  case Type::i32:
    return mlir::IntegerType::get(context, 32);
  case Type::i1:
    return mlir::IntegerType::get(context, 1);
  }
  return {};
}

std::optional<Type> ir::fromMlir(mlir::Type type) {
  for (Type candidate : {Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2, Type::i32, Type::i1})
    if (type == toMlir(type.getContext(), candidate))
      return candidate;
  return std::nullopt;
}
