#include "compiler/ir/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cassert>

namespace sectile::ir {
namespace {

bool isPowerOfTwo(int64_t n) { return n > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(n)); }

void print(llvm::raw_ostream &os, llvm::ArrayRef<int64_t> basis) {
  os << '[';
  llvm::interleaveComma(basis, os);
  os << ']';
}

void print(llvm::raw_ostream &os, llvm::ArrayRef<Coordinates> bases) {
  os << '[';
  llvm::interleaveComma(bases, os, [&](const Coordinates &basis) { print(os, llvm::ArrayRef(basis)); });
  os << ']';
}

void add(Coordinates &sum, llvm::ArrayRef<int64_t> basis) {
  for (size_t d = 0; d != sum.size(); ++d)
    sum[d] += basis[d];
}

void addBits(Coordinates &sum, Layout::Bases bases, int64_t index) {
  for (size_t i = 0; i != bases.size(); ++i)
    if (index >> i & 1)
      add(sum, bases[i]);
}

bool isZero(llvm::ArrayRef<int64_t> basis) {
  return llvm::all_of(basis, [](int64_t coordinate) { return coordinate == 0; });
}

int64_t zeroBits(Layout::Bases bases) {
  int64_t mask = 0;
  for (size_t i = 0; i != bases.size(); ++i)
    mask |= isZero(bases[i]) ? int64_t{1} << i : 0;
  return mask;
}

LinearLayout linearOf(Layout::Bases registers, Layout::Bases lanes, Layout::Bases warps, size_t rank) {
  llvm::SmallVector<LinearLayout::Output, 3> outputs;
  for (size_t d = 0; d != rank; ++d) {
    int64_t size = 1;
    for (Layout::Bases bases : {registers, lanes, warps})
      for (const Coordinates &basis : bases)
        size = std::max(size, 2 * basis[d]);
    outputs.push_back({dim(d), size});
  }
  const auto input = [](Axis axis, Layout::Bases bases) {
    return LinearLayout::Input{axis, llvm::SmallVector<Coordinates, 5>(bases)};
  };
  return {{input(Axis::reg, registers), input(Axis::lane, lanes), input(Axis::warp, warps)}, std::move(outputs)};
}

} // namespace

Layout::Layout(Bases registers, Bases lanes, Bases warps, llvm::ArrayRef<int64_t> shape)
    : linear(linearOf(registers, lanes, warps, shape.size())), sizes(shape) {
  assert(!verify(registers, lanes, warps, shape));
}

std::optional<std::string> Layout::verify(Bases registers, Bases lanes, Bases warps, llvm::ArrayRef<int64_t> shape) {
  std::string message;
  llvm::raw_string_ostream os(message);
  const std::pair<llvm::StringRef, Bases> groups[] = {{"register", registers}, {"lane", lanes}, {"warp", warps}};

  if (shape.empty() || llvm::any_of(shape, [](int64_t size) { return size < 1; })) {
    os << "a layout needs a shape of rank and sizes from 1 on, this one is ";
    print(os, shape);
    return message;
  }
  if (lanes.size() != 5 && lanes.size() != 6) {
    os << "a warp has 32 or 64 lanes: lane needs 5 or 6 bases, not the " << lanes.size() << " in ";
    print(os, lanes);
    return message;
  }
  if (registers.size() > 20 || warps.size() > 5) {
    os << "a layout has at most 20 bits of register and 5 of warp, this one has " << registers.size() << " and "
       << warps.size();
    return message;
  }

  // Which basis moves each bit of each coordinate.
  llvm::SmallVector<llvm::SmallVector<std::string>> movers(shape.size());
  for (const auto &[group, bases] : groups)
    for (const auto &[i, basis] : llvm::enumerate(bases)) {
      std::string name;
      llvm::raw_string_ostream nameStream(name);
      nameStream << "basis " << i << " of " << group << ", ";
      print(nameStream, llvm::ArrayRef(basis));

      if (basis.size() != shape.size()) {
        os << name << ", has " << basis.size() << " coordinates, the tensor has rank " << shape.size();
        return message;
      }
      const auto moved = llvm::count_if(basis, [](int64_t coordinate) { return coordinate != 0; });
      if (moved == 0 && group == "register") {
        os << name << ", moves nothing: only lanes and warps may hold copies";
        return message;
      }
      if (moved == 0)
        continue;
      const size_t d = static_cast<size_t>(llvm::find_if(basis, [](int64_t c) { return c != 0; }) - basis.begin());
      constexpr int64_t limit = int64_t{1} << 24;
      if (moved > 1 || !isPowerOfTwo(basis[d]) || basis[d] > limit) {
        os << name << ", must move one coordinate by a power of two up to " << limit << ", or be all 0";
        return message;
      }
      const size_t bit = llvm::Log2_64(static_cast<uint64_t>(basis[d]));
      if (movers[d].size() <= bit)
        movers[d].resize(bit + 1);
      if (!movers[d][bit].empty()) {
        os << name << ", moves the same bit as " << movers[d][bit];
        return message;
      }
      movers[d][bit] = name;
    }
  for (const auto &[d, names] : llvm::enumerate(movers))
    for (const auto &[bit, name] : llvm::enumerate(names))
      if (name.empty()) {
        os << "nobody holds coordinate " << (int64_t{1} << bit) << " of dimension " << d << ": no basis moves it by "
           << (int64_t{1} << bit) << ", but " << names.back() << ", moves it further";
        return message;
      }
  return std::nullopt;
}

