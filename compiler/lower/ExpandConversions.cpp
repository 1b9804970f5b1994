// Conversions between f32 and narrower floats by integer arithmetic, for what the processor has no instruction for or
// one with another meaning (vcvtneps2bf16 treats denormals as zero).
#include "compiler/lower/Passes.h"
#include "compiler/lower/ShapedBuilder.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

#include <cmath>
#include <limits>

using namespace mlir;
using sectile::ShapedBuilder;

namespace {

/// The layout of an 8-bit float, with what its conversion needs.
struct Float8 {
  int32_t mantissaBits;
  int32_t bias;
  float largest;
  int32_t nan; ///< the bits that stand for NaN here
};
constexpr Float8 e4m3{3, 7, 448.0f, 0x7f};
constexpr Float8 e5m2{2, 15, 57344.0f, 0x7f};

/// Arithmetic on scalars, or on vectors of one shape.
class Conversion : ShapedBuilder {
public:
  Conversion(OpBuilder &builder, Location loc, Type like) : ShapedBuilder(builder, loc, like) {}

  Value fromBf16(Value x) {
    Value wide = make<arith::ExtUIOp>(i32(), make<arith::BitcastOp>(shaped(builder.getI16Type()), x));
    return make<arith::BitcastOp>(f32(), shiftLeft(wide, 16));
  }

  Value toBf16(Value x) {
    // Half of the last place, less one, plus the last bit kept: ties go to even. Adding may turn a NaN into an
    // infinity.
    Value bits = bitsOf(x);
    Value rounded = shiftRight(roundedToEven(bits, 16), 16);
    Value nan = orBits(shiftRight(bits, 16), 0x40);
    Value result = select(compare(arith::CmpFPredicate::UNO, x, x), nan, rounded);
    return make<arith::BitcastOp>(shaped(builder.getBF16Type()),
                                  make<arith::TruncIOp>(shaped(builder.getI16Type()), result));
  }

  /// An e5m2 is the upper half of an f16.
  Value fromE5m2(Value x) {
    Value half = shiftLeft(make<arith::ExtUIOp>(shaped(builder.getI16Type()), byteOf(x)), 8);
    return make<arith::ExtFOp>(f32(), make<arith::BitcastOp>(shaped(builder.getF16Type()), half));
  }

  /// Moved by a bit, an e4m3 is an f16 that is 2^8 too small: the biases are 7 and 15. Denormals come out right, too.
  Value fromE4m3(Value x) {
    constexpr float biasDifference = 256.0f;
    Value byte = make<arith::ExtUIOp>(shaped(builder.getI16Type()), byteOf(x));
    Value magnitude = andBits(byte, 0x7f);
    Value half = make<arith::OrIOp>(shiftLeft(andBits(byte, 0x80), 8), shiftLeft(magnitude, 7));
    Value wide = make<arith::ExtFOp>(f32(), make<arith::BitcastOp>(shaped(builder.getF16Type()), half));
    Value isNan = make<arith::CmpIOp>(arith::CmpIPredicate::eq, magnitude, integer(magnitude.getType(), e4m3.nan));
    return select(isNan, real(std::numeric_limits<float>::quiet_NaN()),
                  make<arith::MulFOp>(wide, real(biasDifference)));
  }

  Value toFloat8(Value x, const Float8 &format, Type element) {
    // 1. The magnitude, saturated. A NaN is dealt with at the end.
    const int32_t dropped = 23 - format.mantissaBits;
    Value sign = andBits(shiftRight(bitsOf(x), 24), 0x80);
    Value magnitude = make<arith::BitcastOp>(f32(), andBits(bitsOf(x), 0x7fffffff));
    Value over = compare(arith::CmpFPredicate::OGT, magnitude, real(format.largest));
    magnitude = select(over, real(format.largest), magnitude);

    // 2. Normal numbers: round the mantissa, then change the bias.
    Value normal = shiftRight(roundedToEven(bitsOf(magnitude), dropped), dropped);
    normal = make<arith::SubIOp>(normal, integer(i32(), (127 - format.bias) << format.mantissaBits));

    // 3. Denormals: adding 2^23 times their unit lets the addition round; the sum's low bits count units.
    const int32_t unitExponent = 1 - format.bias - format.mantissaBits;
    const float magic = std::ldexp(1.0f, 23 + unitExponent);
    Value sum = make<arith::AddFOp>(magnitude, real(magic));
    Value denormal = make<arith::SubIOp>(bitsOf(sum), bitsOf(real(magic)));

    Value small = compare(arith::CmpFPredicate::OLT, magnitude, real(std::ldexp(1.0f, 1 - format.bias)));
    Value result = select(small, denormal, normal);
    Value isNan = compare(arith::CmpFPredicate::UNO, x, x);
    result = select(isNan, integer(i32(), format.nan), result);
    result = make<arith::OrIOp>(result, sign);
    return make<arith::BitcastOp>(shaped(element), make<arith::TruncIOp>(shaped(builder.getI8Type()), result));
  }

