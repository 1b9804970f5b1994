// Views: reading and writing tiles.
#include "compiler/dsl/Recorder.h"

#include "compiler/ir/ElementType.h"

using namespace sectile;
using namespace sectile::dsl;
using Access = Parameter::Access;

/// The number of indices, and the rank of the tile that they place.
static llvm::SmallVector<mlir::Value> indices(Call &call, const Parameter &view, std::initializer_list<Operand> index,
                                              const Shape &shape) {
  if (static_cast<int64_t>(index.size()) != view.rank)
    call.fail("needs " + std::to_string(view.rank) + " indices for view '" + view.name + "', got " +
              std::to_string(index.size()));
  if (static_cast<int64_t>(shape.size()) > view.rank)
    call.fail("needs a tile of rank " + std::to_string(view.rank) + " or less for view '" + view.name + "', got " +
              describe(shape));
  llvm::SmallVector<mlir::Value> values;
  for (const Operand &operand : index)
    values.push_back(call.index(call.add(operand)));
  return values;
}

/// In memory a scalar is a tile of one element.
static Shape stored(const Shape &shape) { return shape.empty() ? Shape{1} : shape; }

static Tile load(Call &call, const Argument &view, std::initializer_list<Operand> index, const Shape &shape,
                 std::optional<double> padding) {
  const Parameter &parameter = view.parameter;
  if (parameter.access == Access::output)
    call.fail("reads view '" + parameter.name + "', which is declared as output: declare it as inout");
  mlir::Type type = call.tileType(parameter.type, stored(shape));
  auto position = indices(call, parameter, index, shape);
  mlir::TypedAttr pad;
  if (padding)
    pad = call.attribute(numberOf(*padding, parameter.type), parameter.type, {});
  mlir::Value loaded = ir::LoadOp::create(call.builder(), call.loc(), type, view.ir, position, pad);
  if (shape.empty())
    loaded = ir::ExtractOp::create(call.builder(), call.loc(), ir::toMlir(call.builder().getContext(), parameter.type),
                                   loaded);
  return call.result(loaded);
}

Tile View::load(std::initializer_list<Operand> index, const Shape &shape, Where where) const {
  Call call(*recorder, "load", where);
  return ::load(call, *argument, index, shape, std::nullopt);
}

Tile View::load(std::initializer_list<Operand> index, const Shape &shape, double padding, Where where) const {
  Call call(*recorder, "load", where);
  return ::load(call, *argument, index, shape, padding);
}

/// The tile as a tensor that can be written to the view.
static mlir::Value valueToWrite(Call &call, const Parameter &view, const Operand &tile) {
  size_t operand = call.add(tile);
  const Value &value = call.tile(operand);
  if (value.type != view.type)
    call.fail("needs tiles of " + std::string(typeName(view.type)) + " for view '" + view.name + "', got " +
              describe(value) + ": cast it first");
  return call.fit(operand, view.type, stored(value.shape));
}

void View::store(std::initializer_list<Operand> index, Operand tile, Where where) const {
  Call call(*recorder, "store", where);
  const Parameter &parameter = argument->parameter;
  if (parameter.access == Access::input)
    call.fail("writes view '" + parameter.name + "', which is declared as input: declare it as output or inout");
  mlir::Value value = valueToWrite(call, parameter, tile);
  auto position = indices(call, parameter, index, call.tile(0).shape);
  ir::StoreOp::create(call.builder(), call.loc(), value, argument->ir, position);
}

void View::atomicAdd(std::initializer_list<Operand> index, Operand tile, Where where) const {
  Call call(*recorder, "atomicAdd", where);
  const Parameter &parameter = argument->parameter;
  if (parameter.access != Access::inout)
    call.fail("reads and writes view '" + parameter.name + "': declare it as inout");
  if (parameter.type != Type::f32 && parameter.type != Type::i32)
    call.fail("takes f32, i32, got view '" + parameter.name + "' of " + std::string(typeName(parameter.type)));
  mlir::Value value = valueToWrite(call, parameter, tile);
  auto position = indices(call, parameter, index, call.tile(0).shape);
  ir::AtomicAddOp::create(call.builder(), call.loc(), value, argument->ir, position);
}

Tile View::dim(int axis, Where where) const {
  Call call(*recorder, "dim", where);
  int64_t front = call.axis(axis, argument->parameter.rank);
  return call.result(ir::DimOp::create(call.builder(), call.loc(), call.builder().getI32Type(), argument->ir,
                                       static_cast<uint32_t>(front)));
}

Type View::type() const { return argument->parameter.type; }
int64_t View::rank() const { return argument->parameter.rank; }
