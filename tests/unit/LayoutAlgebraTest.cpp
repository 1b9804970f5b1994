// The algebra of linear layouts, against its definitions: every law over all inputs of random layouts.
#include "compiler/ir/LinearLayout.h"
#include "tests/unit/LayoutSamples.h"

#include <catch2/catch.hpp>

#include <set>

using namespace sectile::ir;
using sectile::ir::samples::below;

namespace {

using Values = llvm::SmallVector<std::pair<Axis, int64_t>>;

/// All values of the inputs.
std::vector<Values> allInputs(const LinearLayout &layout) {
  std::vector<Values> all = {{}};
  for (const auto &in : layout.inputs()) {
    std::vector<Values> longer;
    for (const Values &values : all)
      for (int64_t value = 0; value != int64_t{1} << in.bases.size(); ++value) {
        longer.push_back(values);
        longer.back().emplace_back(in.axis, value);
      }
    all = longer;
  }
  return all;
}

Values asInputs(const LinearLayout &layout, const Coordinates &place) {
  Values values;
  for (size_t o = 0; o != place.size(); ++o)
    values.emplace_back(layout.outputs()[o].axis, place[o]);
  return values;
}

Coordinates valuesOf(const Values &values) {
  Coordinates result;
  for (const auto &[axis, value] : values)
    result.push_back(value);
  return result;
}

int64_t rowMajor(const LinearLayout &layout, const Coordinates &place) {
  int64_t index = 0;
  for (size_t o = 0; o != place.size(); ++o)
    index = index * layout.outputs()[o].size + place[o];
  return index;
}

LinearLayout randomLayout(llvm::ArrayRef<std::pair<Axis, int>> inputBits,
                          llvm::ArrayRef<std::pair<Axis, int>> outputBits) {
  llvm::SmallVector<LinearLayout::Output, 3> outputs;
  for (const auto &[axis, bits] : outputBits)
    outputs.push_back({axis, int64_t{1} << bits});
  llvm::SmallVector<LinearLayout::Input, 4> inputs;
  for (const auto &[axis, bits] : inputBits) {
    LinearLayout::Input &in = inputs.emplace_back(LinearLayout::Input{axis, {}});
    for (int bit = 0; bit != bits; ++bit) {
      Coordinates &basis = in.bases.emplace_back();
      for (const auto &out : outputs)
        basis.push_back(below(out.size));
    }
  }
  return {inputs, outputs};
}

LinearLayout randomLayout() {
  const int bits[] = {int(below(4)), int(below(4)), int(below(3)), int(below(4)), int(below(4))};
  return randomLayout({{Axis::reg, bits[0]}, {Axis::lane, bits[1]}, {Axis::warp, bits[2]}},
                      {{dim(0), bits[3]}, {dim(1), bits[4]}});
}

template <class Accept> LinearLayout randomLayout(Accept accept) {
  for (;;)
    if (LinearLayout layout = randomLayout(); accept(layout))
      return layout;
}

} // namespace

TEST_CASE("the swizzle of the header") {
  const LinearLayout swizzle({{Axis::offset, {{0, 1}, {0, 2}, {1, 1}, {2, 2}}}}, {{dim(0), 4}, {dim(1), 4}});
  const std::string expected[] = {"00 01 02 03", "11 10 13 12", "22 23 20 21", "33 32 31 30"};
  for (int64_t offset = 0; offset != 16; ++offset) {
    const Coordinates place = swizzle.apply({{Axis::offset, offset}});
    CHECK(std::to_string(place[0]) + std::to_string(place[1]) == expected[offset / 4].substr(offset % 4 * 3, 2));
  }
  const int64_t offsets[4][4] = {{0, 1, 2, 3}, {5, 4, 7, 6}, {10, 11, 8, 9}, {15, 14, 13, 12}};
  for (int64_t row = 0; row != 4; ++row)
    for (int64_t column = 0; column != 4; ++column)
      CHECK(swizzle.inverse().apply({{dim(0), row}, {dim(1), column}})[0] == offsets[row][column]);
  CHECK(swizzle.toString() == "to (dim0: 4, dim1: 4)\noffset=1 -> (0, 1)\noffset=2 -> (0, 2)\noffset=4 -> (1, 1)\n"
                              "offset=8 -> (2, 2)\n");
}

TEST_CASE("layouts are linear and start at zero") {
  for (int round = 0; round != 50; ++round) {
    const LinearLayout layout = randomLayout();
    const auto inputs = allInputs(layout);
    REQUIRE(layout.apply({}) == Coordinates{0, 0});
    for (const Values &x : inputs) {
      const Values &y = inputs[static_cast<size_t>(below(static_cast<int64_t>(inputs.size())))];
      Values sum = x;
      for (size_t i = 0; i != sum.size(); ++i)
        sum[i].second ^= y[i].second;
      const Coordinates a = layout.apply(x), b = layout.apply(y);
      REQUIRE(layout.apply(sum) == Coordinates{a[0] ^ b[0], a[1] ^ b[1]});
    }
  }
}

