// Tiles in global memory: tile.load, store and atomic_add.
//
// Offsets are 64-bit; within a tile, what lanes and warps add to a coordinate is computed once for all its registers.
// An element outside of the view touches no memory. Vectors are used where the layout has neighbours along a dimension
// of stride 1; that the tile then consists of whole, aligned vectors is known from the launch's facts or found out at
// run time, by one test for all of them, with accesses by element as the other branch.
#include "compiler/lower/gpu/Window.h"

using namespace mlir;
using namespace sectile::gpu;
using namespace sectile::ir;
using P = arith::CmpIPredicate;

KernelLowering::Window KernelLowering::windowOf(Value view, ValueRange indices, size_t rank) {
  const ViewArgument &array = views.find(view)->second;
  Window window(array);
  const size_t leading = indices.size() - rank;
  Value offset;
  for (size_t d = 0; d < indices.size(); ++d) {
    Value index = registers.lookup(indices[d]).front();
    const bool isContiguous = array.unitStride && d + 1 == indices.size();
    Value step = isContiguous ? code.i64(window.bytes) : code.mul(array.strides[d], window.bytes);
    if (d >= leading) {
      window.corner.push_back(index);
      window.sizes.push_back(array.sizes[d]);
      window.steps.push_back(step);
      continue;
    }
    Value moved = code.mul(code.signExtend(index, code.i64Type()), step);
    offset = offset ? code.add(offset, moved) : moved;
    Value within = code.compare(P::ult, index, array.sizes[d]);
    window.leadingInside = window.leadingInside ? code.bitAnd(window.leadingInside, within) : within;
  }
  window.origin = code.address(array.pointer, offset);
  return window;
}

/// An index before 0 is a large one without a sign, and so is one that wraps around.
Value KernelLowering::insideView(const Window &window, const Layout &layout, ArrayRef<int64_t> base) {
  Value all = window.leadingInside;
  for (size_t d = 0; d < layout.rank(); ++d) {
    Value index = code.add(window.corner[d], coordinate(layout, base, d));
    Value within = code.compare(P::ult, index, window.sizes[d]);
    all = all ? code.bitAnd(all, within) : within;
  }
  return all;
}

Value KernelLowering::addressIn(const Window &window, const Layout &layout, ArrayRef<int64_t> base) {
  // Corner and thread are added before they are multiplied: in a loop over tiles, their sum of 32 bits is a register
  // less than an offset of 64 bits for the thread that waits for the tile's.
  Value offset;
  for (size_t d = 0; d < layout.rank(); ++d) {
    Value part = threadPart(layout, d);
    Value index = part ? code.add(window.corner[d], part) : window.corner[d];
    Value moved = code.mul(code.signExtend(index, code.i64Type()), window.steps[d]);
    offset = offset ? code.add(offset, moved) : moved;
  }
  return addressBeside(window, code.address(window.origin, offset), base);
}

/// Of the tile's first element.
Value KernelLowering::addressOf(const Window &window) {
  Value address = window.origin;
  for (auto [corner, step] : llvm::zip_equal(window.corner, window.steps))
    address = code.address(address, code.mul(code.signExtend(corner, code.i64Type()), step));
  return address;
}

/// So many elements away from an address, in each of the tile's dimensions.
Value KernelLowering::addressBeside(const Window &window, Value address, ArrayRef<int64_t> distance) {
  Value offset;
  int64_t constant = 0;
  for (size_t d = 0; d < distance.size(); ++d)
    if (d + 1 == distance.size() && window.array.unitStride) {
      constant += distance[d] * window.bytes;
    } else if (distance[d] != 0) {
      Value moved = code.mul(window.steps[d], distance[d]);
      offset = offset ? code.add(offset, moved) : moved;
    }
  return code.address(address, offset, constant);
}

