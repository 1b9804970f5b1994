// wgmma against a naive product: every form, every way that operands may lie in shared memory.
#include "tests/emulate/KernelText.h"
#include "tests/emulate/MatrixElements.h"

#include "compiler/ir/Swizzle.h"

#include <catch2/catch.hpp>

#include <cstring>

using namespace sectile;
using namespace sectile::warps;

namespace {

constexpr int threads = 128, m = 64, steps = 2; ///< products one after another, k of each

struct Form {
  std::string type;
  Element element;
  int n;
  bool aInRegisters, transposeA, transposeB;
  int swizzle; ///< bytes; 0: none
  int k() const { return 256 / bitsOf(element); }
  int bytes() const { return bitsOf(element) / 8; }
};

/// Small numbers that every format has.
float numberAt(int seed, int i, int j) { return static_cast<float>((i * 7 + j * 5 + seed * 3 + i * j) % 9 - 4) / 4; }

uint32_t encodeElement(Element element, float x) {
  switch (element) {
  case Element::f16:
    return encode<f16>(x);
  case Element::bf16:
    return encode<bf16>(x);
  case Element::e4m3:
    return encode<f8e4m3>(x);
  case Element::e5m2:
    return encode<f8e5m2>(x);
  case Element::tf32:
    break;
  }
  return std::bit_cast<uint32_t>(x);
}

/// How a matrix lies in shared memory: panels of rows with a swizzle, or cores of 8 rows of 16 bytes. Rows run along
/// k, or, transposed, along the other direction.
struct Place {
  int start, rows, columns; ///< columns along rows
  const Form &form;
  bool transposed;

  int rowBytes() const { return form.swizzle ? form.swizzle : 16; }
  int panelBytes() const { return rows * rowBytes(); }
  int bytes() const { return (columns * form.bytes() + rowBytes() - 1) / rowBytes() * panelBytes(); }
  int offset(int row, int column) const {
    const int byte = column * form.bytes(), panel = byte / rowBytes();
    const ir::Swizzle swizzle = form.swizzle ? ir::Swizzle::forRows(form.swizzle) : ir::Swizzle::plain(16);
    return start + panel * panelBytes() + static_cast<int>(swizzle.offset(row, byte % rowBytes()));
  }
  /// Of the part that product `step` reads: further columns, or further rows.
  int64_t descriptor(int step) const {
    const int along = step * form.k() * form.bytes();
    const int from = transposed ? start + step * form.k() * rowBytes()
                                : start + along / rowBytes() * panelBytes() + along % rowBytes();
    int leading = panelBytes(), stride = 8 * rowBytes();
    if (transposed && !form.swizzle)
      std::swap(leading, stride);
    const uint64_t mode = form.swizzle == 128 ? 1 : form.swizzle == 64 ? 2 : form.swizzle == 32 ? 3 : 0;
    return static_cast<int64_t>(uint64_t(from >> 4) | uint64_t(leading >> 4) << 16 | uint64_t(stride >> 4) << 32 |
                                mode << 62);
  }
};

struct Numbers {
  std::vector<uint32_t> words;
  void set(int offset, int bytes, uint32_t bits) {
    words.resize(std::max<size_t>(words.size(), (offset + bytes + 3) / 4));
    std::memcpy(reinterpret_cast<char *>(words.data()) + offset, &bits, bytes);
  }
};

/// What may be done wrong.
enum class Mistake { none, noFence, noWait, writesEarly, waitsTooLittle };

std::string assembly(const Form &form, int step) {
  const int results = form.n / 2, others = form.aInRegisters ? 5 : 2;
  std::string list, constraints, text;
  for (int i = 0; i < results; ++i) {
    list += (i ? ", $" : "$") + std::to_string(i);
    constraints += "=f,";
  }
  const auto argument = [&](int i) { return std::string("$") + std::to_string(results + i); };
  text = "{ .reg .pred p; setp.ne.b32 p, " + std::to_string(step) + ", 0; wgmma.mma_async.sync.aligned.m64n" +
         std::to_string(form.n) + "k" + std::to_string(form.k()) + ".f32." + form.type + "." + form.type + " {" + list +
         "}, ";
  if (form.aInRegisters)
    text += "{" + argument(0) + ", " + argument(1) + ", " + argument(2) + ", " + argument(3) + "}, " + argument(4);
  else
    text += argument(0) + ", " + argument(1);
  text += ", p, 1, 1";
  if (form.bytes() == 2)
    text += (form.aInRegisters ? "" : form.transposeA ? ", 1" : ", 0") + std::string(form.transposeB ? ", 1" : ", 0");
  for (int i = 0; i < others; ++i)
    constraints += i + 1 == others || !form.aInRegisters ? "l," : "r,";
  for (int i = 0; i < results; ++i)
    constraints += std::to_string(i) + (i + 1 < results ? "," : "");
  return "\"" + text + "; }\", \"" + constraints + "\"";
}

std::string repeat(const std::string &what, int count) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += (i ? ", " : "") + what;
  return result;
}

