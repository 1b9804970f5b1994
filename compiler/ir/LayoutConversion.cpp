// Coordinates are sums of register, lane and warp parts in both layouts, so the source of a value is linear, too: each
// bit of the receiving lane and warp, and each constant of a register, has its own part of the answer. Only registers
// that repeat an atom are counted, not bits; they are looked up.
#include "compiler/ir/LayoutConversion.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cassert>

namespace sectile::ir {
namespace {

using Bases = Layout::Bases;

/// For each bit of a lane's number, the lanes in which it is set.
constexpr uint64_t lanesWith[] = {0xaaaaaaaaaaaaaaaa, 0xcccccccccccccccc, 0xf0f0f0f0f0f0f0f0,
                                  0xff00ff00ff00ff00, 0xffff0000ffff0000, 0xffffffff00000000};

/// The bits of an index that move some of these coordinates.
int64_t holders(Bases bases, llvm::ArrayRef<int64_t> coordinates) {
  int64_t index = 0;
  for (size_t i = 0; i != bases.size(); ++i)
    for (size_t d = 0; d != coordinates.size(); ++d)
      index |= coordinates[d] & bases[i][d] ? int64_t{1} << i : 0;
  return index;
}

/// Whether a bit moves every element past the shape: wherever it is set, values are undefined.
bool leaves(llvm::ArrayRef<int64_t> basis, llvm::ArrayRef<int64_t> shape) {
  return llvm::any_of(llvm::zip(basis, shape), [](auto pair) { return std::get<0>(pair) >= std::get<1>(pair); });
}

bool isIdentity(llvm::ArrayRef<int64_t> laneBits) {
  for (size_t i = 0; i != laneBits.size(); ++i)
    if (laneBits[i] != int64_t{1} << i)
      return false;
  return true;
}

/// Whether every warp finds in itself what the bits of lanes and warps ask for.
bool staysInWarp(const Layout &from, const Layout &to) {
  if (from.warps() != to.warps())
    return false;
  for (const auto &[have, want] : llvm::zip(from.warpBits(), to.warpBits()))
    if (have != want && !leaves(want, to.shape()))
      return false;
  return llvm::all_of(to.laneBits(), [&](const Coordinates &want) {
    return holders(from.warpBits(), want) == 0 || leaves(want, to.shape());
  });
}

/// The bits of the receiving lane that decide which register of the source lane is wanted: what they move, registers of
/// `from` move.
llvm::SmallVector<size_t, 6> decidingBits(const Layout &from, const Layout &to) {
  llvm::SmallVector<size_t, 6> bits;
  for (size_t i = 0; i != to.laneBits().size(); ++i) {
    const Coordinates &want = to.laneBits()[i];
    const bool moves = llvm::any_of(want, [](int64_t c) { return c != 0; });
    if (moves && !leaves(want, to.shape()) && holders(from.laneBits(), want) == 0)
      bits.push_back(i);
  }
  return bits;
}

/// The sources of one register of `to`, for each setting of the bits that decide.
Conversion::Move sourcesOf(const Layout &from, const Layout &to, int64_t reg, llvm::ArrayRef<size_t> deciding) {
  const Coordinates base = to.base(reg);
  Conversion::Move move;
  move.lane = holders(from.laneBits(), base);
  for (uint32_t setting = 0; setting != uint32_t{1} << deciding.size(); ++setting) {
    Coordinates element = base;
    uint64_t lanes = ~uint64_t{0} >> (64 - to.lanes());
    for (const auto &[i, bit] : llvm::enumerate(deciding)) {
      const bool isSet = setting >> i & 1;
      lanes &= isSet ? lanesWith[bit] : ~lanesWith[bit];
      for (size_t d = 0; isSet && d != element.size(); ++d)
        element[d] += to.laneBits()[bit][d];
    }
    if (to.contains(element))
      move.sources.push_back({from.locate(element).reg, lanes});
  }
  return move;
}

/// The register that differs from this one by a coordinate of `basis`, or -1.
int64_t partner(const Layout &layout, int64_t reg, llvm::ArrayRef<int64_t> basis) {
  Coordinates base = layout.base(reg);
  for (size_t d = 0; d != base.size(); ++d)
    base[d] ^= basis[d];
  return layout.registerAt(base);
}

/// Pairs of registers, the one without the coordinate of `basis` first; none if one of them has no partner or registers
/// do not move it.
llvm::SmallVector<std::pair<int64_t, int64_t>> pairsAlong(const Layout &layout, llvm::ArrayRef<int64_t> basis) {
  llvm::SmallVector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t reg = 0; reg != layout.registers(); ++reg) {
    const int64_t other = partner(layout, reg, basis);
    if (other < 0)
      return {};
    if (reg < other)
      pairs.emplace_back(reg, other);
  }
  return pairs;
}

// A bit y of the receiving lane moves coordinate u, which registers of `from` move; a bit x of the sending lane moves
// coordinate w, which registers of `to` move. Let t be w's bit of a register of `to`, b that of y in the receiving
// lane, q that of x in the sending one. Register t starts as the source with u = t. After the swap where q is set the
// sender has the source u = t ^ q in it. It is fetched from the lane with q = t ^ b (hence y's part of the source lane
// is x), so what arrives has u = b, as this lane wants it, and w = q = t ^ b: the swap where b is set puts it into
// register q.
std::optional<Conversion::Exchange> exchangeOf(const Layout &from, const Layout &to, const Conversion &conversion,
                                               llvm::ArrayRef<size_t> deciding) {
  Conversion::Exchange exchange;
  exchange.laneBits = conversion.laneBits;
  llvm::SmallVector<std::pair<Coordinates, Coordinates>> traded; // u, w

  // 1. A partner x for each y.
  size_t x = 0;
  for (size_t y : deciding) {
    llvm::SmallVector<std::pair<int64_t, int64_t>> pairs;
    for (; x != from.laneBits().size() && pairs.empty(); ++x)
      pairs = pairsAlong(to, from.laneBits()[x]);
    if (pairs.empty())
      return std::nullopt;
    const size_t partnerBit = x - 1;
    traded.emplace_back(to.laneBits()[y], from.laneBits()[partnerBit]);
    exchange.laneBits[y] |= int64_t{1} << partnerBit;
    exchange.before.push_back({static_cast<int64_t>(partnerBit), pairs});
    exchange.after.push_back({static_cast<int64_t>(y), pairs});
  }

  // 2. The registers of the first step.
  for (int64_t reg = 0; reg != to.registers(); ++reg) {
    const Coordinates base = to.base(reg);
    Coordinates element = base;
    for (const auto &[u, w] : traded)
      for (size_t d = 0; d != base.size(); ++d)
        if (base[d] & w[d])
          for (size_t e = 0; e != base.size(); ++e)
            element[e] += u[e];
    exchange.start.push_back(from.locate(element).reg);
  }
  return exchange;
}

} // namespace

