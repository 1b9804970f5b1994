// The base of what expands an operation on scalars and on vectors alike: every value has the shape of one type.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace sectile {

class ShapedBuilder {
protected:
  /// `like` is a scalar type or a vector type; its element type does not matter.
  ShapedBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type like)
      : builder(builder), loc(loc), like(like) {}

  mlir::Type shaped(mlir::Type element) const {
    auto vector = mlir::dyn_cast<mlir::VectorType>(like);
    return vector ? mlir::Type(mlir::VectorType::get(vector.getShape(), element)) : element;
  }
  template <class Op, class... Arguments> mlir::Value make(Arguments... arguments) {
    return Op::create(builder, loc, arguments...);
  }
  mlir::Value constant(mlir::Type type, mlir::TypedAttr element) {
    if (auto vector = mlir::dyn_cast<mlir::VectorType>(type))
      element = mlir::DenseElementsAttr::get(vector, mlir::Attribute(element));
    return make<mlir::arith::ConstantOp>(element);
  }
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::CmpFOp>(predicate, a, b);
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return make<mlir::arith::SelectOp>(condition, a, b);
  }

  mlir::OpBuilder &builder;
  const mlir::Location loc;
  const mlir::Type like;
};

} // namespace sectile
