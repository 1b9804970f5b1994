// Tiles to and from the caller's memory.
//
// A *window* is the tile's place in its view. Along each of its dimensions the elements from `begin` to `end` are
// inside the view; the others are padding on a load and dropped on a store. Rows (the last dimension) move in vectors:
// whole ones directly, those cut by the window's edge under a mask, or through a staging vector, element by element,
// where the processor or the strides allow no mask.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

struct KernelLowering::Window {
  const ViewArgument *view;
  Value origin;                           ///< address of the tile's element [0, …, 0]
  SmallVector<int64_t> shape;             ///< of the tile
  SmallVector<Value> begin, end, strides; ///< by tile dimension, i64
  int last() const { return static_cast<int>(shape.size()) - 1; }
};

KernelLowering::Window KernelLowering::windowOf(const ViewArgument &view, ValueRange indices, Shape shape) {
  Window window;
  window.view = &view;
  window.shape.assign(shape.begin(), shape.end());
  int64_t leading = static_cast<int64_t>(view.sizes.size() - shape.size());
  Value offset = code.i64(0), zero = code.i64(0), inside;
  for (auto [dim, narrow] : llvm::enumerate(indices)) {
    // Every offset is computed in 64 bits.
    Value index = code.widen(narrow), size = view.sizes[dim];
    offset = code.add(offset, code.mul(index, view.strides[dim]));
    int64_t tileDim = static_cast<int64_t>(dim) - leading;
    if (tileDim < 0) {
      Value here = code.both(code.lessEqual(zero, index), code.less(index, size));
      inside = inside ? code.both(inside, here) : here;
      continue;
    }
    Value extent = code.i64(shape[tileDim]);
    window.begin.push_back(code.max(zero, code.min(code.sub(zero, index), extent)));
    window.end.push_back(code.max(zero, code.min(code.sub(size, index), extent)));
    window.strides.push_back(view.strides[dim]);
  }
  if (inside) // a leading index outside leaves nothing
    window.end[0] = arith::SelectOp::create(code.builder, code.loc, inside, window.end[0], zero);
  window.origin = code.address(view.pointer, Index(offset), bytesOf(view.type));
  return window;
}

int64_t KernelLowering::bytesOf(Type element) const { return std::max(1u, element.getIntOrFloatBitWidth() / 8); }

/// As it lies in memory. Narrow floats and i1 are integers until they are used: LLVM carries vectors of bf16 between
/// blocks by way of library calls.
Type KernelLowering::memoryType(Type element) {
  if (element.isInteger(32) || element.isF32())
    return element;
  return code.builder.getIntegerType(8 * bytesOf(element));
}

Value KernelLowering::fromMemory(Value raw, Type element) {
  auto vector = cast<VectorType>(raw.getType());
  OpBuilder &b = code.builder;
  if (element.isInteger(1))
    return arith::CmpIOp::create(b, code.loc, arith::CmpIPredicate::ne, raw, code.constant(vector, 0));
  if (element.isInteger(32) || element.isF32())
    return raw;
  Value narrow = arith::BitcastOp::create(b, code.loc, vector.clone(element), raw);
  return arith::ExtFOp::create(b, code.loc, vector.clone(heldElement(element)), narrow);
}

Value KernelLowering::toMemory(Value held, Type element) {
  auto vector = cast<VectorType>(held.getType());
  auto raw = vector.clone(memoryType(element));
  OpBuilder &b = code.builder;
  if (element.isInteger(1))
    return arith::ExtUIOp::create(b, code.loc, raw, held);
  if (element.isInteger(32) || element.isF32())
    return held;
  if (isa<Float8E5M2Type>(element)) {
    // The upper byte of the f16 of the same value. (arith.truncf to f8 saturates, which is for tile.cast: an infinity
    // that was loaded stays one.)
    Value half = arith::TruncFOp::create(b, code.loc, vector.clone(b.getF16Type()), held);
    auto words = vector.clone(b.getI16Type());
    Value word = arith::BitcastOp::create(b, code.loc, words, half);
    Value upper = arith::ShRUIOp::create(b, code.loc, word, code.constant(words, 8));
    return arith::TruncIOp::create(b, code.loc, raw, upper);
  }
  Value narrow = arith::TruncFOp::create(b, code.loc, vector.clone(element), held);
  return arith::BitcastOp::create(b, code.loc, raw, narrow);
}

