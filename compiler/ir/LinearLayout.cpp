// Everything below the interface works on flat bases: one number each, with the last output in the lowest bits.
#include "compiler/ir/LinearLayout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cassert>

namespace sectile::ir {
namespace {

int bitsOf(int64_t size) { return static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(size))); }

/// A basis of the image in reduced form: no two vectors share a pivot, no vector has another one's pivot. `tag` is the
/// input that goes there.
struct ReducedVector {
  uint64_t value, tag;
  int pivot;
};

llvm::SmallVector<ReducedVector, 0> reduce(llvm::ArrayRef<uint64_t> bases) {
  llvm::SmallVector<ReducedVector, 0> reduced;
  for (size_t i = 0; i != bases.size(); ++i) {
    ReducedVector vector{bases[i], uint64_t{1} << i, 0};
    for (const ReducedVector &other : reduced)
      if (vector.value >> other.pivot & 1) {
        vector.value ^= other.value;
        vector.tag ^= other.tag;
      }
    if (vector.value == 0)
      continue; // depends on earlier bases
    vector.pivot = static_cast<int>(llvm::Log2_64(vector.value));
    for (ReducedVector &other : reduced)
      if (other.value >> vector.pivot & 1) {
        other.value ^= vector.value;
        other.tag ^= vector.tag;
      }
    reduced.push_back(vector);
  }
  return reduced;
}

void print(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> coordinates) {
  os << '(';
  llvm::interleaveComma(coordinates, os);
  os << ')';
}

} // namespace

std::string toString(Axis axis) {
  switch (axis) {
  case Axis::reg:
    return "register";
  case Axis::lane:
    return "lane";
  case Axis::warp:
    return "warp";
  case Axis::block:
    return "block";
  case Axis::offset:
    return "offset";
  default:
    return (llvm::Twine("dim") + llvm::Twine(static_cast<int>(axis) - static_cast<int>(Axis::dim0))).str();
  }
}

LinearLayout::LinearLayout(llvm::SmallVector<Input, 4> inputs, llvm::SmallVector<Output, 3> outputs)
    : ins(std::move(inputs)), outs(std::move(outputs)) {
  assert(!verify(ins, outs));
}

std::optional<std::string> LinearLayout::verify(llvm::ArrayRef<Input> inputs, llvm::ArrayRef<Output> outputs) {
  std::string message;
  llvm::raw_string_ostream os(message);
  int bits = 0;
  for (size_t i = 0; i != outputs.size(); ++i) {
    const auto &[axis, size] = outputs[i];
    if (size < 1 || !llvm::isPowerOf2_64(static_cast<uint64_t>(size))) {
      os << "output " << ir::toString(axis) << " has size " << size << ", which is not a power of two";
      return message;
    }
    bits += bitsOf(size);
    for (const Output &other : outputs.take_front(i))
      if (other.axis == axis) {
        os << "output " << ir::toString(axis) << " is given twice";
        return message;
      }
  }
  size_t inputBits = 0;
  for (size_t i = 0; i != inputs.size(); ++i) {
    const auto &[axis, bases] = inputs[i];
    inputBits += bases.size();
    for (const Input &other : inputs.take_front(i))
      if (other.axis == axis) {
        os << "input " << ir::toString(axis) << " is given twice";
        return message;
      }
    for (const Coordinates &basis : bases) {
      if (basis.size() != outputs.size()) {
        os << "basis ";
        print(os, basis);
        os << " of " << ir::toString(axis) << " has " << basis.size() << " coordinates, the layout has "
           << outputs.size() << " outputs";
        return message;
      }
      for (size_t o = 0; o != basis.size(); ++o)
        if (basis[o] < 0 || basis[o] >= outputs[o].size) {
          os << "basis ";
          print(os, basis);
          os << " of " << ir::toString(axis) << " is outside of output " << ir::toString(outputs[o].axis)
             << ", whose coordinates are 0 to " << outputs[o].size - 1;
          return message;
        }
    }
  }
  if (bits > 63 || inputBits > 63) {
    os << "a layout has at most 63 bits of input and of output, this one has " << inputBits << " and " << bits;
    return message;
  }
  return std::nullopt;
}

LinearLayout LinearLayout::identity(Axis input, Axis output, int64_t size) {
  Input in{input, {}};
  for (int64_t bit = 1; bit < size; bit *= 2)
    in.bases.push_back({bit});
  return LinearLayout({std::move(in)}, {{output, size}});
}

LinearLayout LinearLayout::zeros(Axis input, Axis output, int64_t size) {
  Input in{input, {}};
  in.bases.assign(static_cast<size_t>(bitsOf(size)), Coordinates{0});
  return LinearLayout({std::move(in)}, {{output, 1}});
}

