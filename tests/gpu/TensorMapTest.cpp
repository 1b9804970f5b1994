// Tensor maps by the real driver: it encodes every array that the front key says TMA can map.
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/FrontKey.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/TensorMaps.h"

#include <catch2/catch.hpp>

#include <algorithm>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Shape {
  Type type;
  std::vector<int64_t> sizes, strides;
};

const Shape shapes[] = {
    {Type::bf16, {2, 3, 5, 64}, {960, 320, 64, 1}},                // [batch, head, row, column]
    {Type::bf16, {2, 5, 3, 64}, {960, 64, 320, 1}},                // the same, heads inside
    {Type::f16, {1, 5, 1, 64}, {0, 64, -7, 1}},                    // nobody steps along the first and third
    {Type::f32, {1, 8}, {1, 1}},                                   //
    {Type::f32, {9, 64}, {4, 1}},                                  // rows overlap
    {Type::f8e4m3, {2, 2, 2, 3, 128}, {4096, 1024, 512, 128, 1}},  //
    {Type::bf16, {2, 3, 64}, {(int64_t{1} << 39) - 8, 64, 1}},     // 2^40 - 16 bytes
    {Type::bf16, {ArrayView::maxSize, 1, 64}, {64, 123456789, 1}}, //
};

} // namespace

TEST_CASE("the driver maps what the front key says that TMA can map") {
  if (!isCudaTarget(targetUnderTest()))
    return;
  const auto devices = valueOrThrow(cuda::Devices::open(""));
  const cuda::Device &device = (*devices)[0];
  if (device.sm < 90 || !device.driver->tensorMapEncode) {
    WARN("skipped: " << device.text() << " or its driver has no TMA");
    return;
  }
  const cuda::Memory memory(device, 4096);
  const cuda::CurrentContext current(*device.driver, device.context());
  for (const Shape &shape : shapes)
    for (uint32_t swizzle : {0, 32, 64, 128}) {
      const Argument argument = ArrayView(memory.data(), shape.type, shape.sizes, shape.strides);
      const FrontKey key({"kernel", nullptr, nullptr, 0, nullptr}, std::span(&argument, 1), {},
                         {.alignment = true, .bulk = true});
      INFO(typeName(shape.type) << " " << Catch::StringMaker<std::vector<int64_t>>::convert(shape.sizes) << " "
                                << Catch::StringMaker<std::vector<int64_t>>::convert(shape.strides) << " " << swizzle);
      CHECK(key.facts()[0].bulk);
      const std::vector<Parameter> parameters{
          {"x", Parameter::Access::input, shape.type, static_cast<int32_t>(shape.sizes.size())}};
      const TensorMap map{0, 256, (swizzle ? swizzle : 128) / static_cast<uint32_t>(typeBytes(shape.type)), swizzle};
      REQUIRE_FALSE(whyIllegal(map, shape.type, parameters[0].rank));
      std::vector<int64_t> words{reinterpret_cast<intptr_t>(memory.data())};
      words.insert(words.end(), shape.sizes.begin(), shape.sizes.end());
      words.insert(words.end(), shape.strides.begin(), shape.strides.end());
      alignas(64) std::array<int64_t, TensorMap::words> encoded{};
      const cuda::TensorMaps maps(*device.driver, map, parameters);
      CHECK_NOTHROW(maps.encode(words.data(), encoded.data(), [] { return "encoding"; }));
      CHECK(std::ranges::any_of(encoded, [](int64_t word) { return word != 0; }));
    }
}