int64_t Conversion::sourceLane(const Move &move, int64_t lane) const {
  int64_t source = move.lane;
  for (size_t i = 0; i != laneBits.size(); ++i)
    source ^= lane >> i & 1 ? laneBits[i] : 0;
  return source;
}

bool Conversion::crossesLanes(const Move &move) const { return move.lane != 0 || !isIdentity(laneBits); }

int64_t Conversion::shuffles() const {
  int64_t count = 0;
  if (exchange) {
    for (const Move &move : moves)
      count += move.lane != 0 || !isIdentity(exchange->laneBits);
    return count;
  }
  for (const Move &move : moves)
    count += crossesLanes(move) ? static_cast<int64_t>(move.sources.size()) : 0;
  return count;
}

Conversion conversion(const Layout &from, const Layout &to) {
  Conversion result;
  assert(from.lanes() == to.lanes());
  if (from.shape() != to.shape() || !staysInWarp(from, to))
    return result;
  result.laneBits.resize(to.laneBits().size());

  // 1. Lanes. A bit that the source holds copies along, or whose values are undefined, stays in its lane.
  for (size_t i = 0; i != to.laneBits().size(); ++i) {
    const Coordinates &want = to.laneBits()[i];
    const bool free = (from.replicatedLaneBits() >> i & 1) || leaves(want, to.shape());
    result.laneBits[i] = (leaves(want, to.shape()) ? 0 : holders(from.laneBits(), want)) | (free ? int64_t{1} << i : 0);
  }

  // 2. Registers.
  const auto deciding = decidingBits(from, to);
  bool sameNumbers = from.registers() == to.registers(), oneSource = true, crosses = false;
  for (int64_t reg = 0; reg != to.registers(); ++reg) {
    const Conversion::Move &move = result.moves.emplace_back(sourcesOf(from, to, reg, deciding));
    if (move.sources.empty())
      continue;
    if (holders(from.warpBits(), to.base(reg)) != 0) {
      result.moves.clear();
      return result;
    }
    sameNumbers &= move.sources.front().reg == reg;
    oneSource &= move.sources.size() == 1;
    crosses |= result.crossesLanes(move);
  }

  // 3. The simplest kind that does it.
  result.kind = crosses || !oneSource ? Conversion::Kind::shuffle
                : sameNumbers         ? Conversion::Kind::none
                                      : Conversion::Kind::registers;
  const int64_t shuffles = result.shuffles();
  if (!oneSource)
    result.exchange = exchangeOf(from, to, result, deciding);
  if (result.shuffles() >= shuffles)
    result.exchange.reset();
  return result;
}

} // namespace sectile::ir
