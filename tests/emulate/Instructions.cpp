#include "tests/emulate/Instructions.h"

#include "tests/emulate/MatrixElements.h"

#include "sectile/Error.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace sectile;
using namespace sectile::warps;

namespace {

//===-- operands of mma -----------------------------------------------------------------------------------------===//

float asFloat(uint32_t bits) { return std::bit_cast<float>(bits); }

double element(Element type, const uint32_t *words, int i) { return decodeElement(type, elementBits(type, words, i)); }

/// D = A B + C of one shape, by the tables of fragments in the PTX manual: groups of four lanes.
void multiply(Element a, Element b, int k, const WarpState &warp) {
  const int pack = 32 / bitsOf(a), wordsA = 16 * k / warpSize / pack, wordsB = 8 * k / warpSize / pack;
  double left[16][32] = {}, right[32][8] = {};
  for (int lane = 0; lane < warpSize; ++lane) {
    const int group = lane / 4, member = lane % 4;
    for (int i = 0; i < wordsA * pack; ++i) {
      const int block = i / pack; // 0: row, 1: row + 8, 2: further columns, 3: both
      left[group + 8 * (block % 2)][member * pack + i % pack + block / 2 * 4 * pack] = element(a, warp.in[lane], i);
    }
    for (int i = 0; i < wordsB * pack; ++i)
      right[member * pack + i % pack + i / pack * 4 * pack][group] = element(b, warp.in[lane] + wordsA, i);
  }
  for (int lane = 0; lane < warpSize; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
      double sum = asFloat(warp.in[lane][wordsA + wordsB + i]);
      for (int p = 0; p < k; ++p)
        sum += left[row][p] * right[p][column];
      warp.out[lane][i] = std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
}

//===-- memory --------------------------------------------------------------------------------------------------===//

char *address(const uint32_t *words) {
  uint64_t value;
  std::memcpy(&value, words, sizeof value);
  return reinterpret_cast<char *>(static_cast<uintptr_t>(value));
}

char *aligned(const uint32_t *words, const char *what) {
  char *result = address(words);
  if (reinterpret_cast<uintptr_t>(result) % 16 != 0)
    throw InternalError(std::string(what) + " at an address that is no multiple of 16");
  return result;
}

void loadMatrices(int count, bool transposed, const WarpState &warp) {
  for (int matrix = 0; matrix < count; ++matrix) {
    uint16_t rows[8][8];
    for (int row = 0; row < 8; ++row)
      std::memcpy(rows[row], aligned(warp.in[8 * matrix + row], "ldmatrix"), 16);
    for (int lane = 0; lane < warpSize; ++lane) {
      const int i = lane / 4, j = lane % 4 * 2;
      const uint32_t low = transposed ? rows[j][i] : rows[i][j], high = transposed ? rows[j + 1][i] : rows[i][j + 1];
      warp.out[lane][matrix] = low | high << 16;
    }
  }
}

/// in: the address, a word of each matrix.
void storeMatrices(int count, bool transposed, const WarpState &warp) {
  for (int matrix = 0; matrix < count; ++matrix) {
    uint16_t rows[8][8];
    for (int lane = 0; lane < warpSize; ++lane) {
      const int i = lane / 4, j = lane % 4 * 2;
      const uint32_t word = warp.in[lane][2 + matrix];
      (transposed ? rows[j][i] : rows[i][j]) = static_cast<uint16_t>(word);
      (transposed ? rows[j + 1][i] : rows[i][j + 1]) = static_cast<uint16_t>(word >> 16);
    }
    for (int row = 0; row < 8; ++row)
      std::memcpy(aligned(warp.in[8 * matrix + row], "stmatrix"), rows[row], 16);
  }
}

void shuffle(bool indexed, const WarpState &warp) { // mask, value, lane or bits, clamp
  for (int lane = 0; lane < warpSize; ++lane)
    warp.out[lane][0] = warp.in[indexed ? warp.in[lane][2] : lane ^ warp.in[lane][2]][1];
}

void voteAny(const WarpState &warp) { // mask, predicate
  const bool any = std::any_of(warp.in, warp.in + warpSize, [](const uint32_t *in) { return (in[1] & 1) != 0; });
  for (uint32_t *out : warp.out)
    out[0] = any;
}

/// To 16 bits each, the lower half first.
template <NarrowFloat format> uint32_t roundAll(const uint32_t *in, int count) {
  uint32_t word = 0;
  for (int i = 0; i < count; ++i)
    word |= static_cast<uint32_t>(encode<format>(roundTo<format>(asFloat(in[i])))) << 16 * i;
  return word;
}

template <NarrowFloat format> uint32_t encodePair(const uint32_t *in) { // the upper half first
  return encode<format>(roundTo<format>(asFloat(in[0]))) << 8 | encode<format>(roundTo<format>(asFloat(in[1])));
}

template <NarrowFloat format> uint32_t decodePair(uint32_t pair) {
  return encode<f16>(decode<format>(pair & 0xff)) | encode<f16>(decode<format>(pair >> 8 & 0xff)) << 16;
}

} // namespace

std::optional<WarpInstruction> warps::warpInstruction(const std::string &name) {
  const auto product = [](Element a, Element b, int k) {
    return WarpInstruction([=](const WarpState &warp) { multiply(a, b, k, warp); });
  };
  using E = Element;
  const std::string mma = "llvm.nvvm.mma.", load = "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x",
                    store = "llvm.nvvm.stmatrix.sync.aligned.m8n8.x";
  if (name == mma + "m16n8k16.row.col.f32.f32")
    return product(E::f16, E::f16, 16);
  if (name == mma + "m16n8k8.row.col.f32.f32")
    return product(E::f16, E::f16, 8);
  if (name == mma + "m16n8k16.row.col.bf16")
    return product(E::bf16, E::bf16, 16);
  if (name == mma + "m16n8k8.row.col.tf32")
    return product(E::tf32, E::tf32, 8);
  if (name == mma + "m16n8k32.row.col.f32.e4m3.e4m3.f32")
    return product(E::e4m3, E::e4m3, 32);
  if (name == mma + "m16n8k32.row.col.f32.e5m2.e5m2.f32")
    return product(E::e5m2, E::e5m2, 32);
  if (name.starts_with(load)) {
    const int count = name[load.size()] - '0';
    const bool transposed = name.find(".trans") != std::string::npos;
    return WarpInstruction([=](const WarpState &warp) { loadMatrices(count, transposed, warp); });
  }
  if (name.starts_with(store)) {
    const int count = name[store.size()] - '0';
    const bool transposed = name.find(".trans") != std::string::npos;
    return WarpInstruction([=](const WarpState &warp) { storeMatrices(count, transposed, warp); });
  }
  if (name == "llvm.nvvm.shfl.sync.bfly.i32" || name == "llvm.nvvm.shfl.sync.idx.i32") {
    const bool indexed = name.find(".idx.") != std::string::npos;
    return WarpInstruction([=](const WarpState &warp) { shuffle(indexed, warp); });
  }
  if (name == "llvm.nvvm.vote.any.sync")
    return WarpInstruction(voteAny);
  return std::nullopt;
}

std::optional<ThreadInstruction> warps::threadInstruction(const std::string &name) {
  if (name == "llvm.nvvm.cp.async.cg.shared.global.16" || name == "llvm.nvvm.cp.async.cg.shared.global.16.s") {
    const bool isPart = name.ends_with(".s");
    return [=](AsyncCopies &copies, const uint32_t *in, uint32_t *) {
      copies.begin(aligned(in, "cp.async to shared memory"), aligned(in + 2, "cp.async from global memory"),
                   isPart ? in[4] : 16);
    };
  }
  if (name == "llvm.nvvm.cp.async.commit.group")
    return [](AsyncCopies &copies, const uint32_t *, uint32_t *) { copies.commit(); };
  if (name == "llvm.nvvm.cp.async.wait.group")
    return [](AsyncCopies &copies, const uint32_t *in, uint32_t *) { copies.wait(in[0]); };
  if (name == "llvm.nvvm.ex2.approx.ftz.f32")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) {
      const float result = std::exp2(asFloat(in[0]));
      out[0] = std::bit_cast<uint32_t>(std::fabs(result) < 0x1p-126f ? 0.0f : result);
    };
  if (name == "llvm.nvvm.rcp.approx.ftz.f")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) {
      const auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
      out[0] = std::bit_cast<uint32_t>(flushed(1 / flushed(asFloat(in[0]))));
    };
  if (name == "llvm.nvvm.ff.to.e4m3x2.rn")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = encodePair<f8e4m3>(in); };
  if (name == "llvm.nvvm.ff.to.e5m2x2.rn")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = encodePair<f8e5m2>(in); };
  if (name == "llvm.nvvm.e4m3x2.to.f16x2.rn")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = decodePair<f8e4m3>(in[0]); };
  if (name == "llvm.nvvm.e5m2x2.to.f16x2.rn")
    return [](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = decodePair<f8e5m2>(in[0]); };
  // What LLVM has instructions of its own for: fptrunc, of one number or a vector of two.
  for (const int count : {1, 2}) {
    if (name == "round " + std::to_string(count) + " to bf16")
      return [=](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = roundAll<bf16>(in, count); };
    if (name == "round " + std::to_string(count) + " to f16")
      return [=](AsyncCopies &, const uint32_t *in, uint32_t *out) { out[0] = roundAll<f16>(in, count); };
  }
  return std::nullopt;
}