std::string Layout::toString() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "register = ";
  print(os, registerBits());
  os << ", lane = ";
  print(os, laneBits());
  os << ", warp = ";
  print(os, warpBits());
  return text;
}

std::string Layout::table() const {
  assert(rank() <= 2);
  std::string text;
  llvm::raw_string_ostream os(text);
  const int64_t rows = rank() == 2 ? sizes[0] : 1, columns = sizes.back();
  for (int64_t row = 0; row != rows; ++row) {
    for (int64_t column = 0; column != columns; ++column) {
      const Place place = locate(rank() == 2 ? Coordinates{row, column} : Coordinates{column});
      os << (column ? "  " : "") << place.warp << ':'
         << llvm::format("%2d.%-2d", static_cast<int>(place.lane), static_cast<int>(place.reg));
    }
    os << '\n';
  }
  return text;
}

int64_t Layout::registers() const {
  int64_t count = linear.inputSize(Axis::reg);
  for (size_t d = 0; d != rank(); ++d)
    count *= repeats(d);
  return count;
}

Coordinates Layout::base(int64_t reg) const {
  assert(reg >= 0 && reg < registers());
  const int64_t atomRegisters = linear.inputSize(Axis::reg);
  Coordinates result(rank(), 0);
  addBits(result, registerBits(), reg % atomRegisters);
  int64_t repeat = reg / atomRegisters;
  for (size_t d = rank(); d-- != 0; repeat /= repeats(d))
    result[d] += repeat % repeats(d) * atomSize(d);
  return result;
}

int64_t Layout::registerAt(llvm::ArrayRef<int64_t> base) const {
  int64_t repeat = 0, reg = 0;
  Coordinates rest(base);
  for (size_t d = 0; d != rank(); ++d) {
    if (base[d] < 0 || base[d] / atomSize(d) >= repeats(d))
      return -1;
    repeat = repeat * repeats(d) + base[d] / atomSize(d);
    rest[d] %= atomSize(d);
  }
  for (const auto &[i, basis] : llvm::enumerate(registerBits()))
    for (size_t d = 0; d != rank(); ++d)
      if (rest[d] & basis[d]) {
        rest[d] -= basis[d];
        reg |= int64_t{1} << i;
      }
  return isZero(rest) ? repeat * linear.inputSize(Axis::reg) + reg : -1;
}

Coordinates Layout::coordinates(int64_t reg, int64_t lane, int64_t warp) const {
  Coordinates result = base(reg);
  addBits(result, laneBits(), lane);
  addBits(result, warpBits(), warp);
  return result;
}

bool Layout::contains(llvm::ArrayRef<int64_t> coordinates) const {
  for (size_t d = 0; d != rank(); ++d)
    if (coordinates[d] < 0 || coordinates[d] >= sizes[d])
      return false;
  return true;
}