int64_t KernelLowering::longestVector(const Window &window, const Layout &layout) {
  int64_t vector = window.array.unitStride ? std::min(layout.vectorWidth(), 16 / window.bytes) : 1;
  while (layout.shape().back() % vector != 0)
    vector /= 2;
  return vector;
}

/// Whether every vector of so many elements is aligned, and inside or outside of the view as a whole.
Value KernelLowering::vectorsAreWhole(const Window &window, int64_t elements) {
  auto isWhole = [&](Value edges) { return code.compare(P::eq, code.bitAnd(edges, elements - 1), 0); };
  if (window.array.aligned)
    return isWhole(window.corner.back());
  Value whole = isWhole(code.bitOr(window.corner.back(), window.sizes.back()));
  Value bits = code.integerOf(window.origin);
  for (Value step : ArrayRef<Value>(window.steps).drop_back())
    bits = code.bitOr(bits, step);
  return code.bitAnd(whole, code.compare(P::eq, code.bitAnd(bits, elements * window.bytes - 1), 0));
}

/// That first and last index are inside, without overflow: 0 <= corner <= size - extent.
Value KernelLowering::isWholeTile(const Window &window, ArrayRef<int64_t> shape) {
  Value all = window.leadingInside;
  for (auto [corner, size, extent] : llvm::zip_equal(window.corner, window.sizes, shape)) {
    Value last = code.sub(size, code.i32(extent));
    Value within = code.bitAnd(code.compare(P::sge, corner, 0), code.compare(P::sle, corner, last));
    all = all ? code.bitAnd(all, within) : within;
  }
  return all;
}

//===-- load ----------------------------------------------------------------------------------------------------===//

void KernelLowering::lower(LoadOp op) {
  orderAccess(op, op.getView());
  const Layout &layout = layoutOf(op.getResult());
  Type element = op.getResult().getType().getElementType();
  const Window window = windowOf(op.getView(), op.getIndices(), layout.rank());
  Value padding = op.getPaddingAttr() ? constant(element, op.getPaddingAttr()) : zero(heldType(element));
  const int64_t vector = longestVector(window, layout);
  if (vector == 1) {
    registers[op.getResult()] = loadAll(window, layout, padding, 1);
    return;
  }
  if (loadsWholeTiles()) {
    registers[op.getResult()] = loadWholeTile(window, layout, padding, vector);
    return;
  }
  registers[op.getResult()] = code.choose(
      vectorsAreWhole(window, vector), heldTypes(op->getResultTypes()),
      [&] { return loadAll(window, layout, padding, vector); }, [&] { return loadAll(window, layout, padding, 1); });
}

/// Most tiles are inside as a whole: their loads follow one another without a condition. Vectors leave the branches as
/// they are, since taking them apart would wait for them there.
KernelLowering::Values KernelLowering::loadWholeTile(const Window &window, const Layout &layout, Value padding,
                                                     int64_t vector) {
  Type held = padding.getType(), stored = held.isInteger(1) ? code.i8Type() : held;
  Type whole = code.vectorOf(vector, stored);
  const int64_t bytes = vector * memoryBits(held) / 8;
  SmallVector<int64_t> first; // registers of each vector
  for (int64_t reg = 0; reg < layout.registers(); reg += vector)
    if (layout.presence(reg) != Layout::Presence::none)
      first.push_back(reg);
  auto packed = [&](ArrayRef<Value> elements) {
    Values bits(elements);
    if (held.isInteger(1))
      for (Value &bit : bits)
        bit = code.zeroExtend(bit, stored);
    return code.pack(bits, whole);
  };
  const Values paddings(vector, padding);
  auto guarded = [&](int64_t step) {
    const Values all = loadAll(window, layout, padding, step);
    return llvm::map_to_vector<6>(first, [&](int64_t reg) { return packed(ArrayRef<Value>(all).slice(reg, vector)); });
  };
  auto unguarded = [&] {
    Values vectors;
    for (int64_t reg : first) {
      Value address = addressIn(window, layout, layout.base(reg));
      if (Value present = insideShape(layout, reg)) // registers past the tile may have any number
        address = code.select(present, address, addressOf(window));
      vectors.push_back(code.load(whole, address, bytes));
    }
    return vectors;
  };
  const SmallVector<Type> types(first.size(), whole);
  Value isWhole = vectorsAreWhole(window, vector);
  const Values vectors = code.choose(code.bitAnd(isWhole, isWholeTile(window, layout.shape())), types, unguarded, [&] {
    return code.choose(isWhole, types, [&] { return Values(guarded(vector)); }, [&] { return Values(guarded(1)); });
  });

  Values values;
  size_t next = 0;
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    if (layout.presence(reg) == Layout::Presence::none) {
      values.append(paddings);
      continue;
    }
    for (Value element : code.unpack(vectors[next++], stored))
      values.push_back(held.isInteger(1) ? code.compare(P::ne, element, 0) : element);
  }
  return values;
}

