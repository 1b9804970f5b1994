// Attention: out = softmax(mask(modify(scale * q k^T))) v, for every query row, exactly, without storing the scores.
//
// Shapes (sizes in elements; every tensor carries its own four strides, any value including 0):
//   q    (batch, seqlenQ, headsQ,  headDim)     1 <= headDim, headDimV <= 576
//   k    (batch, seqlenK, headsKv, headDim)     headsQ % headsKv == 0; query head h reads head h / (headsQ/headsKv)
//   v    (batch, seqlenK, headsKv, headDimV)
//   out  (batch, seqlenQ, headsQ,  headDimV)    q, k, v and out have one type: f32, f16 or bf16; or q, k and v are
//                                               f8e4m3 or f8e5m2, and out is f32, f16 or bf16
//   lse  (batch, headsQ, seqlenQ) f32           natural logarithm of the sum of exp(score), optional
//
// With d = seqlenK - seqlenQ (or 0 when the mask is top-left aligned), score of query i and key j:
//   s = scale * (q_i . k_j);  s = softcap * tanh(s / softcap);  s += bias;  s -= slope * |i + seqlenK - seqlenQ - j|;
//   s = the user's modifier of s
// Key j is visible to query i when  i + d - left <= j <= i + d + right  (causal: right = 0),  j < keyLengths[batch],
// and the user's predicate holds. A row that sees no key gives out = 0 and lse = -inf. Lengths of 0 are legal;
// seqlenQ + seqlenK is at most ArrayView::maxSize.
//
// NaN reaches every row that sees it; a NaN or infinity in v may also reach rows that do not see its key, as 0 * NaN is
// NaN, except from keys at or past keyLengths: they may hold anything. `out` and `lse` need memory of their own.
#pragma once

#include "sectile/Session.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sectile {

/// Where on the score matrix a user's function is called: i32 tiles that broadcast to the score tile.
struct ScorePosition {
  tile::Tile batch, head; ///< scalars; `head` is the query head
  tile::Tile query, key;  ///< [rows, 1] and [1, columns]: i and j above
  tile::Tile seqlenQ, seqlenK;
  std::span<const tile::Tile> scalars; ///< AttentionOptions::scalars; scalar(i) checks the index
  Trace &trace;

  /// Number `index` of AttentionOptions::scalars, f32. Throws UserError when there are not as many.
  tile::Tile scalar(int index) const;
};

/// Changes a tile of scores (f32, after scale, softcap, bias and ALiBi, before the mask).
using ScoreModifier = tile::Tile (*)(const tile::Tile &score, const ScorePosition &at);
/// Says which keys are visible (i1, broadcasts to the score tile), in conjunction with the other masks.
using MaskPredicate = tile::Tile (*)(const ScorePosition &at);

enum class MaskAlignment : uint8_t { bottomRight, topLeft };

/// Everything that shapes the result. An option that cannot be honoured is refused by name, never ignored.
struct AttentionOptions {
  std::optional<float> scale; ///< default headDim^-0.5; any finite number
  bool causal = false;        ///< windowRight = 0 (a windowRight other than -1 or 0 is then refused)
  MaskAlignment alignment = MaskAlignment::bottomRight; ///< of causal and windows
  int64_t windowLeft = -1;              ///< keys visible to the left of the diagonal, inclusive; -1: all
  int64_t windowRight = -1;             ///< to the right
  float softcap = 0;                    ///< > 0 caps scores; 0: none
  std::optional<ArrayView> alibiSlopes; ///< f32, (headsQ) or (batch, headsQ)
  std::optional<ArrayView> bias;        ///< f32 or out's type, (batch, headsQ, seqlenQ, seqlenK); stride 0 broadcasts
  std::optional<ArrayView> sink;        ///< f32, (headsQ): a score that takes part in the softmax and has no value;
                                        ///< lse includes it, and a row that sees no key has lse = sink
  std::optional<ArrayView> keyLengths;  ///< i32, (batch): keys at or past it are invisible. Cut to 0 … seqlenK; the
                                        ///< alignment of masks stays that of seqlenK
  /// What the numbers of f8 tensors are multiplied by: f32, (1) for the whole tensor, or (batch, headsKv); query head h
  /// has that of key head h / (headsQ/headsKv). Absent: 1.
  std::optional<ArrayView> queryScale, keyScale, valueScale;
  float dropout = 0;             ///< probability in [0, 1) that a weight is dropped; the others are scaled by 1/(1-p)
  uint64_t seed = 0, offset = 0; ///< of the Philox stream; the mask depends on (seed, offset, batch, head, i, j) only
  ScoreModifier scoreModifier = nullptr;
  MaskPredicate maskPredicate = nullptr;
  /// What the two functions read as at.scalar(0), at.scalar(1) …: at most `maxScalars` numbers that are run-time values
  /// of the kernel, so that other numbers need no other kernel. (C++ numbers inside the functions are part of it.)
  std::vector<float> scalars;
  static constexpr size_t maxScalars = 8;
};

/// Runs attention forward. `lse` may be absent. Throws UserError, naming the tensor or option and the rule, before
/// anything is written. Workspace: none.
void attentionForward(Session &session, const Stream &stream, const ArrayView &q, const ArrayView &k,
                      const ArrayView &v, const ArrayView &out, const std::optional<ArrayView> &lse,
                      const AttentionOptions &options = {}, const Schedule &schedule = {});

/// Compiles what the call above would run, without running it.
std::shared_ptr<const Executable> prepareAttentionForward(Session &session, const ArrayView &q, const ArrayView &k,
                                                          const ArrayView &v, const ArrayView &out,
                                                          const std::optional<ArrayView> &lse,
                                                          const AttentionOptions &options = {},
                                                          const Schedule &schedule = {});

/// Whether dropout keeps the weight of (batch, head, query, key): true with probability 1 - p, to 32 bits. The kernel
/// on every target agrees with this function bit for bit. With Philox4x32 of n rounds, Philox-n(counter; key), words of
/// 32 bits, low first:
///   s = Philox-10(offset, offset >> 32, batch, head; seed, seed >> 32)
///   w = Philox-7(key / 2, query & ~8, s[2], s[3]; s[0], s[1])
///   the weight is kept when  w[key % 2 + (query & 8) / 4] < (1 - p) 2^32
bool dropoutKeeps(uint64_t seed, uint64_t offset, float dropout, int64_t batch, int64_t head, int64_t query,
                  int64_t key);

} // namespace sectile
