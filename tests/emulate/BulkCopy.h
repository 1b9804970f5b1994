// Copies of boxes from global to shared memory by TMA (cp.async.bulk.tensor).
#pragma once

#include "sectile/Array.h"

#include <array>
#include <cstdint>

namespace sectile::warps {

/// What takes the place of the driver's CUtensorMap: an array, and how a box of it lies in shared memory. A box has
/// `rows` indices of the last dimension but one, `columns` of the last, one of each other.
struct alignas(64) EncodedTensorMap {
  static constexpr uint64_t validMark = 0x70616d726f736e74;
  uint64_t mark = 0;
  const char *data = nullptr;
  std::array<int64_t, 5> strides{}; ///< in bytes
  std::array<uint32_t, 5> sizes{};
  uint32_t rank = 0, elementBytes = 0, rows = 0, columns = 0;
  uint32_t swizzle = 0; ///< bytes: 0, 32, 64, 128

  EncodedTensorMap() = default;
  /// Throws InternalError for what the driver would refuse.
  EncodedTensorMap(const ArrayView &array, uint32_t rows, uint32_t columns, uint32_t swizzle);
  uint32_t boxBytes() const { return rows * columns * elementBytes; }
};
static_assert(sizeof(EncodedTensorMap) == 128);

/// In rows of 128, 64 or 32 bytes, chunks of 16 bytes change places as the address says; the same for copies and
/// products.
constexpr uint32_t swizzled(uint32_t address, uint32_t swizzleBytes) {
  const uint32_t chunks = swizzleBytes / 16; // 0 or 1: none
  return chunks ? address ^ ((address >> 7) & (chunks - 1)) << 4 : address;
}

/// A copy on its way: its bytes arrive all at once, and until then NaN is in their place.
class BulkCopy {
public:
  /// `coordinates`: the last dimension first. Throws InternalError for places where no box may lie.
  BulkCopy(const EncodedTensorMap &map, const int32_t *coordinates, char *shared, uint32_t to, uint32_t sharedBytes,
           uint32_t barrier);
  void arrive() const;
  uint32_t barrier() const { return barrierAddress; }
  uint32_t bytes() const { return map.boxBytes(); }
  uint32_t place() const { return to; }

private:
  void readChunk(int64_t row, int64_t column, char *chunk) const;
  EncodedTensorMap map;
  std::array<int32_t, 5> corner{}; ///< the first dimension first
  char *shared;
  uint32_t to, barrierAddress;
};

} // namespace sectile::warps
