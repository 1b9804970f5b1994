// Attention forward, naively: the definition in sectile/Attention.h and nothing else. It shares no line with the kernel
// that it judges: its own decoding of types, its own Philox, its own masks.
//
// One source for two compilers. NVRTC compiles it for a device: one block of threads a row of scores. The host's
// compiler includes it (tests/attention/OracleTest.cpp), where a block has one thread, so that its arithmetic is tested
// without a device. It includes no header of CUDA: NVRTC then needs no folder of them.

#include "OracleCall.h"

namespace sectile::reference::oracle {

#ifdef __CUDACC__
#define ORACLE __device__ static __noinline__ // quick to compile
constexpr int threads = 128;
#else
#define ORACLE static
constexpr int threads = 1;
#endif
constexpr int widestHead = 576, columnsPerThread = (widestHead + threads - 1) / threads;

/// A number of the arithmetic: fp64 for the exact result, f32 for the naive one.
template <bool exact> struct Arithmetic {
  typedef double Real;
};
template <> struct Arithmetic<false> {
  typedef float Real;
};

//===-- numbers -------------------------------------------------------------------------------------------------===//

ORACLE float fromBits(Word bits) {
  union {
    Word bits;
    float value;
  } number;
  number.bits = bits;
  return number.value;
}
ORACLE Word toBits(float value) {
  union {
    float value;
    Word bits;
  } number;
  number.value = value;
  return number.bits;
}

ORACLE float infinity() { return fromBits(0x7f800000u); }
ORACLE bool isNan(double x) { return x != x; }

/// A float of few bits: sign, exponent, mantissa.
ORACLE float decode(Word bits, int exponentBits, int mantissaBits) {
  const Word mantissa = bits & ((1u << mantissaBits) - 1), exponent = bits >> mantissaBits & ((1u << exponentBits) - 1);
  const float sign = bits >> (exponentBits + mantissaBits) & 1 ? -1.0f : 1.0f;
  const int bias = (1 << (exponentBits - 1)) - 1;
  float magnitude = mantissa;
  int power = (exponent ? static_cast<int>(exponent) : 1) - bias - mantissaBits;
  if (exponent)
    magnitude += 1u << mantissaBits;
  for (; power > 0; --power)
    magnitude *= 2;
  for (; power < 0; ++power)
    magnitude /= 2;
  return sign * magnitude;
}

ORACLE double load(const OracleArray &array, Int a, Int b = 0, Int c = 0, Int d = 0) {
  const Int at = a * array.strides[0] + b * array.strides[1] + c * array.strides[2] + d * array.strides[3];
  if (array.type == F32)
    return static_cast<const float *>(array.data)[at];
  if (array.type == I32)
    return static_cast<const int *>(array.data)[at];
  if (array.type == BF16)
    return fromBits(static_cast<Word>(static_cast<const unsigned short *>(array.data)[at]) << 16);
  if (array.type == F16) {
    const Word bits = static_cast<const unsigned short *>(array.data)[at];
    if ((bits & 0x7c00) == 0x7c00)
      return fromBits((bits & 0x8000) << 16 | 0x7f800000u | (bits & 0x3ff) << 13);
    return decode(bits, 5, 10);
  }
  const Word bits = static_cast<const unsigned char *>(array.data)[at];
  if (array.type == F8E4M3)
    return (bits & 0x7f) == 0x7f ? fromBits(0x7fc00000u) : decode(bits, 4, 3);
  if ((bits & 0x7c) == 0x7c)
    return fromBits((bits & 0x80) << 24 | 0x7f800000u | (bits & 3) << 21);
  return decode(bits, 5, 2);
}

/// To nearest even, of 24 bits of mantissa; f16 and bf16 alone.
ORACLE float roundTo(int type, float value) {
  if (type < 0 || type == F32 || isNan(value))
    return value;
  const Word bits = toBits(value), magnitude = bits & 0x7fffffffu, sign = bits & 0x80000000u;
  if (magnitude >= 0x7f800000u)
    return value;
  if (type == BF16)
    return fromBits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u);
  if (magnitude >= 0x477ff000u) // 65520: half way past the largest
    return fromBits(sign | 0x7f800000u);
  if (magnitude < 0x38800000u) { // 2^-14: below, the last place is 2^-24, that of 0.5
    const float sum = fromBits(magnitude) + 0.5f;
    return fromBits(sign | toBits(sum - 0.5f));
  }
  return fromBits(sign | ((magnitude + 0xfff + (magnitude >> 13 & 1)) & 0xffffe000u));
}

