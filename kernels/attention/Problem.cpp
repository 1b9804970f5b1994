#include "kernels/attention/Problem.h"

#include "sectile/Error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <sstream>

namespace sectile::attention {
namespace {

template <class... Parts> [[noreturn]] void refuse(const Parts &...parts) {
  std::ostringstream message;
  message << "attention: ";
  (message << ... << parts);
  throw UserError(message.str());
}

/// One array of the call with the names used in messages, those of Attention.h.
struct Named {
  const char *name;
  const ArrayView &array;
  std::array<const char *, 4> dimensions; ///< null past the rank
  bool broadcasts = false;                ///< callers like to give it dimensions of size 1

  int64_t size(int axis) const { return array.sizes[axis]; }
  bool empty() const {
    return std::any_of(array.sizes.begin(), array.sizes.begin() + array.rank, [](int64_t size) { return size == 0; });
  }
};

void checkShape(const Named &a) {
  const auto rank = std::ranges::find(a.dimensions, nullptr) - a.dimensions.begin();
  if (a.array.rank != rank) {
    std::ostringstream shape;
    for (int axis = 0; axis < rank; ++axis)
      shape << (axis ? ", " : "(") << a.dimensions[axis];
    refuse(a.name, " has rank ", a.array.rank, ": it must have rank ", rank, ", ", shape.str(), ")");
  }
  constexpr int64_t reach = int64_t{1} << 60; // sums of four of these fit 64 bits
  for (int axis = 0; axis < a.array.rank; ++axis) {
    const int64_t size = a.size(axis), stride = a.array.strides[axis];
    if (size < 0 || size > ArrayView::maxSize)
      refuse(a.name, "'s ", a.dimensions[axis], " (dimension ", axis, ") is ", size, ": legal are 0 to ",
             ArrayView::maxSize);
    int64_t last = 0; // a division would cost more than all else here
    if (size > 1 && (__builtin_mul_overflow(stride, size - 1, &last) || last > reach || last < -reach))
      refuse(a.name, "'s ", a.dimensions[axis], " (dimension ", axis, ") has stride ", stride, ": its ", size,
             " elements would reach beyond any memory");
  }
}

void checkSize(const Named &a, int axis, int64_t expected, const char *source) {
  if (a.size(axis) != expected)
    refuse(a.name, "'s ", a.dimensions[axis], " (dimension ", axis, ") is ", a.size(axis), ": it must be ", expected,
           ", as in ", source,
           a.broadcasts && a.size(axis) == 1 ? "; to broadcast give it that size and stride 0" : "");
}

void checkType(const Named &a, Type expected, const char *why) {
  if (a.array.type != expected)
    refuse(a.name, " has type ", typeName(a.array.type), ": it must be ", typeName(expected), why);
}

void checkAddress(const Named &a, Use use) {
  if (use == Use::compile || a.empty())
    return;
  if (!a.array.data)
    refuse(a.name, "'s data pointer is null: only an array with a size of 0 may have none");
  const auto bytes = static_cast<uintptr_t>(typeBytes(a.array.type)); // a power of two
  if (reinterpret_cast<uintptr_t>(a.array.data) & (bytes - 1))
    refuse(a.name, "'s data pointer ", a.array.data, " is not a multiple of ", bytes, ", the size of its elements (",
           typeName(a.array.type), ")");
}

/// No two elements of a result may share memory. Holds when, from the smallest stride on, each stride steps over all
/// that the smaller ones span; stranger layouts that happen to be free of overlap are refused as well.
void checkDistinctElements(const Named &a) {
  if (a.empty())
    return;
  std::array<int, ArrayView::maxRank> order{};
  std::iota(order.begin(), order.end(), 0);
  const auto counts = [&](int axis) { return axis < a.array.rank && a.size(axis) > 1; };
  const auto step = [&](int axis) { return counts(axis) ? std::abs(a.array.strides[axis]) : 0; };
  std::ranges::sort(order, {}, step);
  int64_t span = 0;
  for (int axis : order) {
    if (!counts(axis))
      continue;
    if (step(axis) <= span)
      refuse(a.name, "'s ", a.dimensions[axis], " (dimension ", axis, ") has stride ", a.array.strides[axis],
             ", so that elements overlap: the stride must be at least ", span + 1,
             " in magnitude, as the dimensions with smaller strides span ", span + 1, " elements");
    span += step(axis) * (a.size(axis) - 1);
  }
}

void checkSeparate(const Named &result, const Named &other) {
  if (!result.empty() && !other.empty() && result.array.data == other.array.data)
    refuse(result.name, " begins at the same address as ", other.name,
           ": results need memory of their own, as inputs are read while results are written");
}

void checkNumbers(const AttentionOptions &o) {
  if (o.scale && !std::isfinite(*o.scale))
    refuse("scale is ", *o.scale, ": it must be a finite number");
  if (!std::isfinite(o.softcap) || o.softcap < 0)
    refuse("softcap is ", o.softcap, ": legal are finite numbers above 0, and 0 for none");
  if (!(o.dropout >= 0 && o.dropout < 1))
    refuse("dropout is ", o.dropout, ": it is a probability p with 0 <= p < 1");
  if (o.windowLeft < -1)
    refuse("windowLeft is ", o.windowLeft, ": legal are 0 and more, and -1 for unbounded");
  if (o.windowRight < -1)
    refuse("windowRight is ", o.windowRight, ": legal are 0 and more, and -1 for unbounded");
  if (o.causal && o.windowRight > 0)
    refuse("windowRight is ", o.windowRight,
           " with causal set, which means a windowRight of 0: legal are then 0 and -1");
  if (o.alignment != MaskAlignment::bottomRight && o.alignment != MaskAlignment::topLeft)
    refuse("alignment is ", static_cast<int>(o.alignment), ": legal are MaskAlignment::bottomRight and topLeft");
  if (o.scalars.size() > AttentionOptions::maxScalars)
    refuse("scalars has ", o.scalars.size(), " numbers: legal are up to ", AttentionOptions::maxScalars);
  if (!o.scalars.empty() && !o.scoreModifier && !o.maskPredicate)
    refuse("scalars has ", o.scalars.size(),
           " numbers that nothing reads: they are for scoreModifier and maskPredicate, and neither is set");
}

ForwardProblem checkTensors(const Named &q, const Named &k, const Named &v, const Named &out) {
  for (const Named *a : {&q, &k, &v, &out})
    checkShape(*a);
  const Type type = q.array.type;
  if (!isFloat(type))
    refuse("q has type ", typeName(type), ": legal are f32, f16, bf16, f8e4m3 and f8e5m2");
  if (k.array.type != type)
    refuse("query and key must have the same dtype: q is ", typeName(type), ", k is ", typeName(k.array.type));
  if (v.array.type != type)
    refuse("query and value must have the same dtype: q is ", typeName(type), ", v is ", typeName(v.array.type));
  const Type outType = out.array.type;
  if (!isStorageOnly(type))
    checkType(out, type, ", as q");
  else if (!isFloat(outType) || isStorageOnly(outType))
    refuse("out has type ", typeName(outType), ": legal for q of type ", typeName(type), " are f32, f16 and bf16");

  const ForwardProblem p{type, outType, q.size(0), q.size(2), k.size(2), q.size(1), k.size(1), q.size(3), v.size(3)};
  checkSize(k, 0, p.batch, "q");
  checkSize(v, 0, p.batch, "q");
  checkSize(out, 0, p.batch, "q");
  checkSize(v, 1, p.seqlenK, "k");
  checkSize(out, 1, p.seqlenQ, "q");
  checkSize(v, 2, p.headsKv, "k");
  checkSize(out, 2, p.headsQ, "q");
  checkSize(k, 3, p.headDim, "q");
  checkSize(out, 3, p.headDimV, "v");
  for (const Named *a : {&q, &v})
    if (a->size(3) < 1 || a->size(3) > 576)
      refuse(a->name, "'s ", a->dimensions[3], " (dimension 3) is ", a->size(3), ": legal are 1 to 576");
  if (p.headsKv == 0 ? p.headsQ != 0 : p.headsQ % p.headsKv != 0)
    refuse("Number of heads in key/value must divide number of heads in query: k has ", p.headsKv, ", q has ",
           p.headsQ);
  if (p.seqlenQ + p.seqlenK > ArrayView::maxSize)
    refuse("seqlenQ + seqlenK is ", p.seqlenQ + p.seqlenK, ": legal is up to ", ArrayView::maxSize);
  return p;
}

} // namespace

ForwardProblem checkForward(const ForwardArrays &arrays, const AttentionOptions &options, Use use) {
  checkNumbers(options);
  const Named q{"q", arrays.q, {"batch", "seqlenQ", "headsQ", "headDim"}};
  const Named k{"k", arrays.k, {"batch", "seqlenK", "headsKv", "headDim"}};
  const Named v{"v", arrays.v, {"batch", "seqlenK", "headsKv", "headDimV"}};
  const Named out{"out", arrays.out, {"batch", "seqlenQ", "headsQ", "headDimV"}};
  ForwardProblem p = checkTensors(q, k, v, out);

  for (const Named *a : {&q, &k, &v, &out})
    checkAddress(*a, use);

  const auto checkInput = [&](const Named &a) {
    checkShape(a);
    checkAddress(a, use);
  };
  if (options.alibiSlopes) {
    const bool perBatch = options.alibiSlopes->rank == 2;
    const Named slopes = perBatch ? Named{"alibiSlopes", *options.alibiSlopes, {"batch", "headsQ"}, true}
                                  : Named{"alibiSlopes", *options.alibiSlopes, {"headsQ"}};
    checkInput(slopes);
    checkType(slopes, Type::f32, "");
    if (perBatch)
      checkSize(slopes, 0, p.batch, "q");
    checkSize(slopes, perBatch ? 1 : 0, p.headsQ, "q");
  }
  if (options.bias) {
    const Named bias{"bias", *options.bias, {"batch", "headsQ", "seqlenQ", "seqlenK"}, true};
    checkInput(bias);
    if (bias.array.type != Type::f32)
      checkType(bias, p.outType, ", as out, or f32");
    checkSize(bias, 0, p.batch, "q");
    checkSize(bias, 1, p.headsQ, "q");
    checkSize(bias, 2, p.seqlenQ, "q");
    checkSize(bias, 3, p.seqlenK, "k");
  }
  if (options.sink) {
    const Named sink{"sink", *options.sink, {"headsQ"}};
    checkInput(sink);
    checkType(sink, Type::f32, "");
    checkSize(sink, 0, p.headsQ, "q");
  }
  p.hasKeyLengths = options.keyLengths.has_value();
  p.hasAlibi = options.alibiSlopes.has_value();
  if (options.keyLengths) {
    const Named lengths{"keyLengths", *options.keyLengths, {"batch"}};
    checkInput(lengths);
    checkType(lengths, Type::i32, "");
    checkSize(lengths, 0, p.batch, "q");
  }

  const std::pair<const char *, const std::optional<ArrayView> &> scales[] = {
      {"queryScale", options.queryScale}, {"keyScale", options.keyScale}, {"valueScale", options.valueScale}};
  for (const auto &[name, array] : scales) {
    if (!array)
      continue;
    if (!isStorageOnly(p.type))
      refuse(name, " is given for q of type ", typeName(p.type), ": it is for f8e4m3 and f8e5m2");
    const bool ofTensor = array->rank == 1;
    const Named scale = ofTensor ? Named{name, *array, {"one"}} : Named{name, *array, {"batch", "headsKv"}, true};
    checkInput(scale);
    checkType(scale, Type::f32, "");
    if (ofTensor && scale.size(0) != 1)
      refuse(name, " has rank 1 and ", scale.size(0), " elements: legal are 1, or rank 2, (batch, headsKv)");
    if (!ofTensor) {
      checkSize(scale, 0, p.batch, "q");
      checkSize(scale, 1, p.headsKv, "k");
    }
  }

  const auto checkResult = [&](const Named &result, std::initializer_list<const Named *> others) {
    checkDistinctElements(result);
    if (use == Use::run)
      for (const Named *other : others)
        checkSeparate(result, *other);
  };
  checkResult(out, {&q, &k, &v});
  if (arrays.lse) {
    const Named lse{"lse", *arrays.lse, {"batch", "headsQ", "seqlenQ"}};
    checkInput(lse);
    checkType(lse, Type::f32, "");
    checkSize(lse, 0, p.batch, "q");
    checkSize(lse, 1, p.headsQ, "q");
    checkSize(lse, 2, p.seqlenQ, "q");
    checkResult(lse, {&q, &k, &v, &out});
  }
  return p;
}

} // namespace sectile::attention
