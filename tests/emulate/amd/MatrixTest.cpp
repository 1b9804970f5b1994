// Matrix instructions against AMD's formulas of where an element is, written here from the element's side.
#include "tests/emulate/amd/CodeObjects.h"

#include "runtime/emulate/NumberFormats.h"

#include <catch2/catch.hpp>

#include <random>

using namespace sectile;
using namespace sectile::test;

namespace {

enum class Layout { mfma, wmma11, wmma12 };

struct Shape {
  std::string instruction;
  unsigned m, n, k, blocks;
  std::string a, b, c; ///< types of elements
  std::string modifiers = "";
};

unsigned bitsOf(const std::string &type) {
  return type == "f64"                     ? 64
         : type == "f32" || type == "i32"  ? 32
         : type == "f16" || type == "bf16" ? 16
         : type == "iu4"                   ? 4
                                           : 8;
}

/// Small integers, which every type holds exactly and whose sums have no rounding in f32.
uint64_t encode(int value, const std::string &type, bool fnuz) {
  if (type == "f64")
    return std::bit_cast<uint64_t>(double(value));
  if (type == "f32")
    return emulate::asBits(float(value));
  if (type == "f16")
    return emulate::floatToHalf(float(value));
  if (type == "bf16")
    return emulate::floatToBfloat(float(value));
  if (type == "fp8" || type == "bf8") { // by hand: sign, exponent, mantissa of 1, 2, 3
    const unsigned mantissaBits = type == "fp8" ? 3 : 2, bias = (type == "fp8" ? 7 : 15) + fnuz;
    if (!value)
      return 0;
    const unsigned magnitude = unsigned(std::abs(value)), exponent = magnitude >= 2;
    const unsigned mantissa = magnitude == 3 ? 1u << (mantissaBits - 1) : 0;
    return (value < 0 ? 0x80 : 0) | (exponent + bias) << mantissaBits | mantissa;
  }
  return uint64_t(int64_t(value)) & ((uint64_t(1) << bitsOf(type)) - 1);
}
double decode(uint64_t bits, const std::string &type) {
  return type == "f64"    ? std::bit_cast<double>(bits)
         : type == "f32"  ? double(emulate::asFloat(uint32_t(bits)))
         : type == "f16"  ? double(emulate::halfToFloat(uint32_t(bits)))
         : type == "bf16" ? double(emulate::bfloatToFloat(uint32_t(bits)))
                          : double(int32_t(bits));
}

struct Place {
  unsigned lane, element;
};
/// Where A[i][k] of a block is; B[k][j] is where A[j][k] would be.
Place operandPlace(Layout layout, const Shape &s, unsigned block, unsigned i, unsigned k) {
  if (layout == Layout::wmma11)
    return {i, k};
  if (layout == Layout::wmma12)
    return {i + 16 * (k / (s.k / 2)), k % (s.k / 2)};
  const unsigned perLane = s.m * s.k * s.blocks / 64;
  return {i + s.m * (block + s.blocks * (k / perLane)), k % perLane};
}
Place resultPlace(Layout layout, const Shape &s, unsigned block, unsigned i, unsigned j) {
  if (layout == Layout::wmma11)
    return {j + 16 * (i % 2), bitsOf(s.c) == 16 ? 2 * (i / 2) : i / 2}; // 16-bit ones in the lower half
  if (layout == Layout::wmma12)
    return {j + 16 * (i / 8), i % 8};
  if (s.c == "f64")
    return s.m == 4 ? Place{j + 4 * block + 16 * i, 0} : Place{j + 16 * (i % 4), i / 4};
  if (s.m == 32)
    return {j + 32 * (i / 4 % 2), 16 * block + 4 * (i / 8) + i % 4};
  return s.m == 16 ? Place{j + 16 * (i / 4), 4 * block + i % 4} : Place{j + 4 * block, i};
}

/// Registers of all lanes, as a kernel loads and stores them: dword r of lane l at [l * dwords + r].
class Registers {
public:
  Registers(unsigned lanes, unsigned dwords) : dwords(dwords), words(lanes * dwords, 0) {}
  void set(Place place, unsigned bits, uint64_t value) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      const unsigned at = place.element * bits + bit;
      words[place.lane * dwords + at / 32] |= uint32_t(value >> bit & 1) << (at % 32);
    }
  }
  uint64_t get(Place place, unsigned bits) const {
    uint64_t value = 0;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const unsigned at = place.element * bits + bit;
      value |= uint64_t(words[place.lane * dwords + at / 32] >> (at % 32) & 1) << bit;
    }
    return value;
  }
  unsigned dwords;
  std::vector<uint32_t> words;
};