ORACLE double roundTo(int, double value) { return value; }

//===-- dropout -------------------------------------------------------------------------------------------------===//

ORACLE void philox(Word counter[4], Word key0, Word key1, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    const unsigned long long product0 = 0xD2511F53ull * counter[0], product1 = 0xCD9E8D57ull * counter[2];
    const Word next[4] = {static_cast<Word>(product1 >> 32) ^ counter[1] ^ key0, static_cast<Word>(product1),
                          static_cast<Word>(product0 >> 32) ^ counter[3] ^ key1, static_cast<Word>(product0)};
    for (int i = 0; i < 4; ++i)
      counter[i] = next[i];
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
}

ORACLE bool keeps(const OracleCall &c, Int batch, Int head, Int query, Int key) {
  if (c.dropout == 0)
    return true;
  Word stream[4] = {c.offset[0], c.offset[1], static_cast<Word>(batch), static_cast<Word>(head)};
  philox(stream, c.seed[0], c.seed[1], 10);
  const bool isFar = query / 8 % 2 == 1; // four weights share a counter: two keys, and two queries 8 apart
  Word word[4] = {static_cast<Word>(key / 2), static_cast<Word>(isFar ? query - 8 : query), stream[2], stream[3]};
  philox(word, stream[0], stream[1], 7);
  const double threshold = floor((1 - static_cast<double>(c.dropout)) * 4294967296.0 + 0.5);
  return word[key % 2 + (isFar ? 2 : 0)] < (threshold > 4294967295.0 ? 4294967295.0 : threshold);
}

//===-- scores --------------------------------------------------------------------------------------------------===//

ORACLE bool visible(const OracleCall &c, Int batch, Int query, Int key) {
  const Int diagonal = query + (c.topLeft ? 0 : c.seqlenK - c.seqlenQ);
  return (c.left < 0 || key >= diagonal - c.left) && (c.right < 0 || key <= diagonal + c.right) &&
         (!c.keyLengths.data || key < load(c.keyLengths, batch));
}

/// The product of a tensor's scales for one head of keys; 1 without.
ORACLE double scaleOf(const OracleArray &scale, Int batch, Int headKv) {
  return scale.data ? load(scale, batch, headKv) : 1.0;
}

template <class Real> ORACLE Real score(const OracleCall &c, Int batch, Int head, Int query, Int key) {
  const Int headKv = head / (c.heads / c.headsKv);
  const Real scaleQ = scaleOf(c.queryScale, batch, headKv), scaleK = scaleOf(c.keyScale, batch, headKv);
  Real sum = 0;
  for (Int d = 0; d < c.headDim; ++d)
    sum += roundTo(c.rounding, Real(load(c.q, batch, query, head, d)) * scaleQ) *
           roundTo(c.rounding, Real(load(c.k, batch, key, headKv, d)) * scaleK);
  Real s = roundTo(c.rounding, roundTo(c.rounding, sum) * Real(c.scale));
  if (c.softcap > 0)
    s = roundTo(c.rounding, Real(c.softcap) * Real(tanh(s / Real(c.softcap))));
  if (c.bias.data)
    s = roundTo(c.rounding, s + Real(load(c.bias, batch, head, query, key)));
  if (c.alibiSlopes.data) {
    const Int distance = query + c.seqlenK - c.seqlenQ - key;
    s = roundTo(c.rounding, s - Real(load(c.alibiSlopes, batch, head)) * Real(distance < 0 ? -distance : distance));
  }
  return s;
}

//===-- one row of scores, by a block of threads ----------------------------------------------------------------===//

