#include "tests/attention/Tensor.h"

#include "kernels/reference/Numbers.h"

#include <algorithm>
#include <numeric>

namespace sectile::test {

static constexpr int64_t guardBytes = 256;
static constexpr std::byte poisonByte{0xff};

Tensor::Tensor(Type type, const std::vector<int64_t> &sizes, const Layout &layout) {
  const auto contains = [](const std::vector<int> &axes, int axis) {
    return std::ranges::find(axes, axis) != axes.end();
  };
  std::vector<int> order = layout.order;
  if (order.empty()) {
    order.resize(sizes.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<int64_t> strides(sizes.size());
  int64_t span = layout.step, first = 0;
  bool innermost = true;
  for (auto axis = order.rbegin(); axis != order.rend(); ++axis) {
    if (contains(layout.broadcast, *axis))
      continue;
    strides[*axis] = span;
    span = span * sizes[*axis] + (innermost ? layout.gap : 0);
    innermost = false;
    if (contains(layout.reversed, *axis) && sizes[*axis] > 0) {
      first += strides[*axis] * (sizes[*axis] - 1);
      strides[*axis] = -strides[*axis];
    }
  }
  memory.resize(span * typeBytes(type) + 2 * guardBytes);
  array = ArrayView(memory.data() + guardBytes + first * typeBytes(type), type, sizes, strides);
  poison();
}

void Tensor::poison() { std::ranges::fill(memory, poisonByte); }

void Tensor::store(std::byte *element, double value) { reference::storeElement(array.type, element, value); }

void Tensor::fill(double value) {
  generate([&] { return value; });
}

void Tensor::randomize(Random &random, double deviation) {
  std::normal_distribution<double> normal(0, deviation);
  generate([&] { return normal(random); });
}

std::vector<std::byte> Tensor::bytes() const {
  std::vector<std::byte> result;
  forEachElement(
      [&](const std::byte *element) { result.insert(result.end(), element, element + typeBytes(array.type)); });
  return result;
}

bool Tensor::guardsIntact() const {
  std::vector<std::byte> others = memory;
  forEachElement([&](const std::byte *element) {
    std::fill_n(others.begin() + (element - memory.data()), typeBytes(array.type), poisonByte);
  });
  return std::ranges::all_of(others, [](std::byte byte) { return byte == poisonByte; });
}

} // namespace sectile::test