void check(const std::string &processor, Layout layout, const Shape &s, bool accumulators = false) {
  const unsigned lanes = layout == Layout::mfma ? 64 : 32;
  const bool gfx11 = layout == Layout::wmma11;
  const unsigned operandDwords = s.m * s.k * s.blocks * bitsOf(s.a) / 32 / (gfx11 ? 16 : lanes);
  const unsigned resultDwords = s.m * s.n * s.blocks * (gfx11 ? 32 : bitsOf(s.c)) / 32 / lanes;
  Registers a(lanes, operandDwords), b(lanes, operandDwords), c(lanes, resultDwords), d(lanes, resultDwords);

  // 1. The numbers, and where they are.
  std::mt19937 random(1);
  const bool fnuz = processor == "gfx942", isUnsigned = s.a[0] == 'i' && s.a[1] == 'u';
  auto number = [&](bool onlyPositive) { return onlyPositive ? int(random() % 4) : int(random() % 7) - 3; };
  std::vector<double> expected(s.blocks * s.m * s.n);
  for (unsigned block = 0; block < s.blocks; ++block) {
    std::vector<int> left(s.m * s.k), right(s.k * s.n);
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned k = 0; k < s.k; ++k) {
        left[i * s.k + k] = number(isUnsigned), right[k * s.n + i] = number(isUnsigned);
        Place place = operandPlace(layout, s, block, i, k);
        for (unsigned copy = 0; copy < (gfx11 ? 2u : 1u); ++copy, place.lane += 16) {
          a.set(place, bitsOf(s.a), encode(left[i * s.k + k], s.a, fnuz));
          b.set(place, bitsOf(s.b), encode(right[k * s.n + i], s.b, fnuz));
        }
      }
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.n; ++j) {
        const int start = number(false);
        c.set(resultPlace(layout, s, block, i, j), bitsOf(s.c), encode(start, s.c, false));
        double &sum = expected[(block * s.m + i) * s.n + j];
        sum = start;
        for (unsigned k = 0; k < s.k; ++k)
          sum += left[i * s.k + k] * right[k * s.n + j];
      }
  }

  // 2. A kernel that loads them, multiplies and stores.
  const std::string load = lanes == 64 ? "global_load_dword" : "global_load_b32", acc = accumulators ? "a" : "v";
  const std::string store = lanes == 64 ? "global_store_dword" : "global_store_b32";
  std::string text = lanes == 64 ? "s_load_dwordx8 s[4:11], s[0:1], 0x0\n" : "s_load_b256 s[4:11], s[0:1], 0x0\n";
  const std::string wait =
      processor == "gfx1201" ? "s_wait_loadcnt 0x0\ns_wait_kmcnt 0x0\n" : "s_waitcnt vmcnt(0) lgkmcnt(0)\n";
  const unsigned firstA = 4, firstB = 20, firstC = accumulators ? 0 : 36;
  auto range = [](const std::string &file, unsigned first, unsigned n) {
    return file + "[" + std::to_string(first) + ":" + std::to_string(first + n - 1) + "]";
  };
  auto one = [](const std::string &file, unsigned first, unsigned n) {
    return n == 1 ? file + std::to_string(first)
                  : file + "[" + std::to_string(first) + ":" + std::to_string(first + n - 1) + "]";
  };
  (void)range;
  text += wait + "v_and_b32_e32 v0, 0x3ff, v0\n";
  auto move = [&](const std::string &op, const std::string &file, unsigned first, unsigned dwords, unsigned pointer) {
    text += "v_mul_u32_u24_e32 v1, " + std::to_string(4 * dwords) + ", v0\n";
    for (unsigned i = 0; i < dwords; ++i) {
      const std::string reg = file + std::to_string(first + i),
                        base = "s[" + std::to_string(pointer) + ":" + std::to_string(pointer + 1) + "]";
      text += op + (op == load ? " " + reg + ", v1, " : " v1, " + reg + ", ") + base +
              " offset:" + std::to_string(4 * i) + "\n";
    }
  };
  move(load, acc == "a" ? "a" : "v", firstA, operandDwords, 4);
  move(load, "v", firstB, operandDwords, 6);
  move(load, acc, firstC, resultDwords, 8);
  if (accumulators) // A in accumulators, too; they do not overlap with C
    text.clear();
  if (text.empty()) {
    text = "s_load_dwordx8 s[4:11], s[0:1], 0x0\n" + wait + "v_and_b32_e32 v0, 0x3ff, v0\n";
    move(load, "a", 40, operandDwords, 4);
    move(load, "v", firstB, operandDwords, 6);
    move(load, "a", 0, resultDwords, 8);
  }
  text += wait + s.instruction + " " + one(acc, firstC, resultDwords) + ", " +
          one(acc, accumulators ? 40 : firstA, operandDwords) + ", " + one("v", firstB, operandDwords) + ", " +
          one(acc, firstC, resultDwords) + s.modifiers + "\n";
  for (unsigned i = 0; i < 4 && lanes == 64; ++i)
    text += "s_nop 7\n";
  move(store, acc, firstC, resultDwords, 10);

  // 3. Run and compare.
  INFO(processor << ": " << s.instruction << (accumulators ? " in accumulators" : ""));
  AssemblyKernel kernel{text};
  kernel.vgprs = 128;
  auto code = assemble(processor, kernel);
  const std::vector<int64_t> arguments{addressOf(a.words), addressOf(b.words), addressOf(c.words), addressOf(d.words)};
  const std::vector<emulate::MemoryRange> memory{rangeOf(a.words, false, "a"), rangeOf(b.words, false, "b"),
                                                 rangeOf(c.words, false, "c"), rangeOf(d.words, true, "d")};
  emulate::Launch launch;
  launch.threads = lanes, launch.kernarg = arguments, launch.memory = memory;
  auto counters = emulate::run(*code, "k", launch);
  if (!counters) {
    FAIL_CHECK(toString(counters.takeError()));
    return;
  }
  CHECK(counters->mfma == 1);
  unsigned wrong = 0;
  for (unsigned block = 0; block < s.blocks; ++block)
    for (unsigned i = 0; i < s.m; ++i)
      for (unsigned j = 0; j < s.n; ++j) {
        const double got = decode(d.get(resultPlace(layout, s, block, i, j), bitsOf(s.c)), s.c);
        const double want = expected[(block * s.m + i) * s.n + j];
        const double tolerance = s.c == "bf16" ? 0.5 : 0; // sums of up to 144 have 8 bits
        wrong += !(std::abs(got - want) <= tolerance);
      }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("MFMA of gfx90a") {
  for (const Shape &s : std::vector<Shape>{{"v_mfma_f32_32x32x8f16", 32, 32, 8, 1, "f16", "f16", "f32"},
                                           {"v_mfma_f32_16x16x16f16", 16, 16, 16, 1, "f16", "f16", "f32"},
                                           {"v_mfma_f32_32x32x4f16", 32, 32, 4, 2, "f16", "f16", "f32"},
                                           {"v_mfma_f32_16x16x4f16", 16, 16, 4, 4, "f16", "f16", "f32"},
                                           {"v_mfma_f32_4x4x4f16", 4, 4, 4, 16, "f16", "f16", "f32"},
                                           {"v_mfma_f32_32x32x8bf16_1k", 32, 32, 8, 1, "bf16", "bf16", "f32"},
                                           {"v_mfma_f32_16x16x16bf16_1k", 16, 16, 16, 1, "bf16", "bf16", "f32"},
                                           {"v_mfma_f32_32x32x2f32", 32, 32, 2, 1, "f32", "f32", "f32"},
                                           {"v_mfma_f32_16x16x4f32", 16, 16, 4, 1, "f32", "f32", "f32"},
                                           {"v_mfma_f32_32x32x1f32", 32, 32, 1, 2, "f32", "f32", "f32"},
                                           {"v_mfma_f32_4x4x1f32", 4, 4, 1, 16, "f32", "f32", "f32"},
                                           {"v_mfma_f64_16x16x4f64", 16, 16, 4, 1, "f64", "f64", "f64"},
                                           {"v_mfma_f64_4x4x4f64", 4, 4, 4, 4, "f64", "f64", "f64"},
                                           {"v_mfma_i32_32x32x8i8", 32, 32, 8, 1, "i8", "i8", "i32"},
                                           {"v_mfma_i32_16x16x16i8", 16, 16, 16, 1, "i8", "i8", "i32"}}) {
    check("gfx90a", Layout::mfma, s);
    check("gfx90a", Layout::mfma, s, true);
  }
}