#ifdef __CUDACC__
ORACLE int thread() { return threadIdx.x; }
ORACLE void synchronize() { __syncthreads(); }
#define SHARED __shared__
#else
ORACLE int thread() { return 0; }
ORACLE void synchronize() {}
#define SHARED static thread_local
#endif

/// Of one number a thread, in the same order every time. `maximum`: NaN when one of them is.
template <bool maximum, class Real> ORACLE Real reduce(Real mine) {
  SHARED Real all[threads];
  all[thread()] = mine;
  synchronize();
  Real result = all[0];
  for (int i = 1; i < threads; ++i)
    result = maximum ? (isNan(all[i]) || all[i] > result ? all[i] : result) : result + all[i];
  synchronize();
  return result;
}

/// `row` counts over [batch, head, query].
template <bool exact> ORACLE void computeRow(const OracleCall &c, Int row) {
  typedef typename Arithmetic<exact>::Real Real;
  const Int query = row % c.seqlenQ, head = row / c.seqlenQ % c.heads, batch = row / c.seqlenQ / c.heads;
  const Real sink = c.sink.data ? Real(load(c.sink, head)) : -infinity();

  // 1. The largest score. NaN wins.
  Real highest = sink;
  for (Int j = thread(); j < c.seqlenK; j += threads)
    if (visible(c, batch, query, j)) {
      const Real s = score<Real>(c, batch, head, query, j);
      highest = isNan(s) || s > highest ? s : highest;
    }
  highest = reduce<true>(highest);
  const bool empty = highest == -infinity();

  // 2. The sum of exp(score - highest).
  Real sum = 0;
  for (Int j = thread(); j < c.seqlenK && !empty; j += threads)
    if (visible(c, batch, query, j))
      sum += exp(score<Real>(c, batch, head, query, j) - highest);
  sum = reduce<false>(sum);
  if (c.sink.data && !empty)
    sum += exp(sink - highest);
  if (thread() == 0)
    c.lse[row] = empty ? -infinity() : highest + log(sum);

  // 3. The weighted values, `threads` keys at a time.
  SHARED Real weights[threads];
  SHARED bool counts[threads]; // a weight of 0 does: 0 * NaN is NaN
  Real columns[columnsPerThread];
  for (int i = 0; i < columnsPerThread; ++i)
    columns[i] = 0;
  const Int headKv = head / (c.heads / c.headsKv);
  const Real scaleV = scaleOf(c.valueScale, batch, headKv);
  for (Int first = 0; first < c.seqlenK && !empty; first += threads) {
    const Int mine = first + thread();
    Real weight = 0;
    counts[thread()] = false;
    if (mine < c.seqlenK && visible(c, batch, query, mine)) {
      const Real s = score<Real>(c, batch, head, query, mine);
      if (s != -infinity() && keeps(c, batch, head, query, mine)) {
        weight = roundTo(c.rounding, Real(exp(s - highest)) / sum);
        if (c.dropout > 0)
          weight = roundTo(c.rounding, weight / (1 - Real(c.dropout)));
        counts[thread()] = true;
      }
    }
    weights[thread()] = weight;
    synchronize();
    for (int i = 0; i < columnsPerThread; ++i)
      if (const Int d = thread() + static_cast<Int>(i) * threads; d < c.headDimV)
        for (int j = 0; j < threads && first + j < c.seqlenK; ++j)
          if (counts[j])
            columns[i] += weights[j] * roundTo(c.rounding, Real(load(c.v, batch, first + j, headKv, d)) * scaleV);
    synchronize();
  }
  for (int i = 0; i < columnsPerThread; ++i)
    if (const Int d = thread() + static_cast<Int>(i) * threads; d < c.headDimV)
      c.out[((batch * c.seqlenQ + query) * c.heads + head) * c.headDimV + d] = roundTo(c.rounding, columns[i]);
}

#ifdef __CUDACC__
/// One block a row.
extern "C" __global__ void __launch_bounds__(threads) oracle_attention(const __grid_constant__ OracleCall c) {
  if (c.rounding < 0)
    computeRow<true>(c, blockIdx.x);
  else
    computeRow<false>(c, blockIdx.x);
}
#endif

} // namespace sectile::reference::oracle