KernelLowering::Values KernelLowering::loadAll(const Window &window, const Layout &layout, Value padding,
                                               int64_t vector) {
  Values values;
  const Values padded(vector, padding);
  const SmallVector<Type> types(vector, padding.getType());
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    if (layout.presence(reg) == Layout::Presence::none) {
      values.append(padded);
      continue;
    }
    const Coordinates base = layout.base(reg);
    llvm::append_range(values, code.choose(
                                   insideView(window, layout, base), types,
                                   [&] { return loadVector(types.front(), vector, addressIn(window, layout, base)); },
                                   [&] { return padded; }));
  }
  return values;
}

//===-- store and atomic_add ------------------------------------------------------------------------------------===//

void KernelLowering::forEachStored(const Window &window, const Layout &layout, int64_t vector, bool guarded,
                                   llvm::function_ref<void(int64_t reg, Value address)> store) {
  for (int64_t reg = 0; reg < layout.registers(); reg += vector) {
    if (layout.presence(reg) == Layout::Presence::none)
      continue;
    const Coordinates base = layout.base(reg);
    Value writes = guarded ? insideView(window, layout, base) : Value();
    for (Value condition : {insideShape(layout, reg), isOwner(layout)})
      if (condition)
        writes = writes ? code.bitAnd(writes, condition) : condition;
    auto access = [&] { store(reg, addressIn(window, layout, base)); };
    if (writes)
      code.when(writes, access);
    else
      access();
  }
}

void KernelLowering::lower(StoreOp op) {
  orderAccess(op, op.getView());
  const Layout &layout = layoutOf(op.getValue());
  const Values values = registers.lookup(op.getValue());
  const Window window = windowOf(op.getView(), op.getIndices(), layout.rank());
  auto storeBy = [&](int64_t vector, bool guarded) {
    forEachStored(window, layout, vector, guarded, [&](int64_t reg, Value address) {
      storeVector(ArrayRef<Value>(values).slice(reg, vector), address);
    });
    return Values();
  };
  const int64_t vector = longestVector(window, layout);
  if (vector == 1) {
    storeBy(1, /*guarded=*/true);
    return;
  }
  auto storeVectors = [&] { // most tiles are inside as a whole
    return code.choose(
        isWholeTile(window, layout.shape()), {}, [&] { return storeBy(vector, /*guarded=*/false); },
        [&] { return storeBy(vector, /*guarded=*/true); });
  };
  code.choose(vectorsAreWhole(window, vector), {}, storeVectors, [&] { return storeBy(1, /*guarded=*/true); });
}

void KernelLowering::lower(AtomicAddOp op) {
  orderAccess(op, op.getView());
  const Layout &layout = layoutOf(op.getValue());
  const Values values = registers.lookup(op.getValue());
  forEachStored(windowOf(op.getView(), op.getIndices(), layout.rank()), layout, 1, /*guarded=*/true,
                [&](int64_t reg, Value address) { code.atomicAdd(values[reg], address); });
}
