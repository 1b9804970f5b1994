// Elementary functions as polynomials, since a kernel calls no library. The error figures were found by comparing with
// double precision over all (exp2) or very many f32 values; tests/unit/ElementaryFunctionsTest.cpp repeats that.
#include "compiler/lower/Passes.h"
#include "compiler/lower/ShapedBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <limits>

using namespace mlir;
using sectile::ShapedBuilder;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

/// Arithmetic on values of one type: f32, or a vector of f32, and the integers of the same shape.
class Expansion : ShapedBuilder {
public:
  Expansion(OpBuilder &builder, Location loc, Type type, bool avx512)
      : ShapedBuilder(builder, loc, type), floats(type), integers(shaped(builder.getI32Type())) {
    auto vector = dyn_cast<VectorType>(type);
    lanes = vector && vector.getRank() == 1 ? vector.getNumElements() : 0;
    useScalef = avx512 && (lanes == 4 || lanes == 8 || lanes == 16);
  }

  Value exp2(Value x, bool mayBeNan);
  Value exp(Value x);
  Value log2(Value x);
  Value log(Value x);
  Value tanh(Value x);

private:
  struct Reduced { ///< x = 2^exponent * (1 + fraction), with 1 + fraction in [sqrt(1/2), sqrt(2))
    Value exponent, fraction;
  };
  struct Rounded {
    Value value, bits; ///< the nearest integer as a float; the low bits of `bits` are that integer
  };

  Value f(float value) { return constant(floats, builder.getF32FloatAttr(value)); }
  Value i(int32_t value) { return constant(integers, builder.getI32IntegerAttr(value)); }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value bits(Value x) { return make<arith::BitcastOp>(integers, x); }
  Value fromBits(Value x) { return make<arith::BitcastOp>(floats, x); }
  /// min and max that keep a NaN in `x`: one instruction each.
  Value atLeast(float bound, Value x) { return select(compare(arith::CmpFPredicate::OLT, x, f(bound)), f(bound), x); }
  Value atMost(float bound, Value x) { return select(compare(arith::CmpFPredicate::OGT, x, f(bound)), f(bound), x); }
  /// `x` where `value` is below, above or unordered to bound …
  Value where(arith::CmpFPredicate predicate, Value x, float bound, float then, Value otherwise) {
    return select(compare(predicate, x, f(bound)), f(then), otherwise);
  }

  /// coefficients[0] + x * (coefficients[1] + x * (…)).
  Value polynomial(Value x, ArrayRef<float> coefficients);
  Rounded nearestInteger(Value x);
  Value scale(Value x, Value integerBits); ///< x * 2^integer by adding to the exponent
  Value intrinsic(StringRef name, ValueRange arguments);
  Value scalef(Value x, Value power); ///< x * 2^floor(power), right in every case (AVX-512)
  Value fractionAboveFloor(Value x);  ///< x - floor(x), 0 for infinities (AVX-512)
  Value expInRange(Value x);          ///< exp for x in [-87, 88]
  std::pair<Value, Rounded> reduceExp(Value x);
  Reduced reduceLog(Value x);
  Value logTail(Value fraction);            ///< log(1 + t) - t
  Value logSpecials(Value x, Value result); ///< 0, infinity, negative numbers, NaN

  Type floats, integers;
  int64_t lanes; ///< 0: not a one-dimensional vector
  bool useScalef;
};

Value Expansion::polynomial(Value x, ArrayRef<float> coefficients) {
  Value sum = f(coefficients.back());
  for (float coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, f(coefficient));
  return sum;
}

/// Adding 1.5 * 2^23 leaves no bits for a fraction: the sum's low bits are the integer, and the rounding is to nearest.
Expansion::Rounded Expansion::nearestInteger(Value x) {
  constexpr float magic = 12582912.0f;
  Value sum = add(x, f(magic));
  return {sub(sum, f(magic)), bits(sum)};
}

Value Expansion::scale(Value x, Value integerBits) {
  Value exponent = make<arith::ShLIOp>(integerBits, i(23));
  return fromBits(make<arith::AddIOp>(bits(x), exponent));
}

Value Expansion::intrinsic(StringRef name, ValueRange arguments) {
  std::string full = ("llvm.x86.avx512.mask." + name + ".ps." + Twine(lanes * 32)).str();
  return LLVM::CallIntrinsicOp::create(builder, loc, floats, builder.getStringAttr(full), arguments).getResult(0);
}

Value Expansion::scalef(Value x, Value power) {
  Value all = make<LLVM::ConstantOp>(builder.getIntegerType(std::max<int64_t>(lanes, 8)), -1);
  SmallVector<Value> arguments{x, power, x, all};
  if (lanes == 16)
    arguments.push_back(make<LLVM::ConstantOp>(builder.getI32Type(), 4)); // the rounding mode in force
  return intrinsic("scalef", arguments);
}

