// Checks that every function of the tile language shares, and the messages that they end in.
#include "compiler/dsl/Recorder.h"

#include "compiler/ir/ElementType.h"
#include "sectile/Error.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <cstdio>

using namespace sectile;
using namespace sectile::dsl;

std::string dsl::describe(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::string dsl::describe(const Value &value) {
  return std::string(typeName(value.type)) + " " + (value.shape.empty() ? "scalar" : describe(value.shape));
}

std::string dsl::describe(const Where &where) {
  return llvm::sys::path::filename(where.file_name()).str() + ":" + std::to_string(where.line());
}

Input dsl::numberOf(double value, Type type) {
  Input input;
  input.isReal = isFloat(type) || value != std::trunc(value) || std::abs(value) >= 0x1p63;
  input.real = value;
  input.integer = input.isReal ? 0 : static_cast<int64_t>(value);
  return input;
}

std::string dsl::describe(const Input &number) {
  if (!number.isReal)
    return std::to_string(number.integer);
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", number.real);
  return text;
}

Call::Call(const char *name, std::initializer_list<Operand> operands) : name(name) {
  for (const Operand &operand : operands) {
    inputs.push_back(Recorder::read(operand));
    if (!owner)
      owner = inputs.back().recorder;
  }
  where = inputs.front().where;
  if (!owner)
    fail("needs a tile, got only numbers");
  owner->checkIntact();
  for (const Input &input : inputs)
    check(input);
}

Call::Call(Recorder &recorder, const char *name, const Where &where, std::initializer_list<Operand> operands)
    : owner(&recorder), name(name), where(where) {
  owner->checkIntact();
  for (const Operand &operand : operands)
    add(operand);
}

size_t Call::add(const Operand &operand) {
  inputs.push_back(Recorder::read(operand));
  check(inputs.back());
  return inputs.size() - 1;
}

void Call::check(const Input &input) const {
  if (!input.tile)
    return;
  if (input.recorder != owner)
    fail("got a tile of another trace");
  if (!owner->isOpen(input.tile->scope))
    fail("got a tile made at " + describe(input.tile->where) +
         " inside a loop or condition that has ended: only a Var carries values out of it");
}

void Call::fail(const std::string &rule) const { throw UserError(describe(where) + ": error: '" + name + "' " + rule); }

const Value &Call::tile(size_t operand) const {
  const Input &input = inputs[operand];
  if (!input.tile)
    fail("needs a tile, got the number " + describe(input));
  return *input.tile;
}

mlir::Value Call::index(size_t operand) {
  const Input &input = inputs[operand];
  if (!input.tile)
    return number(input, Type::i32, {});
  if (input.tile->type != Type::i32 || !input.tile->shape.empty())
    fail("takes i32 scalars, got " + describe(*input.tile));
  return input.tile->ir;
}

Type Call::commonType(std::initializer_list<size_t> operands) const {
  std::optional<Type> type;
  for (size_t operand : operands) {
    const Value *tile = inputs[operand].tile;
    if (tile && type && *type != tile->type)
      fail("needs one element type, got " + std::string(typeName(*type)) + " and " + std::string(typeName(tile->type)) +
           ": cast one of them");
    if (tile)
      type = tile->type;
  }
  if (!type)
    fail("needs a tile to give its numbers an element type: write t.full(…) for one of them");
  return *type;
}

Shape Call::commonShape() const {
  Shape common;
  for (const Input &input : inputs) {
    if (!input.tile)
      continue;
    const Shape &shape = input.tile->shape;
    Shape before = common;
    if (common.size() < shape.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    size_t leading = common.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) {
      int64_t &size = common[leading + i];
      if (size != shape[i] && size != 1 && shape[i] != 1)
        fail("cannot broadcast " + describe(before) + " with " + describe(shape) + " (axis " +
             std::to_string(leading + i) + ")");
      size = size == 1 ? shape[i] : size;
    }
  }
  return common;
}

mlir::Type Call::tileType(Type type, const Shape &shape) {
  mlir::Type element = ir::toMlir(builder().getContext(), type);
  if (shape.empty())
    return element;
  int64_t elements = 1;
  for (int64_t size : shape) {
    if (size < 1)
      fail("makes tiles with sizes from 1 on, got " + describe(shape));
    if (size > ir::maxTileElements / elements)
      fail("makes tiles of at most " + std::to_string(ir::maxTileElements) + " elements, got " + describe(shape));
    elements *= size;
  }
  return mlir::RankedTensorType::get(shape, element);
}

int64_t Call::axis(int64_t axis, int64_t rank) const {
  if (rank == 0)
    fail("needs a tile of rank 1 or more, got a scalar");
  if (axis < -rank || axis >= rank)
    fail("needs an axis from " + std::to_string(-rank) + " to " + std::to_string(rank - 1) + ", got " +
         std::to_string(axis));
  return axis < 0 ? axis + rank : axis;
}

mlir::Value Call::fit(size_t operand, Type type, const Shape &shape, bool modular) {
  const Input &input = inputs[operand];
  if (!input.tile)
    return number(input, type, shape, modular);
  const Value &value = *input.tile;
  if (value.shape == shape)
    return value.ir;
  mlir::Type target = tileType(value.type, shape);
  if (value.shape.empty())
    return ir::SplatOp::create(builder(), loc(), target, value.ir);
  mlir::Value aligned = value.ir;
  if (value.shape.size() < shape.size()) {
    Shape lifted(shape.size() - value.shape.size(), 1);
    lifted.insert(lifted.end(), value.shape.begin(), value.shape.end());
    aligned = ir::ReshapeOp::create(builder(), loc(), tileType(value.type, lifted), aligned);
  }
  if (aligned.getType() == target)
    return aligned;
  return ir::BroadcastOp::create(builder(), loc(), target, aligned);
}

static std::optional<llvm::APFloat> roundReal(double real, const llvm::fltSemantics &semantics) {
  llvm::APFloat value(real);
  const bool wasNan = value.isNaN(), wasInfinite = value.isInfinity();
  bool inexact;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  // Without an infinity of its own, a format turns one into NaN.
  if (value.isNaN() != wasNan || value.isInfinity() != wasInfinite)
    return std::nullopt;
  return value;
}

static std::optional<llvm::APFloat> exactInteger(int64_t integer, const llvm::fltSemantics &semantics) {
  llvm::APFloat value(semantics);
  llvm::APInt bits(64, static_cast<uint64_t>(integer), /*isSigned=*/true);
  if (value.convertFromAPInt(bits, /*IsSigned=*/true, llvm::APFloat::rmNearestTiesToEven) != llvm::APFloat::opOK)
    return std::nullopt;
  return value;
}

mlir::Value Call::number(const Input &input, Type type, const Shape &shape, bool modular) {
  return mlir::arith::ConstantOp::create(builder(), loc(), attribute(input, type, shape, modular));
}

mlir::TypedAttr Call::attribute(const Input &number, Type type, const Shape &shape, bool modular) {
  mlir::Type irType = tileType(type, shape);
  mlir::Type element = mlir::getElementTypeOrSelf(irType);
  const std::string name(typeName(type));
  mlir::Attribute scalar;
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(element)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    auto value = number.isReal ? roundReal(number.real, semantics) : exactInteger(number.integer, semantics);
    if (!value && number.isReal)
      fail("cannot hold " + describe(number) + " in " + name + ", it is out of range");
    if (!value)
      fail("cannot hold " + describe(number) + " in " + name + " exactly: write it with a decimal point to round it");
    scalar = mlir::FloatAttr::get(floating, *value);
  } else {
    if (number.isReal)
      fail("needs integers for " + name + ", got the real number " + describe(number) +
           ": write an integer, or cast to a float type");
    int64_t low = type == Type::i1 ? 0 : std::numeric_limits<int32_t>::min();
    int64_t high = type == Type::i1 ? 1
                   : modular        ? int64_t{std::numeric_limits<uint32_t>::max()}
                                    : int64_t{std::numeric_limits<int32_t>::max()};
    if (number.integer < low || number.integer > high)
      fail("takes numbers from " + std::to_string(low) + " to " + std::to_string(high) + " beside " + name + ", got " +
           describe(number));
    scalar = mlir::IntegerAttr::get(
        element, llvm::APInt(element.getIntOrFloatBitWidth(), static_cast<uint32_t>(number.integer)));
  }
  if (shape.empty())
    return mlir::cast<mlir::TypedAttr>(scalar);
  return mlir::DenseElementsAttr::get(mlir::cast<mlir::ShapedType>(irType), scalar);
}
