#include "sectile/Array.h"

#include "sectile/Error.h"

#include <string>

using namespace sectile;

static void checkRank(size_t rank) {
  if (rank > static_cast<size_t>(ArrayView::maxRank))
    throw UserError("an array view has a rank from 0 to " + std::to_string(ArrayView::maxRank) + ", got " +
                    std::to_string(rank));
}

ArrayView::ArrayView(void *data, Type type, std::initializer_list<int64_t> sizes) : data(data), type(type) {
  checkRank(sizes.size());
  rank = static_cast<int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), this->sizes.begin());
  // Unsigned, because the sizes are checked only when a kernel is launched.
  uint64_t stride = 1;
  for (int32_t d = rank - 1; d >= 0; --d) {
    strides[d] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(this->sizes[d]);
  }
}

ArrayView::ArrayView(void *data, Type type, std::span<const int64_t> sizes, std::span<const int64_t> strides)
    : data(data), type(type) {
  checkRank(sizes.size());
  if (sizes.size() != strides.size())
    throw UserError("an array view needs one stride a dimension, got " + std::to_string(sizes.size()) + " sizes and " +
                    std::to_string(strides.size()) + " strides");
  rank = static_cast<int32_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), this->sizes.begin());
  std::copy(strides.begin(), strides.end(), this->strides.begin());
}

int64_t ArrayView::elements() const {
  int64_t count = 1;
  for (int32_t d = 0; d < rank; ++d)
    count *= sizes[d];
  return count;
}

[[noreturn, gnu::cold, gnu::noinline]] static void refuseOrder(int32_t rank, std::initializer_list<int> order) {
  std::string text;
  for (int from : order)
    text += (text.empty() ? "" : ", ") + std::to_string(from);
  throw UserError("'permuted' of an array of rank " + std::to_string(rank) + " needs each dimension from 0 to " +
                  std::to_string(rank - 1) + " once, got {" + text + "}");
}

ArrayView ArrayView::permuted(std::initializer_list<int> order) const {
  if (order.size() != static_cast<size_t>(rank))
    refuseOrder(rank, order);
  ArrayView result = *this;
  unsigned seen = 0;
  int to = 0;
  for (int from : order) {
    if (from < 0 || from >= rank || (seen >> from & 1))
      refuseOrder(rank, order);
    seen |= 1u << from;
    result.sizes[to] = sizes[from];
    result.strides[to++] = strides[from];
  }
  return result;
}