Value Expansion::fractionAboveFloor(Value x) {
  constexpr int32_t floorQuietly = 0x9;
  Value all = make<LLVM::ConstantOp>(builder.getIntegerType(std::max<int64_t>(lanes, 8)), -1);
  SmallVector<Value> arguments{x, make<LLVM::ConstantOp>(builder.getI32Type(), floorQuietly), x, all};
  if (lanes == 16)
    arguments.push_back(make<LLVM::ConstantOp>(builder.getI32Type(), 4));
  return intrinsic("reduce", arguments);
}

Value Expansion::exp2(Value x, bool mayBeNan) {
  // 2^x = 2^n * 2^f; 2^f by a minimax polynomial of degree 6 whose constant term is exactly 1.
  if (useScalef) {
    // 8 instructions, within 1.4 ulp: f in [0, 1), n = floor(x); scalef gets every special case and denormals right.
    static constexpr float unit[] = {1.0f,
                                     0.693147044529f,
                                     0.240229304294f,
                                     0.0554852865544f,
                                     0.0096754394151f,
                                     0.00124679589337f,
                                     0.000216125286624f};
    return scalef(polynomial(fractionAboveFloor(x), unit), x);
  }
  // 13 instructions (15 with NaN), within 1 ulp: f in [-1/2, 1/2]. At the bounds, 2^f = 1 and n = -127 or 128 give the
  // bits of 0 and of infinity.
  static constexpr float symmetric[] = {1.0f,
                                        0.69314720285596f,
                                        0.24022647913485f,
                                        0.055503324697045f,
                                        0.0096184373680537f,
                                        0.0013398874864026f,
                                        0.0001535336019208f};
  Value bounded = atMost(128.0f, atLeast(-127.0f, x));
  Rounded n = nearestInteger(bounded);
  Value result = scale(polynomial(sub(bounded, n.value), symmetric), n.bits);
  if (!mayBeNan)
    return result;
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, result);
}

/// e^x = 2^n * e^r with n the integer nearest to x / log(2): gives e^r and n.
std::pair<Value, Expansion::Rounded> Expansion::reduceExp(Value x) {
  // log(2) in two parts, the first short enough for n * log(2) to be exact.
  constexpr float perLog2 = 1.44269504088896f, log2High = 0.693359375f, log2Low = -2.12194440e-4f;
  static constexpr float coefficients[] = {1.0f,           1.00000003218f,    0.49999994206f,   0.16666431188f,
                                           0.04166800249f, 0.00837416172739f, 0.00138436447459f};
  Rounded n = nearestInteger(mul(x, f(perLog2)));
  Value r = fma(n.value, f(-log2High), x);
  r = fma(n.value, f(-log2Low), r);
  return {polynomial(r, coefficients), n};
}

Value Expansion::expInRange(Value x) {
  auto [power, n] = reduceExp(x);
  return scale(power, n.bits);
}

Value Expansion::exp(Value x) {
  // Beyond these bounds f32 has 0 and infinity.
  if (useScalef) {
    auto [power, n] = reduceExp(atMost(89.0f, atLeast(-105.0f, x)));
    return scalef(power, n.value);
  }
  constexpr float smallestNormal = -87.33654f, largest = 88.72283f;
  Value result = expInRange(atMost(largest, atLeast(smallestNormal, x)));
  result = where(arith::CmpFPredicate::OLT, x, smallestNormal, 0.0f, result);
  result = where(arith::CmpFPredicate::OGT, x, largest, infinity, result);
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, result);
}

Expansion::Reduced Expansion::reduceLog(Value x) {
  constexpr float smallestNormal = 1.17549435e-38f, two23 = 8388608.0f;
  constexpr int32_t sqrtHalf = 0x3f3504f3, mantissa = 0x007fffff;
  Value denormal = compare(arith::CmpFPredicate::OLT, x, f(smallestNormal));
  Value normal = select(denormal, mul(x, f(two23)), x);
  Value above = make<arith::SubIOp>(bits(normal), i(sqrtHalf));
  Value exponent = make<arith::SIToFPOp>(floats, make<arith::ShRSIOp>(above, i(23)));
  exponent = add(exponent, select(denormal, f(-23.0f), f(0.0f)));
  Value m = fromBits(make<arith::AddIOp>(make<arith::AndIOp>(above, i(mantissa)), i(sqrtHalf)));
  return {exponent, sub(m, f(1.0f))};
}

/// Coefficients as in Cephes' logf (S. L. Moshier).
Value Expansion::logTail(Value t) {
  static constexpr float coefficients[] = {3.3333331174e-1f,  -2.4999993993e-1f, 2.0000714765e-1f,
                                           -1.6668057665e-1f, 1.4249322787e-1f,  -1.2420140846e-1f,
                                           1.1676998740e-1f,  -1.1514610310e-1f, 7.0376836292e-2f};
  Value square = mul(t, t);
  Value cubic = mul(mul(t, square), polynomial(t, coefficients));
  return fma(square, f(-0.5f), cubic);
}

