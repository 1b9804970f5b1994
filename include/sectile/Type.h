// The element types of tiles and arrays.
#pragma once

#include <cstdint>
#include <string_view>

namespace sectile {

/// Element types. `f8e4m3` has no infinity (max 448), `f8e5m2` follows IEEE (max 57344); both round to nearest
/// even and saturate to the largest finite value when a wider value is cast to them, as the hardware does.
/// `i1` is stored as one byte (0 or 1) in arrays.
enum class Type : uint8_t { f32, f16, bf16, f8e4m3, f8e5m2, i32, i1 };

/// The name used in messages, on the command line and in dumps: "f32", "bf16", …
constexpr std::string_view typeName(Type type) {
  constexpr std::string_view names[] = {"f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "i1"};
  return names[static_cast<uint8_t>(type)];
}

/// Bytes that one element takes in an array.
constexpr int64_t typeBytes(Type type) {
  constexpr int64_t bytes[] = {4, 2, 2, 1, 1, 4, 1};
  return bytes[static_cast<uint8_t>(type)];
}

constexpr bool isFloat(Type type) { return type <= Type::f8e5m2; }

/// f8 tiles can be loaded, stored, moved, cast and multiplied by `dot`; arithmetic wants a cast first.
constexpr bool isStorageOnly(Type type) { return type == Type::f8e4m3 || type == Type::f8e5m2; }

} // namespace sectile
