// Loops over the elements of a tile: computing it into a buffer, copies, transposed copies, reductions.
#include "compiler/lower/host/KernelLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sectile::host;
using namespace sectile::ir;

void KernelLowering::forEachIndex(Shape shape, int dim, int skip, Position &at, llvm::function_ref<void()> body) {
  if (dim == static_cast<int>(shape.size()))
    return body();
  if (dim == skip)
    return forEachIndex(shape, dim + 1, skip, at, body);
  if (shape[dim] == 1) {
    at.index[dim] = Index(0);
    return forEachIndex(shape, dim + 1, skip, at, body);
  }
  code.loop(Index(0), Index(shape[dim]), 1, [&](Value iv) {
    at.index[dim] = Index(iv);
    forEachIndex(shape, dim + 1, skip, at, body);
  });
}

namespace {
/// The broadcasts inside `tile` whose operand has a single row: the same at every index but the lane's.
void findInvariant(Value tile, Shape shape, int lane, const Plan &plan, SmallVectorImpl<Value> &found) {
  Operation *op = tile.getDefiningOp();
  if (!op || plan.isBuffered(tile) || !tileType(tile))
    return;
  if (auto stretch = dyn_cast<BroadcastOp>(op)) {
    for (auto [dim, size] : llvm::enumerate(tileType(stretch.getSource()).getShape()))
      if (size != 1 && static_cast<int>(dim) != lane)
        return;
    found.push_back(tile);
  } else if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      findInvariant(operand, shape, lane, plan, found);
  }
}
} // namespace

void KernelLowering::forEachVector(Shape shape, int lane, ValueRange roots,
                                   llvm::function_ref<void(const Position &, Known &)> body) {
  // Four vectors side by side hide the latency of a chain such as exp2.
  constexpr int64_t group = 4;
  int64_t count = llvm::divideCeil(shape[lane], vectors.lanes);
  SmallVector<Value> invariant;
  for (Value root : roots)
    findInvariant(root, shape, lane, plan, invariant);

  auto strip = [&](Index first, int64_t width) {
    Position at{SmallVector<Index>(shape.size(), Index(0)), lane};
    SmallVector<Known> outside(width);
    for (int64_t i = 0; i < width; ++i) {
      at.index[lane] = code.add(first, Index(i * vectors.lanes));
      for (Value tile : invariant)
        evaluate(tile, at, outside[i]);
    }
    forEachIndex(shape, 0, lane, at, [&] {
      for (int64_t i = 0; i < width; ++i) {
        at.index[lane] = code.add(first, Index(i * vectors.lanes));
        Known known = outside[i];
        body(at, known);
      }
    });
  };
  int64_t whole = count / group, rest = count % group, width = group * vectors.lanes;
  if (whole == 1)
    strip(Index(0), group);
  else if (whole > 1)
    code.loop(Index(0), Index(whole * width), width, [&](Value first) { strip(Index(first), group); });
  if (rest)
    strip(Index(whole * width), rest);
}

void KernelLowering::prepareLanes(Value tile, int lane) {
  RankedTensorType type = tileType(tile);
  if (!type || lane < 0)
    return;
  if (auto found = buffers.find(tile); found != buffers.end() && plan.isBuffered(tile)) {
    const Buffer buffer = found->second;
    if (buffer.shape[lane] > 1 && buffer.lane != lane && !turnedBuffers.contains({tile, lane})) {
      Buffer copy = turned(buffer, lane);
      turnedBuffers[{tile, lane}] = copy;
    }
    return;
  }
  Operation *op = tile.getDefiningOp();
  if (auto stretch = dyn_cast<BroadcastOp>(op)) {
    if (tileType(stretch.getSource()).getShape()[lane] != 1)
      prepareLanes(stretch.getSource(), lane);
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    prepareLanes(transpose.getSource(), static_cast<int>(transpose.getOrder()[lane]));
  } else if (auto reshape = dyn_cast<ReshapeOp>(op)) {
    int source = (*unitReshape(reshape))[lane];
    prepareLanes(reshape.getSource(), source < 0 ? defaultLane(tileType(reshape.getSource()).getShape()) : source);
  } else if (isElementwise(op)) {
    for (Value operand : op->getOperands())
      prepareLanes(operand, lane);
  }
}

void KernelLowering::materialize(Value tile, const Buffer &to) {
  prepareLanes(tile, to.lane);
  forEachVector(to.shape, to.lane, tile,
                [&](const Position &at, Known &known) { write(evaluate(tile, at, known), to, at); });
}

void KernelLowering::copy(const Buffer &from, const Buffer &to) {
  forEachVector(to.shape, to.lane, {}, [&](const Position &at, Known &) { write(read(from, at), to, at); });
}

