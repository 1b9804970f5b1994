#include "tests/support/Buffer.h"

#include "compiler/support/Float.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr int64_t guardBytes = 256;
constexpr char poison = '\xa5';

uint32_t encodeAs(Type type, double x) {
  switch (type) {
  case Type::f32:
    return std::bit_cast<uint32_t>(static_cast<float>(x));
  case Type::f16:
    return encode<f16>(static_cast<float>(test::roundTo(type, x)));
  case Type::bf16:
    return encode<bf16>(static_cast<float>(test::roundTo(type, x)));
  case Type::f8e4m3:
    return encode<f8e4m3>(static_cast<float>(test::roundTo(type, x)));
  case Type::f8e5m2:
    return encode<f8e5m2>(static_cast<float>(std::isinf(x) ? x : test::roundTo(type, x)));
  case Type::i32:
    return static_cast<uint32_t>(static_cast<int64_t>(x));
  case Type::i1:
    return x != 0;
  }
  return 0;
}

double decodeAs(Type type, uint32_t bits) {
  switch (type) {
  case Type::f32:
    return std::bit_cast<float>(bits);
  case Type::f16:
    return decode<f16>(bits);
  case Type::bf16:
    return decode<bf16>(bits);
  case Type::f8e4m3:
    return decode<f8e4m3>(bits);
  case Type::f8e5m2:
    return decode<f8e5m2>(bits);
  case Type::i32:
    return static_cast<int32_t>(bits);
  case Type::i1:
    return bits;
  }
  return 0;
}

} // namespace

double test::roundTo(Type type, double x) {
  switch (type) {
  case Type::f32:
    return static_cast<float>(x);
  case Type::f16:
    return sectile::roundTo<f16>(x);
  case Type::bf16:
    return sectile::roundTo<bf16>(x);
  case Type::f8e4m3:
    return sectile::roundTo<f8e4m3>(x);
  case Type::f8e5m2:
    return sectile::roundTo<f8e5m2>(x);
  case Type::i32:
  case Type::i1:
    return x;
  }
  return x;
}

double test::unitInLastPlace(Type type, double x) {
  const auto unit = [x](NarrowFloat format) {
    const int exponent = std::max(x == 0 ? format.minExponent() : std::ilogb(x), format.minExponent());
    return std::ldexp(1.0, exponent - format.mantissaBits);
  };
  switch (type) {
  case Type::f16:
    return unit(f16);
  case Type::bf16:
    return unit(bf16);
  case Type::f8e4m3:
    return unit(f8e4m3);
  case Type::f8e5m2:
    return unit(f8e5m2);
  case Type::f32:
    return unit(NarrowFloat{8, 23, true, false});
  default:
    return 1;
  }
}

Buffer::Buffer(Type type, Index sizes, Index strides, int64_t misalignment)
    : elementType(type), dims(std::move(sizes)), steps(std::move(strides)) {
  if (steps.empty()) {
    steps.resize(dims.size());
    int64_t stride = 1;
    for (size_t d = dims.size(); d-- > 0; stride *= dims[d])
      steps[d] = stride;
  }
  int64_t lowest = 0, highest = 0;
  for (size_t d = 0; d < dims.size(); ++d)
    (steps[d] < 0 ? lowest : highest) += steps[d] * std::max<int64_t>(dims[d] - 1, 0);
  const int64_t bytes = typeBytes(type);
  storage.assign((highest - lowest + 1) * bytes + 2 * guardBytes + 64, poison);
  origin = guardBytes - lowest * bytes;
  origin +=
      (64 - static_cast<int64_t>((reinterpret_cast<uintptr_t>(storage.data()) + origin) % 64)) % 64 + misalignment;
  before = storage;
}

int64_t Buffer::elements() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

template <class F> void Buffer::forEachElement(F f) const {
  const int64_t count = elements();
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0, rest = i;
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d])
      offset += rest % dims[d] * steps[d];
    f(i, origin + offset * typeBytes(elementType));
  }
}

ArrayView Buffer::view() const {
  ArrayView view;
  view.data = const_cast<char *>(base());
  view.type = elementType;
  view.rank = static_cast<int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), view.sizes.begin());
  std::copy(steps.begin(), steps.end(), view.strides.begin());
  return view;
}

void Buffer::set(const Values &values) {
  std::vector<uint32_t> patterns;
  for (const double value : values)
    patterns.push_back(encodeAs(elementType, value));
  setBits(patterns);
}

void Buffer::setBits(const std::vector<uint32_t> &patterns) {
  forEachElement([&](int64_t i, int64_t at) {
    std::memcpy(storage.data() + at, &patterns.at(i), typeBytes(elementType)); // little endian, as every target
  });
  before = storage;
}

std::vector<uint32_t> Buffer::bits() const {
  std::vector<uint32_t> patterns(elements());
  forEachElement(
      [&](int64_t i, int64_t at) { std::memcpy(&patterns[i], storage.data() + at, typeBytes(elementType)); });
  return patterns;
}

Values Buffer::values() const {
  Values result;
  for (const uint32_t pattern : bits())
    result.push_back(decodeAs(elementType, pattern));
  return result;
}

int64_t Buffer::strayWrites() const {
  std::vector<char> expected = before;
  forEachElement(
      [&](int64_t, int64_t at) { std::memcpy(expected.data() + at, storage.data() + at, typeBytes(elementType)); });
  int64_t count = 0;
  for (size_t i = 0; i < storage.size(); ++i)
    count += expected[i] != storage[i];
  return count;
}
