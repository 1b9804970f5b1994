#include "tests/support/TargetMemory.h"

#include "tests/support/CudaDevice.h"

#include <algorithm>

using namespace sectile;
using namespace sectile::test;

bool test::isCudaTarget(std::string_view target) { return target.starts_with("cuda") || target.starts_with("nvptx"); }

/// The first and one past the last byte of an array's elements.
static std::pair<uintptr_t, uintptr_t> span(const ArrayView &array) {
  int64_t lowest = 0, highest = 0;
  for (int axis = 0; axis < array.rank; ++axis)
    (array.strides[axis] < 0 ? lowest : highest) += array.strides[axis] * std::max<int64_t>(array.sizes[axis] - 1, 0);
  const auto origin = reinterpret_cast<uintptr_t>(array.data);
  const int64_t bytes = typeBytes(array.type);
  return {origin + lowest * bytes, origin + (array.elements() ? highest + 1 : 0) * bytes};
}

TargetMemory::TargetMemory(std::string_view target, std::vector<ArrayView> arrays) : onDevice(isCudaTarget(target)) {
  if (!onDevice)
    return;
  // 1. The stretches of host memory, those that overlap as one.
  for (const ArrayView &array : arrays)
    if (array.data) {
      const auto [begin, end] = span(array);
      pieces.push_back({begin - guardBytes, end + guardBytes});
    }
  std::ranges::sort(pieces, {}, &Piece::begin);
  std::vector<Piece> merged;
  for (const Piece &piece : pieces)
    if (!merged.empty() && piece.begin < merged.back().end)
      merged.back().end = std::max(merged.back().end, piece.end);
    else
      merged.push_back(piece);
  pieces = std::move(merged);
  // 2. Their copies, in allocations of their own: a checker of memory accesses then sees where they end.
  CudaDevice &device = CudaDevice::get();
  for (Piece &piece : pieces) {
    constexpr uintptr_t alignment = 256;
    const uintptr_t offset = piece.begin % alignment, bytes = piece.end - piece.begin;
    piece.allocation = device.allocate(offset + bytes); // the driver aligns to 256 at least
    piece.copy = piece.allocation + offset;
    device.upload(piece.copy, reinterpret_cast<const void *>(piece.begin), bytes);
  }
}

TargetMemory::~TargetMemory() {
  for (const Piece &piece : pieces)
    CudaDevice::get().free(piece.allocation);
}

ArrayView TargetMemory::resident(const ArrayView &host) const {
  ArrayView array = host;
  const auto address = reinterpret_cast<uintptr_t>(host.data);
  for (const Piece &piece : pieces)
    if (piece.begin <= address && address < piece.end)
      array.data = reinterpret_cast<void *>(piece.copy + (address - piece.begin));
  return array;
}

void TargetMemory::fetch() const {
  for (const Piece &piece : pieces)
    CudaDevice::get().download(reinterpret_cast<void *>(piece.begin), piece.copy, piece.end - piece.begin);
}