Layout::Place Layout::locate(llvm::ArrayRef<int64_t> coordinates) const {
  Place place{0, 0, 0};
  Coordinates rest(coordinates);
  const auto take = [&](Bases bases, int64_t &index) {
    for (const auto &[i, basis] : llvm::enumerate(bases))
      for (size_t d = 0; d != rank(); ++d)
        if (rest[d] & basis[d]) {
          rest[d] -= basis[d];
          index |= int64_t{1} << i;
        }
  };
  take(laneBits(), place.lane);
  take(warpBits(), place.warp);
  place.reg = registerAt(rest);
  return place;
}

Layout::Presence Layout::presence(int64_t reg) const {
  const Coordinates first = base(reg), last = coordinates(reg, lanes() - 1, warps() - 1);
  return contains(last) ? Presence::all : contains(first) ? Presence::some : Presence::none;
}

int64_t Layout::vectorWidth(size_t d) const {
  int64_t width = 1;
  for (const Coordinates &basis : registerBits()) {
    if (basis[d] != width)
      return width;
    width *= 2;
  }
  // A whole atom of this thread: repeats go on where they are neighbours, too.
  if (atomSize(d) != width)
    return width;
  for (size_t later = d + 1; later != rank(); ++later)
    if (repeats(later) != 1)
      return width;
  return width * (repeats(d) & -repeats(d));
}

int64_t Layout::replicatedLaneBits() const { return zeroBits(laneBits()); }
int64_t Layout::replicatedWarpBits() const { return zeroBits(warpBits()); }

Layout Layout::sliced(llvm::ArrayRef<int64_t> axes) const {
  llvm::SmallVector<Coordinates> registers(registerBits()), lanes(laneBits()), warps(warpBits());
  llvm::SmallVector<int64_t, 3> shape = sizes;
  for (int64_t axis : axes) {
    shape[static_cast<size_t>(axis)] = 1;
    for (auto *bases : {&registers, &lanes, &warps})
      for (Coordinates &basis : *bases)
        basis[static_cast<size_t>(axis)] = 0;
  }
  llvm::erase_if(registers, isZero);
  return Layout(registers, lanes, warps, shape);
}

Layout Layout::reduced(int64_t axis, int64_t parts) const {
  const auto d = static_cast<size_t>(axis);
  const auto moves = [&](const Coordinates &basis) { return basis[d] != 0; };
  llvm::SmallVector<Coordinates> registers(registerBits()), lanes(laneBits());
  llvm::SmallVector<int64_t, 3> shape = sizes;
  shape[d] = parts;
  if (parts == 1 || llvm::any_of(warpBits(), moves) || int64_t{1} << llvm::count_if(laneBits(), moves) != parts)
    return sliced(axis).over(shape);
  for (Coordinates &basis : registers)
    basis[d] = 0;
  llvm::erase_if(registers, isZero);
  int64_t part = 1;
  for (Coordinates &basis : lanes)
    if (moves(basis)) {
      basis[d] = part;
      part *= 2;
    }
  return Layout(registers, lanes, warpBits(), shape);
}

Layout Layout::transposed(llvm::ArrayRef<int64_t> order) const {
  const auto permuted = [&](llvm::ArrayRef<int64_t> coordinates) {
    Coordinates result;
    for (int64_t d : order)
      result.push_back(coordinates[static_cast<size_t>(d)]);
    return result;
  };
  return Layout(llvm::map_to_vector(registerBits(), permuted), llvm::map_to_vector(laneBits(), permuted),
                llvm::map_to_vector(warpBits(), permuted), permuted(sizes));
}

