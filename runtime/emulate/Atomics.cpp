#include "runtime/emulate/Atomics.h"
#include "runtime/emulate/NumberFormats.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <type_traits>

using namespace sectile::emulate;
using Atomic = Access::Atomic;

template <class U> static U combine(Atomic kind, U old, U data, U comparand) {
  using S = std::make_signed_t<U>;
  using F = std::conditional_t<sizeof(U) == 4, float, double>;
  const F x = std::bit_cast<F>(old), y = std::bit_cast<F>(data);
  switch (kind) {
  case Atomic::add:
    return old + data;
  case Atomic::sub:
    return old - data;
  case Atomic::rsub:
    return data - old;
  case Atomic::inc:
    return old >= data ? 0 : old + 1;
  case Atomic::dec:
    return old == 0 || old > data ? data : old - 1;
  case Atomic::minSigned:
    return S(data) < S(old) ? data : old;
  case Atomic::minUnsigned:
    return data < old ? data : old;
  case Atomic::maxSigned:
    return S(data) > S(old) ? data : old;
  case Atomic::maxUnsigned:
    return data > old ? data : old;
  case Atomic::bitAnd:
    return old & data;
  case Atomic::bitOr:
    return old | data;
  case Atomic::bitXor:
    return old ^ data;
  case Atomic::swap:
    return data;
  case Atomic::compareSwap:
    return old == comparand ? data : old;
  case Atomic::addFloat:
    return std::bit_cast<U>(F(x + y));
  case Atomic::minFloat:
    return std::bit_cast<U>(F(std::fmin(x, y)));
  case Atomic::maxFloat:
    return std::bit_cast<U>(F(std::fmax(x, y)));
  case Atomic::addPackedHalf: {
    const uint32_t a = uint32_t(old), b = uint32_t(data);
    return floatToHalf(halfToFloat(a & 0xffff) + halfToFloat(b & 0xffff)) |
           floatToHalf(halfToFloat(a >> 16) + halfToFloat(b >> 16)) << 16;
  }
  case Atomic::addPackedBfloat: {
    const uint32_t a = uint32_t(old), b = uint32_t(data);
    return floatToBfloat(bfloatToFloat(a & 0xffff) + bfloatToFloat(b & 0xffff)) |
           floatToBfloat(bfloatToFloat(a >> 16) + bfloatToFloat(b >> 16)) << 16;
  }
  }
  return old;
}

template <class U> static uint64_t exchange(Atomic kind, void *memory, U data, U comparand) {
  std::atomic_ref<U> cell(*static_cast<U *>(memory));
  U old = cell.load();
  while (!cell.compare_exchange_weak(old, combine<U>(kind, old, data, comparand)))
    ;
  return old;
}

uint64_t sectile::emulate::atomically(const Access &access, void *memory, uint64_t data, uint64_t comparand) {
  return access.bytes == 8 ? exchange<uint64_t>(access.atomic, memory, data, comparand)
                           : exchange<uint32_t>(access.atomic, memory, uint32_t(data), uint32_t(comparand));
}