Value Expansion::logSpecials(Value x, Value result) {
  result = where(arith::CmpFPredicate::OEQ, x, infinity, infinity, result);
  result = where(arith::CmpFPredicate::OEQ, x, 0.0f, -infinity, result);
  return where(arith::CmpFPredicate::ULT, x, 0.0f, std::numeric_limits<float>::quiet_NaN(), result);
}

Value Expansion::log2(Value x) {
  constexpr float log2eMinus1 = 0.44269504088896f;
  auto [exponent, t] = reduceLog(x);
  // (t + tail) * log2(e) + exponent, the small terms first.
  Value tail = logTail(t);
  Value sum = mul(tail, f(log2eMinus1));
  sum = fma(t, f(log2eMinus1), sum);
  return logSpecials(x, add(add(add(sum, tail), t), exponent));
}

Value Expansion::log(Value x) {
  constexpr float log2High = 0.693359375f, log2Low = -2.12194440e-4f;
  auto [exponent, t] = reduceLog(x);
  Value small = fma(exponent, f(log2Low), logTail(t));
  return logSpecials(x, fma(exponent, f(log2High), add(small, t)));
}

Value Expansion::tanh(Value x) {
  // Near 0: x + x^3 p(x^2) (Cephes' tanhf); else 1 - 2 / (e^(2|x|) + 1), which is 1 in f32 from 9.02 on.
  constexpr float near = 0.625f, saturated = 10.0f;
  static constexpr float coefficients[] = {-3.33332819422e-1f, 1.33314422036e-1f, -5.37397155531e-2f, 2.06390887954e-2f,
                                           -5.70498872745e-3f};
  Value a = make<math::AbsFOp>(x);
  Value square = mul(a, a);
  Value small = fma(mul(a, square), polynomial(square, coefficients), a);
  Value bounded = atMost(saturated, a);
  Value power = expInRange(add(bounded, bounded));
  Value share = make<arith::DivFOp>(f(2.0f), add(power, f(1.0f)), arith::FastMathFlags::arcp); // at most 0.45
  Value big = sub(f(1.0f), share);
  Value result = select(compare(arith::CmpFPredicate::OLT, a, f(near)), small, big);
  result = make<math::CopySignOp>(result, x);
  return select(compare(arith::CmpFPredicate::UNO, x, x), x, result);
}

//===-- patterns --------------------------------------------------------------------------------------------------===//

template <class Op> Value expand(Expansion &expansion, Op op) {
  Value x = op.getOperand();
  bool mayBeNan = !arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::nnan);
  if constexpr (std::is_same_v<Op, math::Exp2Op>)
    return expansion.exp2(x, mayBeNan);
  else if constexpr (std::is_same_v<Op, math::ExpOp>)
    return expansion.exp(x);
  else if constexpr (std::is_same_v<Op, math::Log2Op>)
    return expansion.log2(x);
  else if constexpr (std::is_same_v<Op, math::LogOp>)
    return expansion.log(x);
  else
    return expansion.tanh(x);
}

template <class Op> struct Expand : OpRewritePattern<Op> {
  Expand(MLIRContext *context, bool avx512) : OpRewritePattern<Op>(context), avx512(avx512) {}

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return rewriter.notifyMatchFailure(op, "elementary functions are defined on f32");
    Expansion expansion(rewriter, op.getLoc(), type, avx512);
    rewriter.replaceOp(op, expand(expansion, op));
    return success();
  }

  bool avx512;
};

struct ExpandMath : PassWrapper<ExpandMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)

  ExpandMath() = default;
  ExpandMath(const ExpandMath &other) : PassWrapper(other) { avx512 = other.avx512.getValue(); }
  explicit ExpandMath(const sectile::ExpandMathOptions &options) { avx512 = options.avx512; }

  StringRef getArgument() const final { return "sectile-expand-math"; }
  StringRef getDescription() const final { return "Expand elementary functions into polynomials"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect, math::MathDialect>();
  }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<Expand<math::Exp2Op>, Expand<math::ExpOp>, Expand<math::Log2Op>, Expand<math::LogOp>,
                 Expand<math::TanhOp>>(&getContext(), avx512.getValue());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }

  Option<bool> avx512{*this, "avx512", llvm::cl::desc("vscalef and vreduce exist"), llvm::cl::init(false)};
};

} // namespace

std::unique_ptr<Pass> sectile::createExpandMath(ExpandMathOptions options) {
  return std::make_unique<ExpandMath>(options);
}

void sectile::registerExpansionPasses() {
  PassRegistration<ExpandMath>();
  registerPass([] { return createExpandConversions(); });
}
