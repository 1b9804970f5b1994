// Functions that move elements: broadcast, reshape, transpose.
#include "compiler/dsl/Recorder.h"

#include <algorithm>
#include <numeric>

using namespace sectile;
using namespace sectile::dsl;

static int64_t elements(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

static Tile reshapeTo(Call &call, const Shape &shape) {
  const Value &value = call.tile(0);
  mlir::Type type = call.tileType(value.type, shape);
  if (elements(shape) != elements(value.shape))
    call.fail("keeps the number of elements, got " + describe(value.shape) + " to " + describe(shape));
  if (value.shape == shape)
    return call.recorder().wrap(value);
  if (value.shape.empty())
    return call.result(ir::SplatOp::create(call.builder(), call.loc(), type, value.ir));
  if (shape.empty())
    return call.result(ir::ExtractOp::create(call.builder(), call.loc(), type, value.ir));
  return call.result(ir::ReshapeOp::create(call.builder(), call.loc(), type, value.ir));
}

Tile tile::broadcast(Operand a, const Shape &shape) {
  Call call("broadcast", {a});
  const Value &value = call.tile(0);
  call.tileType(value.type, shape); // checks the sizes
  bool fits = value.shape.size() <= shape.size();
  for (size_t i = 0; fits && i < value.shape.size(); ++i) {
    int64_t size = value.shape[value.shape.size() - 1 - i];
    fits = size == 1 || size == shape[shape.size() - 1 - i];
  }
  if (!fits)
    call.fail("cannot stretch " + describe(value.shape) + " to " + describe(shape));
  if (value.shape == shape)
    return call.recorder().wrap(value);
  return call.result(call.fit(0, value.type, shape));
}

Tile tile::reshape(Operand a, const Shape &shape) {
  Call call("reshape", {a});
  return reshapeTo(call, shape);
}

Tile tile::row(Operand a) {
  Call call("row", {a});
  const Value &value = call.tile(0);
  if (value.shape.size() != 1)
    call.fail("needs a tile of rank 1, got " + describe(value));
  return reshapeTo(call, {1, value.shape[0]});
}

Tile tile::column(Operand a) {
  Call call("column", {a});
  const Value &value = call.tile(0);
  if (value.shape.size() != 1)
    call.fail("needs a tile of rank 1, got " + describe(value));
  return reshapeTo(call, {value.shape[0], 1});
}

Tile tile::transpose(Operand a, std::initializer_list<int> order) {
  Call call("transpose", {a});
  const Value &value = call.tile(0);
  const int64_t rank = static_cast<int64_t>(value.shape.size());
  Shape permutation(order.begin(), order.end());
  if (order.size() == 0) {
    if (rank < 2)
      call.fail("needs a tile of rank 2 or more, got " + describe(value));
    permutation.resize(rank);
    std::iota(permutation.begin(), permutation.end(), 0);
    std::swap(permutation[rank - 2], permutation[rank - 1]);
  }
  Shape axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (!std::is_permutation(permutation.begin(), permutation.end(), axes.begin(), axes.end()))
    call.fail("needs each axis of " + describe(value.shape) + " once, got the order " + describe(permutation));
  Shape shape;
  for (int64_t axis : permutation)
    shape.push_back(value.shape[axis]);
  if (rank == 0)
    return call.recorder().wrap(value);
  return call.result(
      ir::TransposeOp::create(call.builder(), call.loc(), call.tileType(value.type, shape), value.ir, permutation));
}