Buffer KernelLowering::turned(const Buffer &from, int lane) {
  Buffer to = allocate(from.shape, from.type, lane);
  int64_t n = vectors.lanes, rows = from.shape[lane], columns = from.shape[from.lane];
  Position at{SmallVector<Index>(from.shape.size(), Index(0)), from.lane};
  // One block of n vectors; past the last row there is nothing to read, past the last column nothing to keep.
  auto block = [&](Index row, int64_t rowsHere, Index column, int64_t columnsHere) {
    Type held = heldType(from.type, at);
    Values lines;
    for (int64_t i = 0; i < n; ++i) {
      at.lane = from.lane;
      at.index[lane] = code.add(row, Index(i));
      at.index[from.lane] = column;
      lines.push_back(i < rowsHere ? read(from, at) : code.constant(held, 0));
    }
    code.transpose(lines);
    at.lane = lane;
    at.index[lane] = row;
    for (int64_t i = 0; i < columnsHere; ++i) {
      at.index[from.lane] = code.add(column, Index(i));
      write(lines[i], to, at);
    }
  };
  auto split = [&](int64_t size, llvm::function_ref<void(Index, int64_t)> body) {
    if (int64_t whole = size / n * n)
      code.loop(Index(0), Index(whole), n, [&](Value iv) { body(Index(iv), n); });
    if (size % n)
      body(Index(size / n * n), size % n);
  };
  SmallVector<int64_t> others(from.shape);
  others[lane] = others[from.lane] = 1;
  forEachIndex(others, 0, -1, at, [&] {
    split(rows, [&](Index row, int64_t rowsHere) {
      split(columns, [&](Index column, int64_t columnsHere) { block(row, rowsHere, column, columnsHere); });
    });
  });
  return to;
}

namespace {
struct Reduction {
  ReduceKind kind;
  Type element;
  Code &code;

  double identity() const {
    if (kind == ReduceKind::sum)
      return 0;
    double most = isa<FloatType>(element) ? std::numeric_limits<double>::infinity() : 2147483647.0;
    return kind == ReduceKind::min ? most : isa<FloatType>(element) ? -most : -2147483648.0;
  }
  /// For max and min, the compare-and-select form passes over a NaN in `next` and is one instruction on the host.
  Value combine(Value next, Value sum) const {
    OpBuilder &b = code.builder;
    bool real = isa<FloatType>(element);
    switch (kind) {
    case ReduceKind::sum:
      return real ? Value(arith::AddFOp::create(b, code.loc, sum, next)) : code.add(sum, next);
    case ReduceKind::max:
      if (!real)
        return code.max(sum, next);
      return arith::SelectOp::create(
          b, code.loc, arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::OGT, next, sum), next, sum);
    case ReduceKind::min:
      if (!real)
        return code.min(sum, next);
      return arith::SelectOp::create(
          b, code.loc, arith::CmpFOp::create(b, code.loc, arith::CmpFPredicate::OLT, next, sum), next, sum);
    }
    llvm_unreachable("all kinds are listed");
  }
  Value horizontal(Value vector) const {
    using vector::CombiningKind;
    bool real = isa<FloatType>(element);
    CombiningKind how = kind == ReduceKind::sum   ? CombiningKind::ADD
                        : kind == ReduceKind::max ? (real ? CombiningKind::MAXNUMF : CombiningKind::MAXSI)
                                                  : (real ? CombiningKind::MINNUMF : CombiningKind::MINSI);
    // No NaN is left for max and min; sums are in any order.
    auto flags = kind == ReduceKind::sum ? arith::FastMathFlags::reassoc
                                         : arith::FastMathFlags::nnan | arith::FastMathFlags::nsz;
    return vector::ReductionOp::create(code.builder, code.loc, how, vector, real ? flags : arith::FastMathFlags::none);
  }
};
} // namespace

