// Reductions, questions, matrix products and conversions: verifiers and folders.
#include "compiler/ir/Tile.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APSInt.h"

using namespace mlir;
using namespace sectile::ir;

//===-- reduce --------------------------------------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType source = getSource().getType(), result = getResult().getType();
  Type element = source.getElementType();
  if (!isa<Float32Type, Float16Type, BFloat16Type>(element) && !element.isInteger(32))
    return emitOpError("combines f32, f16, bf16 and i32, got ") << element;
  if (getAxis() >= source.getRank())
    return emitOpError("needs an axis from 0 to ")
           << source.getRank() - 1 << ", got " << static_cast<int32_t>(getAxis());
  if (static_cast<int32_t>(getParts()) < 1)
    return emitOpError("needs at least one part, got ") << static_cast<int32_t>(getParts());
  SmallVector<int64_t> shape(source.getShape());
  shape[getAxis()] = getParts();
  if (result.getShape() != ArrayRef(shape) || result.getElementType() != element)
    return emitOpError("makes ") << RankedTensorType::get(shape, element) << " of " << source << ", got " << result;
  return success();
}

OpFoldResult ReduceOp::fold(FoldAdaptor) {
  // One element a part is its own sum, and unless it is NaN its own maximum and minimum.
  RankedTensorType type = getSource().getType();
  bool same = type == getResult().getType() && (getKind() == ReduceKind::sum || type.getElementType().isInteger());
  return same ? OpFoldResult(getSource()) : OpFoldResult();
}

//===-- any -----------------------------------------------------------------------------------------------------===//

LogicalResult AnyOp::verify() {
  if (!getSource().getType().getElementType().isInteger(1))
    return emitOpError("asks about i1, got ") << getSource().getType();
  return success();
}

OpFoldResult AnyOp::fold(FoldAdaptor adaptor) {
  if (auto constant = dyn_cast_or_null<SplatElementsAttr>(adaptor.getSource()))
    return constant.getSplatValue<Attribute>();
  if (auto splat = getSource().getDefiningOp<SplatOp>())
    return splat.getValue();
  return {};
}

//===-- dot -----------------------------------------------------------------------------------------------------===//

LogicalResult DotOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType(), accumulator = getAccumulator().getType();
  if (!isa<FloatType>(a.getElementType()) || !isa<FloatType>(b.getElementType()))
    return emitOpError("multiplies floats, got ") << a << " x " << b;
  if (a.getRank() != 2 || b.getRank() != 2 || a.getDimSize(1) != b.getDimSize(0))
    return emitOpError("needs [m,k] x [k,n], got ") << a << " x " << b;
  const std::array shape{a.getDimSize(0), b.getDimSize(1)};
  if (accumulator.getShape() != ArrayRef(shape) || !accumulator.getElementType().isF32())
    return emitOpError("needs an accumulator of ")
           << RankedTensorType::get(shape, Float32Type::get(getContext())) << ", got " << accumulator;
  return success();
}

//===-- cast ----------------------------------------------------------------------------------------------------===//

LogicalResult CastOp::verify() {
  Type source = getSource().getType(), result = getResult().getType();
  auto sourceTensor = dyn_cast<RankedTensorType>(source), resultTensor = dyn_cast<RankedTensorType>(result);
  bool sameShape = sourceTensor && resultTensor ? sourceTensor.getShape() == resultTensor.getShape()
                                                : !sourceTensor && !resultTensor;
  if (!sameShape)
    return emitOpError("keeps the shape, got ") << source << " to " << result;
  return success();
}

/// The converted number, where the conversion is exact; rounding is left to the targets and the interpreter, which
/// agree.
static Attribute convertExactly(Attribute number, Type type) {
  if (auto integer = dyn_cast<IntegerAttr>(number)) {
    const bool isBool = integer.getType().isInteger(1);
    APSInt value(integer.getValue().zext(64), /*isUnsigned=*/false);
    if (!isBool)
      value = APSInt(integer.getValue().sext(64), /*isUnsigned=*/false);
    if (type.isInteger(1))
      return IntegerAttr::get(type, APInt(1, value != 0));
    if (type.isInteger(32))
      return IntegerAttr::get(type, value.trunc(32));
    APFloat converted(cast<FloatType>(type).getFloatSemantics());
    auto status = converted.convertFromAPInt(value, /*IsSigned=*/true, APFloat::rmNearestTiesToEven);
    return status == APFloat::opOK ? Attribute(FloatAttr::get(type, converted)) : Attribute();
  }
  auto real = dyn_cast<FloatAttr>(number);
  if (!real || real.getValue().isNaN())
    return {};
  APFloat value = real.getValue();
  if (type.isInteger(1))
    return IntegerAttr::get(type, APInt(1, !value.isZero()));
  bool exact = false;
  if (type.isInteger(32)) {
    APSInt converted(32, /*isUnsigned=*/false);
    bool isOk = value.convertToInteger(converted, APFloat::rmTowardZero, &exact) == APFloat::opOK && exact;
    return isOk ? Attribute(IntegerAttr::get(type, converted)) : Attribute();
  }
  bool losesInformation = true;
  auto status =
      value.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInformation);
  // Infinity has no counterpart in f8E4M3FN, and saturates elsewhere among the f8.
  const bool isFinite = real.getValue().isFinite() && value.isFinite();
  return status == APFloat::opOK && !losesInformation && isFinite ? Attribute(FloatAttr::get(type, value))
                                                                  : Attribute();
}

OpFoldResult CastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  Attribute source = adaptor.getSource();
  if (!source)
    return {};
  Type element = getElementTypeOrSelf(getResult().getType());
  if (auto splat = dyn_cast<SplatElementsAttr>(source)) {
    Attribute converted = convertExactly(splat.getSplatValue<Attribute>(), element);
    return converted ? OpFoldResult(SplatElementsAttr::get(cast<ShapedType>(getResult().getType()), converted))
                     : OpFoldResult();
  }
  return convertExactly(source, element);
}