/// Whether the row at this position is inside, by all dimensions but the last.
Value KernelLowering::rowInside(const Window &window, const Position &at) {
  Value inside;
  for (int dim = 0; dim < window.last(); ++dim) {
    Value index = code.value(at.index[dim]);
    Value here = code.both(code.lessEqual(window.begin[dim], index), code.less(index, window.end[dim]));
    inside = inside ? code.both(inside, here) : here;
  }
  return inside ? inside : code.constant(code.builder.getI1Type(), 1);
}

Value KernelLowering::addressIn(const Window &window, const Position &at) {
  Value offset;
  for (int dim = 0; dim <= window.last(); ++dim) {
    Value step = code.value(at.index[dim]);
    if (dim < window.last() || !window.view->unitStride)
      step = code.mul(step, window.strides[dim]);
    offset = offset ? code.add(offset, step) : step;
  }
  return code.address(window.origin, Index(offset), bytesOf(window.view->type));
}

/// Whether the vector that starts at `first` of the last dimension is inside as a whole and contiguous.
Value KernelLowering::isWhole(const Window &window, Index first) {
  int last = window.last();
  if (!window.view->unitStride || window.shape[last] < vectors.lanes)
    return code.constant(code.builder.getI1Type(), 0);
  return code.both(code.lessEqual(window.begin[last], code.value(first)),
                   code.lessEqual(code.value(code.add(first, Index(vectors.lanes))), window.end[last]));
}

/// Whether the window is inside as a whole, in whole vectors; null when that cannot be.
Value KernelLowering::isWhole(const Window &window) {
  if (!window.view->unitStride || window.shape[window.last()] % vectors.lanes)
    return {};
  Value whole;
  for (auto [begin, end, size] : llvm::zip(window.begin, window.end, window.shape)) {
    Value here = code.both(code.lessEqual(begin, code.i64(0)), code.lessEqual(code.i64(size), end));
    whole = whole ? code.both(whole, here) : here;
  }
  return whole;
}

bool KernelLowering::canMask(const Window &window) const {
  return window.view->unitStride && (bytesOf(window.view->type) == 4 || vectors.narrowMasks);
}

Value KernelLowering::partMask(const Window &window, Index first) {
  int last = window.last();
  Value lanes = code.lanesFrom(first, vectors.lanes);
  Value begin = code.broadcast(code.narrow(window.begin[last]), vectors.lanes);
  Value end = code.broadcast(code.narrow(window.end[last]), vectors.lanes);
  return code.both(code.lessEqual(begin, lanes), code.less(lanes, end));
}

/// Calls `body` with the memory address and the staging address of each element of the vector that is inside.
void KernelLowering::forEachElement(const Window &window, const Position &at,
                                    llvm::function_ref<void(Value, Value)> body) {
  int last = window.last(), bytes = static_cast<int>(bytesOf(window.view->type));
  Value first = code.value(at.index[last]);
  Value begin = code.max(window.begin[last], first);
  Value end = code.min(window.end[last], code.add(first, code.i64(vectors.lanes)));
  code.loop(Index(begin), Index(end), 1, [&](Value element) {
    Position here = at;
    here.index[last] = Index(element);
    Value slot = code.address(scratch, Index(code.sub(element, first)), bytes, staging.offset);
    body(addressIn(window, here), slot);
  });
}

Value KernelLowering::loadVector(const Window &window, const Position &at, Value padding) {
  auto type = cast<VectorType>(padding.getType());
  Index first = at.index[window.last()];
  return code.choose(
      isWhole(window, first), type, [&] { return code.load(type, addressIn(window, at)); },
      [&]() -> Value {
        if (canMask(window))
          return code.maskedLoad(type, addressIn(window, at), partMask(window, first), padding);
        Value stage = code.address(scratch, Index(0), 4, staging.offset);
        code.store(padding, stage);
        forEachElement(window, at,
                       [&](Value from, Value slot) { code.store(code.load(type.getElementType(), from), slot); });
        return code.load(type, stage);
      });
}