llvm::ArrayRef<Coordinates> LinearLayout::bases(Axis input) const {
  for (const Input &in : ins)
    if (in.axis == input)
      return in.bases;
  return {};
}

int64_t LinearLayout::inputSize(Axis axis) const { return int64_t{1} << bases(axis).size(); }

int64_t LinearLayout::outputSize(Axis axis) const {
  for (const Output &out : outs)
    if (out.axis == axis)
      return out.size;
  return 1;
}

int LinearLayout::inputBits() const {
  int bits = 0;
  for (const Input &in : ins)
    bits += static_cast<int>(in.bases.size());
  return bits;
}

int LinearLayout::outputBits() const {
  int bits = 0;
  for (const Output &out : outs)
    bits += bitsOf(out.size);
  return bits;
}

std::string LinearLayout::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "to (";
  llvm::interleaveComma(outs, os, [&](const Output &out) { os << ir::toString(out.axis) << ": " << out.size; });
  os << ")\n";
  for (const Input &in : ins)
    for (size_t i = 0; i != in.bases.size(); ++i) {
      os << ir::toString(in.axis) << '=' << (int64_t{1} << i) << " -> ";
      print(os, in.bases[i]);
      os << '\n';
    }
  return text;
}

uint64_t LinearLayout::flat(llvm::ArrayRef<int64_t> coordinates) const {
  uint64_t bits = 0;
  for (size_t o = 0; o != outs.size(); ++o)
    bits = bits << bitsOf(outs[o].size) | static_cast<uint64_t>(coordinates[o]);
  return bits;
}

Coordinates LinearLayout::unflat(uint64_t bits) const {
  Coordinates coordinates(outs.size(), 0);
  for (size_t o = outs.size(); o-- != 0;) {
    coordinates[o] = static_cast<int64_t>(bits & static_cast<uint64_t>(outs[o].size - 1));
    bits >>= bitsOf(outs[o].size);
  }
  return coordinates;
}

Coordinates LinearLayout::apply(Point input) const {
  Coordinates place(outs.size(), 0);
  for (const auto &[axis, value] : input) {
    assert(value >= 0 && value < inputSize(axis));
    for (const auto &[i, basis] : llvm::enumerate(bases(axis)))
      if (value >> i & 1)
        for (size_t o = 0; o != place.size(); ++o)
          place[o] ^= basis[o];
  }
  return place;
}

int LinearLayout::rank() const {
  llvm::SmallVector<uint64_t> flatBases;
  for (const Input &in : ins)
    for (const Coordinates &basis : in.bases)
      flatBases.push_back(flat(basis));
  return static_cast<int>(reduce(flatBases).size());
}

LinearLayout LinearLayout::compose(const LinearLayout &next) const {
  assert(outs.size() == next.ins.size());
  LinearLayout result;
  result.outs = next.outs;
  for (const Input &in : ins) {
    Input composed{in.axis, {}};
    for (const Coordinates &basis : in.bases) {
      llvm::SmallVector<std::pair<Axis, int64_t>> between;
      for (size_t o = 0; o != outs.size(); ++o)
        between.emplace_back(outs[o].axis, basis[o]);
      composed.bases.push_back(next.apply(between));
    }
    result.ins.push_back(std::move(composed));
  }
  return result;
}

// Every output bit that is a pivot goes to the input that its reduced vector came from, the others to 0. If the layout
// is surjective all bits are pivots and the reduced vectors are the unit vectors: each goes to one input that reaches
// it. If it is injective, any L(x) is a sum of reduced vectors whose tags add up to x.
LinearLayout LinearLayout::pseudoInverse() const {
  llvm::SmallVector<uint64_t> flatBases;
  LinearLayout inverse;
  for (const Input &in : ins) {
    inverse.outs.push_back({in.axis, int64_t{1} << in.bases.size()});
    for (const Coordinates &basis : in.bases)
      flatBases.push_back(flat(basis));
  }
  llvm::SmallVector<uint64_t> holders(static_cast<size_t>(outputBits()), 0);
  for (const ReducedVector &vector : reduce(flatBases))
    holders[static_cast<size_t>(vector.pivot)] = vector.tag;

  // Bit i of a tag is input bit i, the first axis in the lowest bits.
  const auto place = [&](uint64_t tag) {
    Coordinates coordinates;
    for (const Output &out : inverse.outs) {
      coordinates.push_back(static_cast<int64_t>(tag & static_cast<uint64_t>(out.size - 1)));
      tag >>= bitsOf(out.size);
    }
    return coordinates;
  };
  int shift = outputBits();
  for (const Output &out : outs) {
    Input in{out.axis, {}};
    shift -= bitsOf(out.size);
    for (int bit = 0; bit != bitsOf(out.size); ++bit)
      in.bases.push_back(place(holders[static_cast<size_t>(shift + bit)]));
    inverse.ins.push_back(std::move(in));
  }
  return inverse;
}