TEST_CASE("MFMA of gfx942") {
  for (const Shape &s : std::vector<Shape>{{"v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, "f16", "f16", "f32"},
                                           {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, "bf16", "bf16", "f32"},
                                           {"v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, "f16", "f16", "f32"},
                                           {"v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, "i8", "i8", "i32"},
                                           {"v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, "i8", "i8", "i32"},
                                           {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, "fp8", "fp8", "f32"},
                                           {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, "fp8", "bf8", "f32"},
                                           {"v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, 1, "bf8", "bf8", "f32"},
                                           {"v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, "f64", "f64", "f64"}}) {
    check("gfx942", Layout::mfma, s);
    check("gfx942", Layout::mfma, s, true);
  }
}

TEST_CASE("MFMA of gfx950") {
  for (const Shape &s :
       std::vector<Shape>{{"v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, "f16", "f16", "f32"},
                          {"v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, "bf16", "bf16", "f32"},
                          {"v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, "bf16", "bf16", "f32"},
                          {"v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, "f16", "f16", "f32"},
                          {"v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, "i8", "i8", "i32"},
                          {"v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, "i8", "i8", "i32"},
                          {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, "fp8", "fp8", "f32"},
                          {"v_mfma_f32_16x16x128_f8f6f4", 16, 16, 128, 1, "fp8", "fp8", "f32"},
                          {"v_mfma_f32_32x32x64_f8f6f4", 32, 32, 64, 1, "bf8", "fp8", "f32", " cbsz:1"}})
    check("gfx950", Layout::mfma, s);
}

TEST_CASE("WMMA of gfx11") {
  for (const Shape &s : std::vector<Shape>{{"v_wmma_f32_16x16x16_f16", 16, 16, 16, 1, "f16", "f16", "f32"},
                                           {"v_wmma_f32_16x16x16_bf16", 16, 16, 16, 1, "bf16", "bf16", "f32"},
                                           {"v_wmma_f16_16x16x16_f16", 16, 16, 16, 1, "f16", "f16", "f16"},
                                           {"v_wmma_bf16_16x16x16_bf16", 16, 16, 16, 1, "bf16", "bf16", "bf16"},
                                           {"v_wmma_i32_16x16x16_iu8", 16, 16, 16, 1, "iu8", "iu8", "i32"},
                                           {"v_wmma_i32_16x16x16_iu4", 16, 16, 16, 1, "iu4", "iu4", "i32"}})
    check("gfx1100", Layout::wmma11, s);
}

TEST_CASE("WMMA of gfx12") {
  for (const Shape &s : std::vector<Shape>{{"v_wmma_f32_16x16x16_f16", 16, 16, 16, 1, "f16", "f16", "f32"},
                                           {"v_wmma_f32_16x16x16_bf16", 16, 16, 16, 1, "bf16", "bf16", "f32"},
                                           {"v_wmma_f16_16x16x16_f16", 16, 16, 16, 1, "f16", "f16", "f16"},
                                           {"v_wmma_bf16_16x16x16_bf16", 16, 16, 16, 1, "bf16", "bf16", "bf16"},
                                           {"v_wmma_f32_16x16x16_fp8_fp8", 16, 16, 16, 1, "fp8", "fp8", "f32"},
                                           {"v_wmma_f32_16x16x16_bf8_fp8", 16, 16, 16, 1, "bf8", "fp8", "f32"},
                                           {"v_wmma_i32_16x16x16_iu8", 16, 16, 16, 1, "iu8", "iu8", "i32"},
                                           {"v_wmma_i32_16x16x32_iu4", 16, 16, 32, 1, "iu4", "iu4", "i32"}})
    check("gfx1201", Layout::wmma12, s);
}

TEST_CASE("f16 MFMA: infinities, NaNs and denormals") {
  // Row 0 of A times column 0 of B in four lanes' first elements; gfx90a flushes denormals of its operands.
  for (const std::string processor : {"gfx90a", "gfx942"}) {
    auto code = assemble(processor, {R"(s_load_dwordx2 s[4:5], s[0:1], 0x0
v_lshlrev_b32_e32 v1, 3, v0
s_waitcnt lgkmcnt(0)
global_load_dwordx2 v[2:3], v1, s[4:5]
v_mov_b32_e32 v4, 0x3c00
v_mov_b32_e32 v5, 0
s_waitcnt vmcnt(0)
v_mfma_f32_16x16x16f16 v[8:11], v[2:3], v[4:5], 0
s_nop 7
s_nop 7
v_lshlrev_b32_e32 v1, 4, v0
global_store_dwordx4 v1, v[8:11], s[4:5] offset:512
)"});
    std::vector<uint32_t> data(128 + 256, 0);
    data[0] = 0x7c00, data[2] = 0x7e00, data[4] = 0x0001, data[6] = 0xbc00; // rows 0 to 3, k = 0
    const std::vector<int64_t> arguments{addressOf(data)};
    const std::vector<emulate::MemoryRange> memory{rangeOf(data, true, "data")};
    emulate::Launch launch;
    launch.kernarg = arguments, launch.memory = memory;
    auto counters = emulate::run(*code, "k", launch);
    INFO(processor << (counters ? "" : toString(counters.takeError())));
    auto result = [&](unsigned row) { return emulate::asFloat(data[128 + row]); }; // of lane 0
    CHECK(result(0) == INFINITY);
    CHECK(result(1) != result(1));
    CHECK(result(2) == (processor == "gfx90a" ? 0 : 0x1p-24f));
    CHECK(result(3) == -1);
  }
}