/// D, row by row.
std::vector<float> product(const Form &form, Mistake mistake = Mistake::none) {
  const int results = form.n / 2, depth = steps * form.k();
  const Place a{0, form.transposeA ? depth : m, form.transposeA ? m : depth, form, form.transposeA},
      b{a.bytes(), form.transposeB ? depth : form.n, form.transposeB ? form.n : depth, form, form.transposeB};
  // 1. Memory: the image of shared memory, then A's registers.
  Numbers input;
  for (int k = 0; k < depth; ++k) {
    for (int i = 0; i < m; ++i)
      input.set(form.transposeA ? a.offset(k, i) : a.offset(i, k), form.bytes(),
                encodeElement(form.element, numberAt(1, i, k)));
    for (int j = 0; j < form.n; ++j)
      input.set(form.transposeB ? b.offset(k, j) : b.offset(j, k), form.bytes(),
                encodeElement(form.element, numberAt(2, j, k)));
  }
  const int sharedWords = (a.bytes() + b.bytes()) / 4, pack = 4 / form.bytes();
  for (int step = 0; step < steps; ++step)
    for (int t = 0; t < threads; ++t)
      for (int i = 0; i < 4 * pack; ++i) {
        const int row = t / 32 * 16 + t % 32 / 4 + (i / pack % 2 ? 8 : 0),
                  column = step * form.k() + t % 4 * pack + i % pack + (i / pack / 2 ? 4 * pack : 0);
        input.set(sharedWords * 4 + (step * threads + t) * 16 + i * form.bytes(), form.bytes(),
                  encodeElement(form.element, numberAt(1, row, column)));
      }

  // 2. The kernel.
  KernelText kernel(threads, 2);
  kernel.fillShared(1, sharedWords);
  if (mistake != Mistake::noFence)
    kernel.call("wgmma.fence.sync.aligned");
  std::vector<std::string> accumulator(results, "%f0");
  const std::string type = "!llvm.struct<(" + repeat("f32", results) + ")>";
  for (int step = 0; step < steps; ++step) {
    std::string operands, types;
    if (form.aInRegisters) {
      for (int i = 0; i < 4; ++i) {
        const std::string index = kernel.binary("add", kernel.binary("mul", "%t", kernel.i32(4)),
                                                kernel.i32(sharedWords + step * threads * 4 + i));
        operands += kernel.value("llvm.load " + kernel.global(1, index) + " : !llvm.ptr<1> -> i32") + ", ";
        types += "i32, ";
      }
    } else {
      operands = kernel.i64(a.descriptor(step)) + ", ";
      types = "i64, ";
    }
    operands += kernel.i64(b.descriptor(step));
    types += "i64, " + repeat("f32", results);
    for (const std::string &value : accumulator)
      operands += ", " + value;
    const std::string all = kernel.value("llvm.inline_asm has_side_effects asm_dialect = att " + assembly(form, step) +
                                         " " + operands + " : (" + types + ") -> " + type);
    for (int i = 0; i < results; ++i)
      accumulator[i] = kernel.value("llvm.extractvalue " + all + "[" + std::to_string(i) + "] : " + type);
  }
  kernel.call("wgmma.commit_group.sync.aligned");
  if (mistake == Mistake::writesEarly)
    kernel << "llvm.store %f0, " + kernel.shared(a.bytes()) + " : f32, !llvm.ptr<3>";
  if (mistake != Mistake::noWait)
    kernel.call("wgmma.wait_group.sync.aligned", kernel.i64(mistake == Mistake::waitsTooLittle), "i64");
  for (int i = 0; i < results; ++i)
    kernel << "llvm.store " + accumulator[i] + ", " +
                  kernel.global(0,
                                kernel.binary("add", kernel.binary("mul", "%t", kernel.i32(results)), kernel.i32(i))) +
                  " : f32, !llvm.ptr<1>";

  // 3. Its result.
  std::vector<float> out(static_cast<size_t>(threads) * results), d(out.size());
  const Argument arguments[] = {ArrayView(out.data(), Type::f32, {static_cast<int64_t>(out.size())}),
                                ArrayView(input.words.data(), Type::i32, {static_cast<int64_t>(input.words.size())})};
  BlockProgram(kernel.text()).launch(arguments, {});
  for (int t = 0; t < threads; ++t)
    for (int i = 0; i < results; ++i)
      d[(t / 32 * 16 + t % 32 / 4 + (i & 2 ? 8 : 0)) * form.n + i / 4 * 8 + t % 4 * 2 + (i & 1)] = out[t * results + i];
  return d;
}

