#include "tests/conformance/Reference.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <sstream>

using namespace sectile;
using namespace sectile::conformance;

const std::vector<Shape> &conformance::tileShapes() {
  static const std::vector<Shape> shapes{{1},     {3},     {17},     {64},      {65},       {5, 7},     {16, 33},
                                         {31, 1}, {1, 64}, {64, 65}, {2, 3, 5}, {3, 1, 17}, {4, 16, 16}};
  return shapes;
}

int64_t conformance::count(const Shape &shape) {
  int64_t n = 1;
  for (const int64_t size : shape)
    n *= size;
  return n;
}

double Tensor::at(const Shape &index) const {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    flat = flat * shape[d] + index[d];
  return values.at(flat);
}

void conformance::forEachIndex(const Shape &shape, const std::function<void(const Shape &)> &f) {
  Shape index(shape.size(), 0);
  for (int64_t i = 0, n = count(shape); i < n; ++i) {
    f(index);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

Tensor conformance::generate(const Shape &shape, const std::function<double(const Shape &)> &f) {
  Tensor result{shape, {}};
  forEachIndex(shape, [&](const Shape &index) { result.values.push_back(f(index)); });
  return result;
}

int64_t Random::integer(int64_t low, int64_t high) {
  return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
}

double Random::real(double low, double high) {
  return low + (high - low) * (static_cast<double>(engine() >> 11) * 0x1p-53);
}

double Random::any(Type type) {
  if (type == Type::i1)
    return static_cast<double>(integer(0, 1));
  const int64_t kind = integer(0, 3);
  if (type == Type::i32) {
    constexpr double special[] = {0, 1, -1, 2, 31, 32, 2147483647, -2147483648.0, -2147483647};
    return kind == 0   ? special[integer(0, std::size(special) - 1)]
           : kind == 1 ? static_cast<double>(static_cast<int32_t>(engine()))
                       : static_cast<double>(integer(-100, 100));
  }
  if (kind == 0) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const double smallest = test::unitInLastPlace(type, 0);
    const double special[] = {0.0,
                              -0.0,
                              infinity,
                              -infinity,
                              std::nan(""),
                              1.0,
                              -1.0,
                              0.5,
                              2.0,
                              smallest,
                              -smallest,
                              3 * smallest,
                              16777216.,
                              448.,
                              57344.,
                              65504.,
                              3.3895313892515355e38};
    return test::roundTo(type, special[integer(0, std::size(special) - 1)]);
  }
  if (kind == 1) { // any pattern
    Buffer one(type, {1});
    one.setBits({static_cast<uint32_t>(engine())});
    return one.values().front();
  }
  return tame(type);
}

double Random::tame(Type type) {
  if (type == Type::i1)
    return static_cast<double>(integer(0, 1));
  if (type == Type::i32)
    return static_cast<double>(integer(-1000, 1000));
  return test::roundTo(type, real(-4, 4));
}

Tensor Random::tensor(Type type, const Shape &shape) {
  return generate(shape, [&](const Shape &) { return any(type); });
}
Tensor Random::tameTensor(Type type, const Shape &shape) {
  return generate(shape, [&](const Shape &) { return tame(type); });
}

bool conformance::agrees(Type type, double exact, double actual, Tolerance tolerance) {
  // Only a cast saturates, and its expectation says so: an infinity that is moved stays one.
  const double rounded = std::isinf(exact) ? exact : test::roundTo(type, exact);
  if (std::isnan(rounded) || std::isnan(actual))
    return std::isnan(rounded) && std::isnan(actual);
  if (rounded == actual)
    return !isFloat(type) || tolerance.signOfZeroFree || tolerance.ulps > 0 ||
           std::signbit(rounded) == std::signbit(actual);
  if (tolerance.ulps == 0)
    return false;
  // Elementary functions may flush what is below the smallest normal number.
  constexpr double smallest = std::numeric_limits<float>::min();
  if (std::fabs(rounded) < smallest && std::fabs(actual) <= smallest && rounded * actual >= 0)
    return true;
  // A result beside the overflow threshold may fall on either side of it.
  const double largest = std::numeric_limits<float>::max();
  const auto finite = [largest](double x) { return std::clamp(x, -largest, largest); };
  return std::fabs(finite(actual) - finite(exact)) <= tolerance.ulps * test::unitInLastPlace(type, finite(exact));
}

Shape conformance::padded(const Shape &shape) {
  Shape result(3 - shape.size(), 1);
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

std::string conformance::toString(const Shape &shape) {
  std::ostringstream os;
  os << '[';
  for (size_t d = 0; d < shape.size(); ++d)
    os << (d ? "," : "") << shape[d];
  os << ']';
  return os.str();
}

Shape Slots::sizesFor(int64_t slots, const std::vector<Shape> &shapes) {
  Shape sizes{slots, 1, 1, 1};
  for (const Shape &shape : shapes)
    for (size_t d = 0; d < 3; ++d)
      sizes[d + 1] = std::max(sizes[d + 1], padded(shape)[d]);
  return sizes;
}

Slots::Slots(Type type, int64_t slots, const std::vector<Shape> &shapes)
    : buffer(type, sizesFor(slots, shapes)), checked(buffer.elements()) {}

void Slots::compare(int64_t slot, const std::string &what, const Tensor &exact,
                    const std::function<bool(int64_t, double)> &isRight) {
  const Tensor actual{buffer.sizes(), buffer.values()};
  const Shape corner = padded(exact.shape);
  int64_t i = 0, wrong = 0;
  std::ostringstream message;
  message.precision(17);
  forEachIndex(corner, [&](const Shape &index) {
    Shape full{slot, index[0], index[1], index[2]};
    const double value = actual.at(full);
    int64_t flat = 0;
    for (size_t d = 0; d < 4; ++d)
      flat = flat * actual.shape[d] + full[d];
    checked[flat] = true;
    if (!isRight(i, value) && wrong++ < 3)
      message << "\n  element " << toString(index) << " is " << value << ", expected " << exact.values[i];
    ++i;
  });
  INFO(what << " of " << typeName(buffer.type()) << ' ' << toString(exact.shape) << ": " << wrong << " of "
            << exact.values.size() << " wrong" << message.str());
  CHECK(wrong == 0);
}

void Slots::check(int64_t slot, const std::string &what, const Tensor &exact, Tolerance tolerance) {
  compare(slot, what, exact,
          [&](int64_t i, double value) { return agrees(buffer.type(), exact.values[i], value, tolerance); });
}

void Slots::checkWithin(int64_t slot, const std::string &what, const Tensor &exact, const Tensor &bound) {
  compare(slot, what, exact, [&](int64_t i, double value) {
    const double expected = exact.values[i];
    if (!std::isfinite(expected))
      return std::isnan(expected) ? std::isnan(value) : value == expected;
    return std::fabs(value - expected) <= bound.values[i];
  });
}

void Slots::checkNothingElse() {
  const std::vector<uint32_t> bits = buffer.bits();
  const std::vector<uint32_t> poison = Buffer(buffer.type(), {1}).bits();
  int64_t written = buffer.strayWrites();
  for (size_t i = 0; i < bits.size(); ++i)
    written += !checked[i] && bits[i] != poison.front();
  INFO("elements or bytes written outside the stored tiles: " << written);
  CHECK(written == 0);
}

Buffer conformance::slotsOf(Type type, const std::vector<Tensor> &tensors) {
  Index sizes = padded(tensors.front().shape);
  sizes.insert(sizes.begin(), static_cast<int64_t>(tensors.size()));
  Values all;
  for (const Tensor &tensor : tensors)
    all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  return Buffer(type, sizes, all);
}
