#include "compiler/support/TensorMap.h"

#include "llvm/ADT/STLExtras.h"

using namespace sectile;

std::optional<std::string> sectile::whyIllegal(const TensorMap &map, Type type, int rank) {
  constexpr uint32_t mostInBox = 256;
  const uint64_t rowBytes = uint64_t{map.columns} * static_cast<uint64_t>(typeBytes(type));
  if (rank < 2 || rank > 5)
    return "is of an array of rank " + std::to_string(rank) + "; legal: 2 to 5";
  for (auto [name, value] : {std::pair("rows", map.rows), std::pair("columns", map.columns)})
    if (value < 1 || value > mostInBox)
      return "has " + std::to_string(value) + ' ' + name + "; legal: 1 to " + std::to_string(mostInBox);
  if (rowBytes % 16 != 0)
    return "has rows of " + std::to_string(rowBytes) + " bytes; legal: multiples of 16";
  if (!llvm::is_contained({0u, 32u, 64u, 128u}, map.swizzle))
    return "has a swizzle of " + std::to_string(map.swizzle) + " bytes; legal: 0, 32, 64 and 128";
  if (map.swizzle != 0 && rowBytes > map.swizzle)
    return "has rows of " + std::to_string(rowBytes) + " bytes and a swizzle of " + std::to_string(map.swizzle) +
           "; legal: rows of up to that";
  return std::nullopt;
}