void KernelLowering::lower(ReduceOp reduce, const Buffer *undefined) {
  Value source = reduce.getSource();
  Shape shape = tileType(source).getShape();
  int axis = static_cast<int>(reduce.getAxis());
  Type element = tileType(source).getElementType();
  Reduction reduction{reduce.getKind(), heldElement(element), code};
  Buffer to = bufferFor(reduce);
  // Lanes along another dimension when the result has them there: no horizontal operation.
  int lane = shape.size() > 1 && to.lane != axis && shape[to.lane] > 1 ? to.lane : axis;
  bool turns = undefined && undefined->lane != lane;
  if (turns) { // the loops run across each other: two of them
    materialize(source, *undefined);
    buffers[source] = *undefined;
    undefined = nullptr;
  }
  prepareLanes(source, lane);
  auto next = [&](const Position &at) {
    Known known;
    Value value = evaluate(source, at, known);
    if (undefined)
      write(value, *undefined, at);
    return value;
  };
  Position at{SmallVector<Index>(shape.size(), Index(0)), lane};
  Type held = heldType(element, at);

  if (lane != axis) {
    constexpr int64_t widest = 8;
    int64_t count = llvm::divideCeil(shape[lane], vectors.lanes);
    // Narrow tiles sum several rows at once, so that additions need not wait for each other.
    int64_t unroll = count >= 4 || shape[axis] % 4 ? 1 : 4;
    auto strip = [&](Index first, int64_t width) {
      forEachIndex(tileType(reduce).getShape(), 0, lane, at, [&] {
        Values identities(width * unroll, code.constant(held, reduction.identity()));
        Values sums = code.loop(Index(0), Index(shape[axis]), unroll, identities, [&](Value iv, ValueRange carried) {
          Values sumsNext;
          for (int64_t row = 0; row < unroll; ++row) {
            for (int64_t i = 0; i < width; ++i) {
              at.index[axis] = Index(iv, row);
              at.index[lane] = code.add(first, Index(i * vectors.lanes));
              sumsNext.push_back(reduction.combine(next(at), carried[row * width + i]));
            }
          }
          return sumsNext;
        });
        at.index[axis] = Index(0);
        for (int64_t i = 0; i < width; ++i) {
          Value sum = sums[i];
          for (int64_t row = 1; row < unroll; ++row)
            sum = reduction.combine(sums[row * width + i], sum);
          at.index[lane] = code.add(first, Index(i * vectors.lanes));
          write(roundTo(sum, element), to, at);
        }
      });
    };
    int64_t whole = count / widest, width = widest * vectors.lanes;
    if (whole)
      code.loop(Index(0), Index(whole * width), width, [&](Value first) { strip(Index(first), widest); });
    if (count % widest)
      strip(Index(whole * width), count % widest);
    return;
  }

  forEachIndex(shape, 0, axis, at, [&] {
    int64_t whole = shape[axis] / vectors.lanes, rest = shape[axis] % vectors.lanes;
    int64_t unroll = whole % 4 == 0 ? 4 : whole % 2 == 0 ? 2 : 1;
    Values sums(unroll, code.constant(held, reduction.identity()));
    at.lane = axis;
    if (whole)
      sums = code.loop(Index(0), Index(whole * vectors.lanes), unroll * vectors.lanes, sums,
                       [&](Value iv, ValueRange carried) {
                         Values sumsNext;
                         for (int64_t i = 0; i < unroll; ++i) {
                           at.index[axis] = Index(iv, i * vectors.lanes);
                           sumsNext.push_back(reduction.combine(next(at), carried[i]));
                         }
                         return sumsNext;
                       });
    if (rest) {
      at.index[axis] = Index(whole * vectors.lanes);
      Value part = next(at);
      Value inside = code.less(code.lanesFrom(Index(0), vectors.lanes), code.broadcast(code.i32(rest), vectors.lanes));
      part = arith::SelectOp::create(code.builder, code.loc, inside, part, code.constant(held, reduction.identity()));
      sums[0] = reduction.combine(part, sums[0]);
    }
    Value sum = sums[0];
    for (Value other : ArrayRef(sums).drop_front())
      sum = reduction.combine(other, sum);
    at.index[axis] = Index(0);
    at.lane = -1;
    write(roundTo(reduction.horizontal(sum), element), to, at);
  });
}

// Elements move: one at a time, by their row-major number.
void KernelLowering::lower(ReshapeOp reshape) {
  Value source = reshape.getSource();
  Shape from = tileType(source).getShape(), shape = tileType(reshape).getShape();
  Buffer to = bufferFor(reshape);
  Position at{SmallVector<Index>(shape.size(), Index(0)), -1};
  forEachIndex(shape, 0, -1, at, [&] {
    Index number;
    for (auto [index, size] : llvm::zip(at.index, shape))
      number = code.add(code.scale(number, size), index);
    Value rest = code.value(number);
    Position there{SmallVector<Index>(from.size(), Index(0)), -1};
    for (int dim = static_cast<int>(from.size()) - 1; dim >= 0; --dim) {
      Value size = code.i64(from[dim]);
      there.index[dim] = Index(Value(arith::RemUIOp::create(code.builder, code.loc, rest, size)));
      rest = arith::DivUIOp::create(code.builder, code.loc, rest, size);
    }
    Known known;
    write(evaluate(source, there, known), to, at);
  });
}