void KernelLowering::storeVector(const Window &window, const Position &at, Value raw) {
  Index first = at.index[window.last()];
  code.when(
      isWhole(window, first), [&] { code.store(raw, addressIn(window, at)); },
      [&] {
        if (canMask(window))
          return code.maskedStore(raw, addressIn(window, at), partMask(window, first));
        code.store(raw, code.address(scratch, Index(0), 4, staging.offset));
        Type element = cast<VectorType>(raw.getType()).getElementType();
        forEachElement(window, at, [&](Value to, Value slot) { code.store(code.load(element, slot), to); });
      });
}

void KernelLowering::lower(LoadOp load) {
  RankedTensorType type = tileType(load);
  Type element = type.getElementType();
  int last = static_cast<int>(type.getRank()) - 1;
  bool forMatrixUnit = plan.isPacked(load), packed = forMatrixUnit && element.isBF16();
  // In rows, because a product reads it as scalars, whose addresses are the simplest there.
  Buffer to = packed ? allocatePacked(type.getShape()[0], type.getShape()[1])
                     : allocate(type.getShape(), element, last, Form::rows);
  Window window = windowOf(views.find(load.getView())->second, scalarsOf(load.getIndices()), type.getShape());

  planPrefetch(load);

  auto vectorType = VectorType::get({vectors.lanes}, memoryType(element));
  Value padding = code.constant(vectorType, 0);
  if (Attribute value = load.getPaddingAttr())
    padding = toMemory(constantAt(element, value, {{}, last}), element);
  // As they lie in memory, or as elements are held in registers.
  auto put = [&](const Position &at, Value raw) {
    if (!packed)
      return write(fromMemory(raw, element), to, at);
    auto slot = [&](Index column) { return addressIn(to, {{at.index[0], code.dividedBy(column, 2)}, -1}); };
    code.store(raw, slot(at.index[1]));
    // The matrix unit takes 32 columns at a time: zeros follow the last ones.
    int64_t columns = type.getShape()[1];
    if (columns % 32 && columns % 32 <= vectors.lanes) {
      Value isLast = code.lessEqual(code.i64(columns - vectors.lanes), code.value(at.index[1]));
      code.when(isLast, [&] { code.store(padding, slot(code.add(at.index[1], Index(vectors.lanes)))); });
    }
  };
  auto checked = [&] {
    forEachVector(type.getShape(), last, {}, [&](const Position &at, Known &) {
      put(at, code.choose(
                  rowInside(window, at), vectorType, [&] { return loadVector(window, at, padding); },
                  [&] { return padding; }));
    });
  };
  auto unchecked = [&] {
    forEachVector(type.getShape(), last, {},
                  [&](const Position &at, Known &) { put(at, code.load(vectorType, addressIn(window, at))); });
  };
  if (Value whole = isWhole(window))
    code.when(whole, unchecked, checked);
  else
    checked();
  if (forMatrixUnit)
    packedLoads[load] = packed ? Pieces{to} : packedRows(to, bf16Pieces(load));
  // Rows come as they lie in memory; a tile whose lanes run elsewhere is turned in one go.
  int lane = forMatrixUnit ? last : plan.laneOf(load);
  buffers[load] = lane == last ? to : turned(to, lane);
}

void KernelLowering::forEachStored(Value tile, const Window &window,
                                   llvm::function_ref<void(const Position &, Value)> body) {
  prepareLanes(tile, window.last());
  forEachVector(window.shape, window.last(), tile, [&](const Position &at, Known &known) {
    code.when(rowInside(window, at), [&] {
      Known here = known;
      body(at, toMemory(evaluate(tile, at, here), window.view->type));
    });
  });
}

void KernelLowering::lower(StoreOp store) {
  Window window = windowOf(views.find(store.getView())->second, scalarsOf(store.getIndices()),
                           tileType(store.getValue()).getShape());
  forEachStored(store.getValue(), window, [&](const Position &at, Value raw) { storeVector(window, at, raw); });
}

void KernelLowering::lower(AtomicAddOp add) {
  Window window =
      windowOf(views.find(add.getView())->second, scalarsOf(add.getIndices()), tileType(add.getValue()).getShape());
  forEachStored(add.getValue(), window, [&](const Position &at, Value raw) {
    code.store(raw, code.address(scratch, Index(0), 4, staging.offset));
    forEachElement(window, at, [&](Value to, Value slot) {
      code.atomicAdd(code.load(cast<VectorType>(raw.getType()).getElementType(), slot), to);
    });
  });
}