std::optional<Layout> Layout::reshaped(llvm::ArrayRef<int64_t> shape) const {
  // 1. Dimensions of size 1 come or go. What goes must be held whole: an atom that reaches past it leaves lanes with
  //    undefined values, which no layout without that dimension describes.
  const auto dimensionsIn = [](llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<size_t> dimensions;
    for (size_t d = 0; d != shape.size(); ++d)
      if (shape[d] != 1)
        dimensions.push_back(d);
    return dimensions;
  };
  const auto from = dimensionsIn(sizes), to = dimensionsIn(shape);
  bool whole = true;
  for (size_t d = 0; d != rank(); ++d)
    whole &= sizes[d] != 1 || atomSize(d) == 1;
  if (whole && from.size() == to.size() && llvm::all_of(llvm::zip(from, to), [&](auto pair) {
        return sizes[std::get<0>(pair)] == shape[std::get<1>(pair)];
      })) {
    const auto moved = [&](llvm::ArrayRef<int64_t> basis) {
      Coordinates result(shape.size(), 0);
      for (size_t i = 0; i != from.size(); ++i)
        result[to[i]] = basis[from[i]];
      return result;
    };
    return Layout(llvm::map_to_vector(registerBits(), moved), llvm::map_to_vector(laneBits(), moved),
                  llvm::map_to_vector(warpBits(), moved), shape);
  }

  // 2. Powers of two: repeats become bits of the register, above those of the atom and the last dimension first, and
  //    the linear layout of the whole tensor is reshaped.
  LinearLayout all = linear;
  for (size_t d = rank(); d-- != 0;) {
    if (!isPowerOfTwo(sizes[d]) || atomSize(d) > sizes[d])
      return std::nullopt;
    all = all * LinearLayout::identity(Axis::reg, dim(d), repeats(d));
  }
  llvm::SmallVector<LinearLayout::Output, 3> outputs;
  int bits = 0;
  for (size_t d = 0; d != shape.size(); ++d) {
    if (!isPowerOfTwo(shape[d]))
      return std::nullopt;
    outputs.push_back({dim(d), shape[d]});
    bits += static_cast<int>(llvm::Log2_64(static_cast<uint64_t>(shape[d])));
  }
  if (bits != all.outputBits())
    return std::nullopt;
  all = all.reshape(outputs);
  return Layout(all.bases(Axis::reg), all.bases(Axis::lane), all.bases(Axis::warp), shape);
}

Layout Layout::blocked(llvm::ArrayRef<int64_t> shape, int64_t warps, int64_t vector, int64_t lanes) {
  assert(isPowerOfTwo(vector) && isPowerOfTwo(warps));
  const size_t last = shape.size() - 1;
  llvm::SmallVector<Coordinates> bases[3]; // register, lane, warp
  const auto assign = [&](llvm::SmallVector<Coordinates> &to, size_t d, int64_t step, int64_t count) {
    for (int64_t i = 1; i < count; i *= 2) {
      Coordinates basis(shape.size(), 0);
      basis[d] = i * step;
      to.push_back(std::move(basis));
    }
  };

  // 1. Along the last dimension: the vector, then as many lanes as leave the fewest idle, from four on.
  assign(bases[0], last, 1, vector);
  const int64_t vectors = (shape[last] + vector - 1) / vector;
  int64_t across = 1, padded = vectors;
  for (int64_t count = 2; count <= lanes && count < 2 * vectors; count *= 2) {
    const int64_t needed = (vectors + count - 1) / count * count;
    if (count <= 4 || needed <= padded) {
      across = count;
      padded = needed;
    }
  }
  assign(bases[1], last, vector, across);

  // 2. The other lanes, then the warps, along the dimensions before it, as long as there is something to hold.
  int64_t lanesLeft = lanes / across, warpsLeft = warps;
  for (size_t d = last; d-- != 0;) {
    int64_t size = 1;
    for (auto [bits, left] : {std::pair(&bases[1], &lanesLeft), std::pair(&bases[2], &warpsLeft)}) {
      int64_t count = 1;
      while (count < *left && size * count < shape[d])
        count *= 2;
      assign(*bits, d, size, count);
      size *= count;
      *left /= count;
    }
  }
  // 3. Warps that are left go on along the last dimension; what then remains holds copies.
  int64_t size = vector * across;
  int64_t count = 1;
  while (count < warpsLeft && size * count < shape[last])
    count *= 2;
  assign(bases[2], last, size, count);
  for (warpsLeft /= count; warpsLeft > 1; warpsLeft /= 2)
    bases[2].push_back(Coordinates(shape.size(), 0));
  for (; lanesLeft > 1; lanesLeft /= 2)
    bases[1].push_back(Coordinates(shape.size(), 0));
  return Layout(bases[0], bases[1], bases[2], shape);
}

} // namespace sectile::ir