void check(const Form &form) {
  INFO(form.type << " n" << form.n << (form.aInRegisters ? " RS" : " SS") << " transposed " << form.transposeA
                 << form.transposeB << " swizzle " << form.swizzle);
  const std::vector<float> d = product(form);
  int wrong = 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < form.n; ++j) {
      float sum = 0; // exact: small multiples of 1/16
      for (int k = 0; k < steps * form.k(); ++k)
        sum += numberAt(1, i, k) * numberAt(2, j, k);
      wrong += d[i * form.n + j] != sum;
    }
  CHECK(wrong == 0);
}

const Form simple{"bf16", Element::bf16, 16, false, false, false, 128};

} // namespace

TEST_CASE("wgmma: each way that operands of 16 bits may lie") {
  for (const int swizzle : {0, 32, 64, 128})
    for (const bool transposeB : {false, true}) {
      for (const bool transposeA : {false, true})
        check({"bf16", Element::bf16, 64, false, transposeA, transposeB, swizzle});
      check({"f16", Element::f16, 128, true, false, transposeB, swizzle});
    }
}

TEST_CASE("wgmma: each type, some widths") {
  for (const bool aInRegisters : {false, true}) {
    check({"e4m3", Element::e4m3, 24, aInRegisters, false, false, 64});
    check({"e5m2", Element::e5m2, 8, aInRegisters, false, false, 128});
    check({"tf32", Element::tf32, 40, aInRegisters, false, false, 64});
    check({"f16", Element::f16, 256, aInRegisters, false, true, 128});
  }
}

TEST_CASE("wgmma: what is done too early, or not at all") {
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(product(simple, Mistake::noFence), Contains("there is no wgmma.fence before the first"));
  CHECK_THROWS_WITH(product(simple, Mistake::noWait), Contains("is used before wgmma.wait_group says"));
  CHECK_THROWS_WITH(product(simple, Mistake::waitsTooLittle), Contains("is used before wgmma.wait_group says"));
  CHECK_THROWS_WITH(product(simple, Mistake::writesEarly),
                    Contains("shared address 8192, which wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 reads, "
                             "was written before"));
}

TEST_CASE("wgmma: what there is not") {
  using Catch::Matchers::Contains;
  Form form = simple;
  form.n = 20;
  CHECK_THROWS_WITH(product(form), Contains("n is 20; legal: multiples of 8 from 8 to 256"));
  form = simple;
  form.type = "e4m3";
  CHECK_THROWS_WITH(product(form), Contains("k is 16; legal: 256 bits"));
}