TEST_CASE("rank, injective, surjective count places") {
  for (int round = 0; round != 300; ++round) {
    const LinearLayout layout = randomLayout();
    std::set<int64_t> places;
    const auto inputs = allInputs(layout);
    for (const Values &x : inputs)
      places.insert(rowMajor(layout, layout.apply(x)));
    REQUIRE(static_cast<int64_t>(places.size()) == int64_t{1} << layout.rank());
    REQUIRE(layout.isInjective() == (places.size() == inputs.size()));
    REQUIRE(layout.isSurjective() == (int64_t(places.size()) == int64_t{1} << layout.outputBits()));
    REQUIRE(static_cast<int64_t>(inputs.size()) == int64_t{1} << layout.inputBits());
  }
}

TEST_CASE("compose is one map after the other, whatever the order of axes") {
  for (int round = 0; round != 100; ++round) {
    const LinearLayout first = randomLayout();
    const LinearLayout second = randomLayout({{dim(1), 4}, {dim(0), 5}}, {{Axis::offset, 3}, {Axis::block, 2}});
    const LinearLayout both = first.compose(second);
    for (const Values &x : allInputs(first))
      REQUIRE(both.apply(x) == second.apply(asInputs(first, first.apply(x))));
    const LinearLayout third = randomLayout({{Axis::offset, 3}, {Axis::block, 2}}, {{dim(0), 6}});
    REQUIRE(both.compose(third) == first.compose(second.compose(third)));
  }
}

TEST_CASE("inverses undo") {
  for (int round = 0; round != 100; ++round) {
    const LinearLayout invertible = randomLayout([](const auto &l) { return l.isInvertible() && l.inputBits() > 0; });
    for (const Values &x : allInputs(invertible))
      REQUIRE(invertible.inverse().apply(asInputs(invertible, invertible.apply(x))) == valuesOf(x));
    REQUIRE(invertible.inverse().inverse() == invertible);

    const LinearLayout injective = randomLayout([](const auto &l) { return l.isInjective() && l.inputBits() > 0; });
    for (const Values &x : allInputs(injective))
      REQUIRE(injective.leftInverse().apply(asInputs(injective, injective.apply(x))) == valuesOf(x));

    const LinearLayout surjective = randomLayout([](const auto &l) { return l.isSurjective(); });
    const LinearLayout holder = surjective.rightInverse();
    for (const Values &place : allInputs(holder))
      REQUIRE(surjective.apply(asInputs(holder, holder.apply(place))) == valuesOf(place));
  }
}

TEST_CASE("of several holders the one without later bits") {
  // Two warps hold copies, and so do the lanes that differ in bits 1.
  const LinearLayout layout({{Axis::lane, {{1}, {0}, {2}}}, {Axis::warp, {{2}}}}, {{dim(0), 4}});
  for (int64_t i = 0; i != 4; ++i)
    CHECK(layout.rightInverse().apply({{dim(0), i}}) == Coordinates{(i & 1) | (i & 2) << 1, 0});
}

TEST_CASE("products put the right side above the left") {
  for (int round = 0; round != 200; ++round) {
    const LinearLayout left = randomLayout(), right = randomLayout(), product = left * right;
    for (const Values &a : allInputs(left))
      for (int sample = 0; sample != 4; ++sample) {
        const auto rights = allInputs(right);
        const Values &b = rights[static_cast<size_t>(below(static_cast<int64_t>(rights.size())))];
        Values both = a;
        for (size_t i = 0; i != both.size(); ++i)
          both[i].second += b[i].second << left.bases(both[i].first).size();
        const Coordinates low = left.apply(a), high = right.apply(b), place = product.apply(both);
        for (size_t o = 0; o != 2; ++o)
          REQUIRE(place[o] == low[o] + high[o] * left.outputs()[o].size);
      }
    REQUIRE(product.quotient(left) == right);
    REQUIRE(left * LinearLayout() == left);
    REQUIRE(LinearLayout() * left == left);
    const LinearLayout third = randomLayout();
    REQUIRE((left * right) * third == left * (right * third));
  }
}

