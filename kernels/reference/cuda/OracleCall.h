// What the naive attention kernel is called with: plain data, the same for NVRTC and for the host's compiler.
#pragma once

namespace sectile::reference::oracle {

typedef long long Int;
typedef unsigned int Word;

// As sectile::Type numbers them.
enum ElementType { F32, F16, BF16, F8E4M3, F8E5M2, I32 };

/// Any strides, in elements; an absent array has no data.
struct OracleArray {
  const void *data;
  Int strides[4];
  int type;
};

struct OracleCall {
  OracleArray q, k, v;                             ///< [batch, row, head, column]
  OracleArray alibiSlopes, bias, sink, keyLengths; ///< [batch, head], [batch, head, row, key], [head], [batch]
  OracleArray queryScale, keyScale, valueScale;    ///< [batch, kv head]
  double *out;                                     ///< [batch, row, head, column], row-major
  double *lse;                                     ///< [batch, head, row], row-major
  Int batch, seqlenQ, seqlenK, heads, headsKv, headDim, headDimV;
  Int left, right; ///< of the diagonal, inclusive; negative: unbounded
  int topLeft;
  /// The type to which every intermediate tensor is rounded, as a framework does that computes operation by operation;
  /// -1: none, the exact result.
  int rounding;
  float scale, softcap, dropout;
  Word seed[2], offset[2]; ///< low, high
};

} // namespace sectile::reference::oracle