  Type f32() { return shaped(builder.getF32Type()); }

private:
  Type i32() { return shaped(builder.getI32Type()); }
  Value real(float value) { return constant(f32(), builder.getF32FloatAttr(value)); }
  Value integer(Type type, int64_t value) {
    return constant(type, builder.getIntegerAttr(getElementTypeOrSelf(type), value));
  }
  Value bitsOf(Value x) { return make<arith::BitcastOp>(i32(), x); }
  Value byteOf(Value x) { return make<arith::BitcastOp>(shaped(builder.getI8Type()), x); }
  Value andBits(Value x, int64_t mask) { return make<arith::AndIOp>(x, integer(x.getType(), mask)); }
  Value orBits(Value x, int64_t mask) { return make<arith::OrIOp>(x, integer(x.getType(), mask)); }
  Value shiftLeft(Value x, int64_t count) { return make<arith::ShLIOp>(x, integer(x.getType(), count)); }
  Value shiftRight(Value x, int64_t count) { return make<arith::ShRUIOp>(x, integer(x.getType(), count)); }
  /// `bits` plus what carries into bit `dropped` when the bits below it round up.
  Value roundedToEven(Value bits, int64_t dropped) {
    Value last = andBits(shiftRight(bits, dropped), 1);
    Value halfLessOne = integer(bits.getType(), (int64_t{1} << (dropped - 1)) - 1);
    return make<arith::AddIOp>(make<arith::AddIOp>(bits, halfLessOne), last);
  }
};

struct ExpandExtension : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "only extensions to f32 are expanded");
    Conversion conversion(rewriter, op.getLoc(), op.getType());
    if (from.isBF16())
      rewriter.replaceOp(op, conversion.fromBf16(op.getIn()));
    else if (isa<Float8E5M2Type>(from))
      rewriter.replaceOp(op, conversion.fromE5m2(op.getIn()));
    else if (isa<Float8E4M3FNType>(from))
      rewriter.replaceOp(op, conversion.fromE4m3(op.getIn()));
    else
      return rewriter.notifyMatchFailure(op, "the processor converts this type");
    return success();
  }
};

/// An f32 as bf16 or f8; null for types that the processor converts.
Value truncated(Conversion &conversion, Value wide, Type to) {
  if (to.isBF16())
    return conversion.toBf16(wide);
  if (isa<Float8E5M2Type>(to))
    return conversion.toFloat8(wide, e5m2, to);
  if (isa<Float8E4M3FNType>(to))
    return conversion.toFloat8(wide, e4m3, to);
  return {};
}

struct ExpandTruncation : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getIn().getType()).isF32())
      return rewriter.notifyMatchFailure(op, "only truncations from f32 are expanded");
    Conversion conversion(rewriter, op.getLoc(), op.getType());
    Value narrow = truncated(conversion, op.getIn(), getElementTypeOrSelf(op.getType()));
    if (!narrow)
      return rewriter.notifyMatchFailure(op, "the processor converts this type");
    rewriter.replaceOp(op, narrow);
    return success();
  }
};

/// By way of f32: whoever makes the integer sees to it that it is exact there. (Canonicalization merges a conversion to
/// f32 and a truncation into this one operation.)
struct ExpandFromInteger : OpRewritePattern<arith::SIToFPOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SIToFPOp op, PatternRewriter &rewriter) const override {
    Conversion conversion(rewriter, op.getLoc(), op.getType());
    Type to = getElementTypeOrSelf(op.getType());
    if (!to.isBF16() && to.getIntOrFloatBitWidth() != 8)
      return rewriter.notifyMatchFailure(op, "the processor converts this type");
    Value wide = arith::SIToFPOp::create(rewriter, op.getLoc(), conversion.f32(), op.getIn());
    rewriter.replaceOp(op, truncated(conversion, wide, to));
    return success();
  }
};

struct ExpandConversions : PassWrapper<ExpandConversions, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandConversions)

  StringRef getArgument() const final { return "sectile-expand-conversions"; }
  StringRef getDescription() const final { return "Expand conversions of bf16 and f8 into integer arithmetic"; }
  void getDependentDialects(DialectRegistry &registry) const final { registry.insert<arith::ArithDialect>(); }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandExtension, ExpandFromInteger, ExpandTruncation>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> sectile::createExpandConversions() { return std::make_unique<ExpandConversions>(); }