LinearLayout LinearLayout::inverse() const {
  assert(isInvertible());
  return pseudoInverse();
}

LinearLayout LinearLayout::leftInverse() const {
  assert(isInjective());
  return pseudoInverse();
}

LinearLayout LinearLayout::rightInverse() const {
  assert(isSurjective());
  return pseudoInverse();
}

LinearLayout LinearLayout::operator*(const LinearLayout &right) const {
  // 1. The axes, in the order of `right` if it has them all.
  const auto contains = [](const auto &axes, Axis axis) {
    return llvm::any_of(axes, [&](const auto &each) { return each.axis == axis; });
  };
  const auto order = [&](const auto &lefts, const auto &rights) {
    llvm::SmallVector<Axis> axes;
    if (!llvm::all_of(lefts, [&](const auto &each) { return contains(rights, each.axis); }))
      for (const auto &each : lefts)
        axes.push_back(each.axis);
    for (const auto &each : rights)
      if (!llvm::is_contained(axes, each.axis))
        axes.push_back(each.axis);
    return axes;
  };
  LinearLayout result;
  for (Axis axis : order(outs, right.outs))
    result.outs.push_back({axis, outputSize(axis) * right.outputSize(axis)});

  // 2. The bases of either side, in the outputs of both; those of the right above the left's coordinates.
  const auto widened = [&](const LinearLayout &side, const Coordinates &basis, bool above) {
    Coordinates wide(result.outs.size(), 0);
    for (size_t o = 0; o != side.outs.size(); ++o)
      for (size_t r = 0; r != result.outs.size(); ++r)
        if (result.outs[r].axis == side.outs[o].axis)
          wide[r] = basis[o] * (above ? outputSize(side.outs[o].axis) : 1);
    return wide;
  };
  for (Axis axis : order(ins, right.ins)) {
    Input in{axis, {}};
    for (const Coordinates &basis : bases(axis))
      in.bases.push_back(widened(*this, basis, false));
    for (const Coordinates &basis : right.bases(axis))
      in.bases.push_back(widened(right, basis, true));
    result.ins.push_back(std::move(in));
  }
  assert(!verify(result.ins, result.outs));
  return result;
}

std::optional<LinearLayout> LinearLayout::quotient(const LinearLayout &left) const {
  const auto has = [](const auto &axes, Axis axis) {
    return llvm::any_of(axes, [&](const auto &each) { return each.axis == axis; });
  };
  for (const Input &in : left.ins)
    if (!has(ins, in.axis) || in.bases.size() > bases(in.axis).size())
      return std::nullopt;
  for (const Output &out : left.outs)
    if (!has(outs, out.axis) || out.size > outputSize(out.axis))
      return std::nullopt;

  LinearLayout result;
  for (const Output &out : outs)
    result.outs.push_back({out.axis, out.size / left.outputSize(out.axis)});
  for (const Input &in : ins) {
    const size_t low = left.bases(in.axis).size();
    Input rest{in.axis, {}};
    for (const Coordinates &basis : llvm::ArrayRef(in.bases).drop_front(low)) {
      Coordinates high = basis;
      for (size_t o = 0; o != outs.size(); ++o) {
        if (basis[o] % left.outputSize(outs[o].axis) != 0)
          return std::nullopt;
        high[o] /= left.outputSize(outs[o].axis);
      }
      rest.bases.push_back(std::move(high));
    }
    result.ins.push_back(std::move(rest));
  }
  // What remains to be seen is whether the low bases are those of `left`.
  if (left * result != *this)
    return std::nullopt;
  return result;
}

LinearLayout LinearLayout::transpose(llvm::ArrayRef<int64_t> order) const {
  assert(order.size() == outs.size());
  LinearLayout result = *this;
  for (size_t o = 0; o != outs.size(); ++o)
    result.outs[o].size = outs[static_cast<size_t>(order[o])].size;
  for (size_t i = 0; i != ins.size(); ++i)
    for (size_t b = 0; b != ins[i].bases.size(); ++b)
      for (size_t o = 0; o != outs.size(); ++o)
        result.ins[i].bases[b][o] = ins[i].bases[b][static_cast<size_t>(order[o])];
  return result;
}

LinearLayout LinearLayout::reshape(llvm::ArrayRef<Output> outputs) const {
  LinearLayout result;
  result.outs.assign(outputs.begin(), outputs.end());
  assert(result.outputBits() == outputBits());
  for (const Input &in : ins) {
    Input reshaped{in.axis, {}};
    for (const Coordinates &basis : in.bases)
      reshaped.bases.push_back(result.unflat(flat(basis)));
    result.ins.push_back(std::move(reshaped));
  }
  return result;
}

} // namespace sectile::ir