TEST_CASE("quotients") {
  const LinearLayout atom({{Axis::reg, {{0, 1}, {8, 0}}}, {Axis::lane, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}},
                          {{dim(0), 16}, {dim(1), 8}});
  const auto vectors = [](int64_t size) { return LinearLayout::identity(Axis::reg, dim(1), size); };
  const LinearLayout pairs({{Axis::reg, {{8, 0}}}, {Axis::lane, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}}},
                           {{dim(0), 16}, {dim(1), 4}});
  CHECK(atom.quotient(vectors(2)) == pairs);
  CHECK(atom.quotient(vectors(4)) == std::nullopt);                                    // (8, 0) is not (0, 2)
  CHECK(atom.quotient(LinearLayout::identity(Axis::reg, dim(0), 2)) == std::nullopt);  // (0, 1) is not (1, 0)
  CHECK(atom.quotient(LinearLayout::identity(Axis::warp, dim(1), 2)) == std::nullopt); // no warps
  CHECK(atom.quotient(LinearLayout::identity(Axis::reg, dim(2), 2)) == std::nullopt);  // no such output
  CHECK(atom.quotient(vectors(1)) == atom);
  const auto columns = [](llvm::SmallVector<Coordinates, 5> bases) {
    return LinearLayout({{Axis::reg, std::move(bases)}}, {{dim(0), 2}, {dim(1), 4}});
  };
  CHECK(columns({{0, 1}, {0, 2}, {1, 0}}).quotient(vectors(4)).has_value());
  CHECK(!columns({{0, 2}, {0, 1}, {1, 0}}).quotient(vectors(4))); // the columns are there, in another order
  CHECK(!columns({{0, 1}, {1, 2}, {1, 0}}).quotient(vectors(4))); // one of them moves rows, too
  CHECK(atom.quotient(atom)->rank() == 0);
  // A coordinate that is swizzled by a higher bit is not made of vectors.
  const LinearLayout swizzle({{Axis::offset, {{0, 1}, {0, 2}, {1, 1}, {2, 2}}}}, {{dim(0), 4}, {dim(1), 4}});
  CHECK(swizzle.quotient(LinearLayout::identity(Axis::offset, dim(1), 2)) == std::nullopt);

  // Four warps with 16 rows each, as in the header.
  const LinearLayout warps = atom * LinearLayout::identity(Axis::warp, dim(0), 4);
  CHECK(warps.bases(Axis::warp) == llvm::ArrayRef<Coordinates>({{16, 0}, {32, 0}}));
  CHECK(warps.outputSize(dim(0)) == 64);
  CHECK((atom * LinearLayout::zeros(Axis::warp, dim(0), 4)).outputSize(dim(0)) == 16);
}

TEST_CASE("transposing and reshaping count the same places otherwise") {
  for (int round = 0; round != 100; ++round) {
    const LinearLayout layout =
        randomLayout({{Axis::reg, 3}, {Axis::lane, 5}}, {{dim(0), 2}, {dim(1), 3}, {dim(2), 1}});
    const LinearLayout turned = layout.transpose({2, 0, 1});
    const LinearLayout reshaped = layout.reshape({{dim(0), 4}, {dim(1), 16}});
    for (const Values &x : allInputs(layout)) {
      const Coordinates place = layout.apply(x);
      REQUIRE(turned.apply(x) == Coordinates{place[2], place[0], place[1]});
      REQUIRE(rowMajor(reshaped, reshaped.apply(x)) == rowMajor(layout, place));
    }
    CHECK(turned.transpose({1, 2, 0}) == layout);
    CHECK(reshaped.reshape(layout.outputs()) == layout);
  }
}

TEST_CASE("what is no linear layout") {
  using Inputs = llvm::SmallVector<LinearLayout::Input>;
  using Outputs = llvm::SmallVector<LinearLayout::Output>;
  const auto message = [](const Inputs &inputs, const Outputs &outputs) {
    return LinearLayout::verify(inputs, outputs).value_or("");
  };
  CHECK(message({{Axis::reg, {{1}}}}, {{dim(0), 2}}) == "");
  CHECK(message({}, {{dim(0), 12}}) == "output dim0 has size 12, which is not a power of two");
  CHECK(message({}, {{dim(0), 0}}) == "output dim0 has size 0, which is not a power of two");
  CHECK(message({}, {{dim(1), 2}, {dim(1), 4}}) == "output dim1 is given twice");
  CHECK(message({{Axis::lane, {}}, {Axis::lane, {}}}, {}) == "input lane is given twice");
  CHECK(message({{Axis::reg, {{1, 0}}}}, {{dim(0), 2}}) ==
        "basis (1, 0) of register has 2 coordinates, the layout has 1 outputs");
  CHECK(message({{Axis::warp, {{4}}}}, {{dim(0), 4}}) ==
        "basis (4) of warp is outside of output dim0, whose coordinates are 0 to 3");
  CHECK(message({{Axis::warp, {{-1}}}}, {{dim(0), 4}}) ==
        "basis (-1) of warp is outside of output dim0, whose coordinates are 0 to 3");
  CHECK(message({}, {{dim(0), int64_t{1} << 40}, {dim(1), int64_t{1} << 40}}) ==
        "a layout has at most 63 bits of input and of output, this one has 0 and 80");
}
