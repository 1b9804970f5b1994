#include "kernels/reference/cuda/Oracle.h"

#include "kernels/reference/cuda/Nvrtc.h"
#include "kernels/reference/cuda/OracleSource.inc" // made by CMake: attentionSource, callSource
#include "sectile/Error.h"

#include <cmath>

namespace sectile::reference::oracle {

static_assert(static_cast<int>(Type::f32) == F32 && static_cast<int>(Type::f16) == F16 &&
              static_cast<int>(Type::bf16) == BF16 && static_cast<int>(Type::f8e4m3) == F8E4M3 &&
              static_cast<int>(Type::f8e5m2) == F8E5M2 && static_cast<int>(Type::i32) == I32);

std::string compileOracle(const std::string &architecture) {
  const SourceFile files[] = {{"attention.cu", attentionSource}, {"OracleCall.h", callSource}};
  return compileCuda(files, architecture);
}

/// `leading`: how many of the four dimensions are missing in front, to be read as stride 0.
static OracleArray array(const ArrayView &view, int leading = 0) {
  OracleArray result{view.data, {}, static_cast<int>(view.type)};
  for (int axis = 0; axis < view.rank; ++axis)
    result.strides[leading + axis] = view.strides[axis];
  return result;
}

OracleCall describeCall(const ArrayView &q, const ArrayView &k, const ArrayView &v, const AttentionOptions &o,
                        std::optional<Type> rounding) {
  if (o.scoreModifier || o.maskPredicate)
    throw UserError(std::string("the naive CUDA kernel: ") + (o.scoreModifier ? "scoreModifier" : "maskPredicate") +
                    " is a C++ function, which it cannot call; use reference::attention()");
  OracleCall call{};
  call.q = array(q);
  call.k = array(k);
  call.v = array(v);
  if (o.alibiSlopes)
    call.alibiSlopes = array(*o.alibiSlopes, o.alibiSlopes->rank == 1 ? 1 : 0); // one for all batches
  if (o.bias)
    call.bias = array(*o.bias);
  if (o.sink)
    call.sink = array(*o.sink);
  if (o.keyLengths)
    call.keyLengths = array(*o.keyLengths);
  const auto scale = [](const std::optional<ArrayView> &view) {
    if (!view)
      return OracleArray{};
    OracleArray result = array(*view);
    if (view->rank == 1) // one for the whole tensor
      result.strides[0] = 0;
    return result;
  };
  call.queryScale = scale(o.queryScale);
  call.keyScale = scale(o.keyScale);
  call.valueScale = scale(o.valueScale);
  call.batch = q.sizes[0];
  call.seqlenQ = q.sizes[1];
  call.heads = q.sizes[2];
  call.headDim = q.sizes[3];
  call.seqlenK = k.sizes[1];
  call.headsKv = k.sizes[2];
  call.headDimV = v.sizes[3];
  call.left = o.windowLeft;
  call.right = o.causal ? 0 : o.windowRight;
  call.topLeft = o.alignment == MaskAlignment::topLeft;
  call.rounding = !rounding ? -1 : static_cast<int>(isStorageOnly(*rounding) ? Type::bf16 : *rounding);
  call.scale = o.scale.value_or(1 / std::sqrt(static_cast<float>(q.sizes[3])));
  call.softcap = o.softcap;
  call.dropout = o.dropout;
  for (int word = 0; word < 2; ++word) {
    call.seed[word] = static_cast<Word>(o.seed >> 32 * word);
    call.offset[word] = static_cast<Word>(o.offset >> 32 * word);
  }
  return call;
}

} // namespace sectile::reference::oracle
