#include "tests/emulate/BulkCopy.h"

#include "sectile/Error.h"

#include <cstring>
#include <string>

using namespace sectile;
using namespace sectile::warps;

constexpr uint32_t chunkBytes = 16;

static void require(bool condition, const std::string &message) {
  if (!condition)
    throw InternalError("tensor map: " + message);
}

EncodedTensorMap::EncodedTensorMap(const ArrayView &array, uint32_t rows, uint32_t columns, uint32_t swizzle)
    : mark(validMark), data(static_cast<const char *>(array.data)), rank(static_cast<uint32_t>(array.rank)),
      elementBytes(static_cast<uint32_t>(typeBytes(array.type))), rows(rows), columns(columns), swizzle(swizzle) {
  const auto text = [](auto number) { return std::to_string(number); };
  require(rank >= 2 && rank <= 5, "the array has rank " + text(rank) + "; legal: 2 to 5");
  require(reinterpret_cast<uintptr_t>(data) % 16 == 0, "the array's address is no multiple of 16");
  for (uint32_t d = 0; d < rank; ++d) {
    require(array.sizes[d] >= 1 && array.sizes[d] < int64_t{1} << 32,
            "dimension " + text(d) + " has size " + text(array.sizes[d]) + "; legal: 1 to 2^32 - 1");
    sizes[d] = static_cast<uint32_t>(array.sizes[d]);
    strides[d] = array.strides[d] * elementBytes;
    if (array.sizes[d] > 1 && d + 1 < rank)
      require(strides[d] > 0 && strides[d] < int64_t{1} << 40 && strides[d] % 16 == 0,
              "dimension " + text(d) + " has a stride of " + text(strides[d]) +
                  " bytes; legal: positive multiples of 16 below 2^40");
  }
  require(array.sizes[rank - 1] == 1 || array.strides[rank - 1] == 1,
          "the last dimension has stride " + text(array.strides[rank - 1]) + "; legal: 1");
  require(rows >= 1 && rows <= 256 && columns >= 1 && columns <= 256,
          "a box of " + text(rows) + " x " + text(columns) + "; legal: 1 to 256 in each dimension");
  const uint32_t rowBytes = columns * elementBytes;
  require(rowBytes % 16 == 0, "rows of a box have " + text(rowBytes) + " bytes; legal: multiples of 16");
  require(swizzle == 0 || swizzle == 32 || swizzle == 64 || swizzle == 128,
          "a swizzle of " + text(swizzle) + " bytes; legal: 0, 32, 64, 128");
  require(swizzle == 0 || rowBytes == swizzle,
          "rows of " + text(rowBytes) + " bytes with a swizzle of " + text(swizzle) + " bytes; legal: as many");
}

BulkCopy::BulkCopy(const EncodedTensorMap &map, const int32_t *coordinates, char *shared, uint32_t to,
                   uint32_t sharedBytes, uint32_t barrier)
    : map(map), shared(shared), to(to), barrierAddress(barrier) {
  if (to % 128 != 0 || to + bytes() > sharedBytes)
    throw InternalError("a bulk copy of " + std::to_string(bytes()) + " bytes to shared address " + std::to_string(to) +
                        "; legal: multiples of 128, up to the " + std::to_string(sharedBytes) +
                        " bytes that there are");
  for (uint32_t d = 0; d < map.rank; ++d)
    corner[d] = coordinates[map.rank - 1 - d];
  std::memset(shared + to, 0xff, bytes());
}

void BulkCopy::arrive() const {
  const uint32_t rowBytes = map.columns * map.elementBytes;
  for (uint32_t row = 0; row < map.rows; ++row)
    for (uint32_t byte = 0; byte < rowBytes; byte += chunkBytes)
      readChunk(int64_t{corner[map.rank - 2]} + row, int64_t{corner[map.rank - 1]} + byte / map.elementBytes,
                shared + swizzled(to + row * rowBytes + byte, map.swizzle));
}

void BulkCopy::readChunk(int64_t row, int64_t column, char *chunk) const {
  std::memset(chunk, 0, chunkBytes);
  const auto isInside = [&](uint32_t d, int64_t index) { return index >= 0 && index < int64_t{map.sizes[d]}; };
  const char *from = map.data;
  for (uint32_t d = 0; d + 2 < map.rank; ++d) {
    if (!isInside(d, corner[d]))
      return;
    from += corner[d] * map.strides[d];
  }
  if (!isInside(map.rank - 2, row))
    return;
  from += row * map.strides[map.rank - 2];
  const uint32_t count = chunkBytes / map.elementBytes;
  for (uint32_t i = 0; i < count; ++i)
    if (isInside(map.rank - 1, column + i))
      std::memcpy(chunk + i * map.elementBytes, from + (column + i) * map.elementBytes, map.elementBytes);
}
