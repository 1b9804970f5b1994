// Arrays that kernels copy by TMA: what is encoded for a launch, where it is in the parameter, and what is kept.
#include "tests/unit/CudaKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <random>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;

namespace {

using Numbers = std::vector<int64_t>;
using Words = std::vector<uint64_t>;

/// A kernel with maps of x, a view of bf16 and rank 4, and of z, one of rank 2, after which it takes x, factor, z,
/// grid.
CacheEntry mappedEntry(std::vector<TensorMap> maps = {{0, 128, 64, 128}, {2, 16, 32, 64}}, Type typeOfZ = Type::f16) {
  const size_t words = 16 * maps.size() + 9 + 1 + 5 + 3;
  CacheEntry entry = scaleEntry();
  entry.name = entry.artifact.entry = "mapped";
  entry.artifact.stages.back().text = ".version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry mapped(\n\t"
                                      ".param .align 64 .b8 mapped_param_0[" +
                                      std::to_string(8 * words) + "]\n) { ret; }\n";
  entry.artifact.parameters = {{"x", Parameter::Access::input, Type::bf16, 4},
                               {"factor", Parameter::Access::scalar, Type::f32, 0},
                               {"z", Parameter::Access::input, typeOfZ, 2}};
  entry.artifact.tensorMaps = std::move(maps);
  return entry;
}

/// Launches of it.
struct MappedLaunches : FakeLaunches {
  using FakeLaunches::FakeLaunches;
  explicit MappedLaunches() : FakeLaunches(mappedEntry()) {}

  const cuda::StreamHandle here = stream(0);

  ArrayView arrayOf(Type type, const Numbers &sizes, const Numbers &strides, int device = 0) {
    return ArrayView(fake.allocate(device, 4096), type, sizes, strides);
  }
  ArrayView x(const Numbers &sizes = {2, 3, 5, 64}, const Numbers &strides = {960, 64, 192, 1}) {
    return arrayOf(Type::bf16, sizes, strides);
  }
  ArrayView z() { return arrayOf(Type::f16, {7, 32}, {40, 1}); }
  size_t encodings() const { return fake.tensorMaps().size(); }
};

int64_t address(const ArrayView &view) { return reinterpret_cast<intptr_t>(view.data); }

/// The words of a launch from one place on.
Numbers wordsFrom(const FakeLaunch &launch, size_t first, size_t count) {
  const auto begin = launch.words.begin() + static_cast<ptrdiff_t>(first);
  return Numbers(begin, begin + static_cast<ptrdiff_t>(count));
}

/// Whether each map of a launch is that of the array that it has beside it, as the fake driver writes maps.
bool mapsFit(const FakeLaunch &launch) {
  const Numbers &w = launch.words;
  const Numbers x = wordsFrom(launch, 32, 9), z = wordsFrom(launch, 42, 5);
  return w[1] == x[0] && wordsFrom(launch, 2, 4) == Numbers{x[4], x[3], x[2], x[1]} &&
         wordsFrom(launch, 7, 3) == Numbers{2 * x[7], 2 * x[6], 2 * x[5]} && w[11] == 64 && w[17] == z[0] &&
         wordsFrom(launch, 18, 2) == Numbers{z[2], z[1]} && w[23] == 2 * z[3] && w[27] == 32;
}

} // namespace

//===-- what a launch passes ------------------------------------------------------------------------------------===//

TEST_CASE("maps come first in the parameter, then the arguments and the grid") {
  MappedLaunches f;
  const ArrayView x = f.x(), z = f.z();
  f.launch(f.here, {x, 2.0f, z}, {3, 5, 7});
  REQUIRE(f.fake.launches().size() == 1);
  const FakeLaunch launch = f.fake.launches()[0];
  CHECK(wordsFrom(launch, 0, 16) == Numbers{0, address(x), 64, 5, 3, 2, 0, 384, 128, 1920, 0, 64, 128, 9, 3, 0});
  CHECK(wordsFrom(launch, 16, 16) == Numbers{1, address(z), 32, 7, 0, 0, 0, 80, 0, 0, 0, 32, 16, 6, 2, 0});
  CHECK(wordsFrom(launch, 32, 9) == Numbers{address(x), 2, 3, 5, 64, 960, 64, 192, 1});
  CHECK(wordsFrom(launch, 41, 9) == Numbers{0x40000000, address(z), 7, 32, 40, 1, 3, 5, 7});
  CHECK(launch.words.size() == 50);
  CHECK(mapsFit(launch));
}

TEST_CASE("a map is of the whole array, the last dimension first") {
  MappedLaunches f;
  const ArrayView x = f.x();
  f.launch(f.here, {x, 2.0f, f.z()});
  REQUIRE(f.encodings() == 2);
  const FakeTensorMap map = f.fake.tensorMaps()[0];
  CHECK(map.address == address(x));
  CHECK(map.sizes == Words{64, 5, 3, 2});
  CHECK(map.strides == Words{384, 128, 1920}); // bytes
  CHECK(map.box == std::vector<uint32_t>{64, 128, 1, 1});
  CHECK(map.steps == std::vector<uint32_t>{1, 1, 1, 1});
  constexpr int bf16 = 9, swizzle128 = 3, promotion256 = 3;
  CHECK((map.element == bf16 && map.swizzle == swizzle128 && map.promotion == promotion256));
  CHECK((map.interleave == 0 && map.fill == 0));
}

TEST_CASE("element types and swizzles are those of the driver") {
  for (auto [type, columns, element] : {std::tuple(Type::f16, 8u, 6),
                                        {Type::bf16, 8u, 9},
                                        {Type::f32, 4u, 7},
                                        {Type::i32, 4u, 3},
                                        {Type::f8e4m3, 16u, 0},
                                        {Type::f8e5m2, 16u, 0}})
    for (auto [bytes, swizzle] : {std::pair(0u, 0), {32u, 1}, {64u, 2}, {128u, 3}}) {
      INFO(typeName(type) << " " << bytes);
      MappedLaunches f(mappedEntry({{2, 16, columns, bytes}}, type));
      f.launch(f.here, {f.x(), 2.0f, f.arrayOf(type, {7, 16}, {16, 1})});
      REQUIRE(f.encodings() == 1);
      CHECK(f.fake.tensorMaps()[0].element == element);
      CHECK(f.fake.tensorMaps()[0].swizzle == swizzle);
    }
}

TEST_CASE("the stride of a dimension of size 1 may be anything") {
  for (int64_t stride : {int64_t{0}, int64_t{-64}, int64_t{3}, INT64_MAX / 2}) {
    INFO(stride);
    MappedLaunches f;
    f.launch(f.here, {f.x({1, 3, 1, 64}, {stride, 64, stride, 1}), 2.0f, f.z()});
    CHECK(f.fake.tensorMaps().at(0).strides == Words{128, 128, 128});
    CHECK(f.fake.tensorMaps().at(0).sizes == Words{64, 1, 3, 1});
  }
}

TEST_CASE("a map has the address that the device uses") {
  MappedLaunches f;
  ArrayView x = f.x();
  x.data = f.fake.allocate(1, 4096, FakeCuda::Memory::managed);
  f.launch(f.here, {x, 2.0f, f.z()});
  CHECK(f.fake.tensorMaps().at(0).address == address(x));
}

TEST_CASE("parameters of any length are aligned") {
  std::vector<TensorMap> many(20, TensorMap{0, 128, 64, 128});
  MappedLaunches f(mappedEntry(many));
  for (int i = 0; i < 2; ++i)
    f.launch(f.here, {f.x(), 2.0f, f.z()}); // the fake driver checks it
  CHECK(f.fake.launches().back().words.size() == 20 * 16 + 18);
  CHECK(f.encodings() == 40);
}

//===-- what is kept --------------------------------------------------------------------------------------------===//

TEST_CASE("what was encoded once is there for the next launch") {
  MappedLaunches f;
  const ArrayView x = f.x(), z = f.z();
  f.launch(f.here, {x, 2.0f, z});
  f.fake.forgetCalls();
  f.launch(f.here, {x, 3.0f, z});
  CHECK(std::ranges::count(f.fake.calls(), "cuTensorMapEncodeTiled") == 0);
  CHECK(f.encodings() == 2);
  CHECK(wordsFrom(f.fake.launches()[0], 0, 32) == wordsFrom(f.fake.launches()[1], 0, 32));

  SECTION("another address") { f.launch(f.here, {f.x(), 2.0f, z}); }
  SECTION("another size") {
    ArrayView shorter = x;
    shorter.sizes[1] = 2;
    f.launch(f.here, {shorter, 2.0f, z});
  }
  SECTION("another stride") {
    ArrayView other = x;
    other.strides[0] = 968;
    f.launch(f.here, {other, 2.0f, z});
  }
  CHECK(f.encodings() == 3);
  CHECK(mapsFit(f.fake.launches().back()));
  f.launch(f.here, {x, 2.0f, z}); // the first one is still there
  CHECK(f.encodings() == 3);
}

TEST_CASE("what is kept is bounded, and what is not kept is encoded again") {
  MappedLaunches f;
  const ArrayView z = f.z();
  std::vector<ArrayView> all;
  for (int i = 0; i < 1000; ++i)
    all.push_back(f.x());
  for (int round = 0; round < 2; ++round)
    for (const ArrayView &x : all)
      f.launch(f.here, {x, 2.0f, z});
  CHECK(f.encodings() > 1500);
  CHECK(std::ranges::all_of(f.fake.launches(), mapsFit));
  f.launch(f.here, {all.back(), 2.0f, z});
  f.fake.forgetCalls();
  f.launch(f.here, {all.back(), 2.0f, z});
  CHECK(std::ranges::count(f.fake.calls(), "cuTensorMapEncodeTiled") == 0);
}

TEST_CASE("each device encodes for itself") {
  MappedLaunches f;
  ArrayView x = f.x(), z = f.z();
  x.data = f.fake.allocate(0, 4096, FakeCuda::Memory::managed);
  z.data = f.fake.allocate(0, 4096, FakeCuda::Memory::managed);
  f.launch(f.here, {x, 2.0f, z});
  f.launch(f.stream(1), {x, 2.0f, z});
  CHECK(f.encodings() == 4);
}

TEST_CASE("threads with arrays of their own get their own maps") {
  constexpr int threadCount = 8, rounds = 300, arrays = 40;
  MappedLaunches f;
  f.kernel->load(f.device(0));
  std::vector<std::thread> all;
  for (int t = 0; t < threadCount; ++t) {
    std::vector<ArrayView> xs;
    for (int i = 0; i < arrays; ++i)
      xs.push_back(f.x({2, 3, 5 + i, 64}, {6400 + 64 * t, 64, 192, 1}));
    all.emplace_back([&f, xs, z = f.z(), stream = f.stream(0)] {
      for (int i = 0; i < rounds; ++i)
        f.launch(stream, {xs[static_cast<size_t>(i % arrays)], 2.0f, z});
    });
  }
  for (std::thread &thread : all)
    thread.join();
  const std::vector<FakeLaunch> launches = f.fake.launches();
  CHECK(launches.size() == threadCount * rounds);
  CHECK(std::ranges::all_of(launches, mapsFit));
}

TEST_CASE("threads with the same arrays share maps") {
  MappedLaunches f;
  const ArrayView x = f.x(), z = f.z();
  f.launch(f.here, {x, 2.0f, z});
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t)
    all.emplace_back([&f, x, z, stream = f.stream(0)] {
      for (int i = 0; i < 300; ++i)
        f.launch(stream, {x, 2.0f, z});
    });
  for (std::thread &thread : all)
    thread.join();
  CHECK(f.encodings() == 2);
  CHECK(std::ranges::all_of(f.fake.launches(), mapsFit));
}

TEST_CASE("a thread that reads what another is writing finds nothing instead of half of it") {
  constexpr int threadCount = 8, rounds = 100000, lengths = 150;
  MappedLaunches f;
  const cuda::Device &device = f.device(0);
  const cuda::TensorMaps maps(*device.driver, f.entry.artifact.tensorMaps[0], f.entry.artifact.parameters);
  const int64_t memory = address(f.x());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threadCount; ++t)
    all.emplace_back([&, t] {
      const cuda::CurrentContext current(*device.driver, device.context());
      alignas(64) std::array<int64_t, TensorMap::words> map{};
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      for (int i = 0; i < rounds; ++i) { // without launches, in which the fake driver would make threads take turns
        const int64_t length = 1 + static_cast<int64_t>(random() % lengths);
        const Numbers words{memory, length, 3, 5, 64, 960, 64, 192, 1};
        maps.encode(words.data(), map.data(), [] { return ""; });
        wrong += map[1] != memory || map[5] != length;
      }
    });
  for (std::thread &thread : all)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("encoding may be captured") {
  MappedLaunches f;
  f.kernel->load(f.device(0));
  f.fake.beginCapture(f.here);
  f.launch(f.here, {f.x(), 2.0f, f.z()});
  CHECK(f.fake.launches().at(0).captured);
  CHECK(f.encodings() == 2);
  CHECK(f.fake.endCapture(f.here));
}

//===-- what is refused -----------------------------------------------------------------------------------------===//

TEST_CASE("an array that the driver does not map is named, with its shape") {
  MappedLaunches f;
  const ArrayView z = f.z();
  CHECK(
      messageOf<DeviceError>([&] { f.launch(f.here, {f.x({2, 3, 5, 64}, {960, 0, 192, 1}), 2.0f, z}); }) ==
      "kernel 'mapped' on cuda:0 (Fake H200, sm_90): argument 'x' of bf16, sizes (2, 3, 5, 64), strides (960, 0, 192, "
      "1), cannot be mapped in boxes of 128 x 64 elements with a swizzle of 128 bytes: cuTensorMapEncodeTiled: "
      "CUDA_ERROR_INVALID_VALUE (words of the driver)");
  CHECK_THAT(messageOf<DeviceError>([&] { f.launch(f.here, {f.x({2, 0, 5, 64}, {960, 64, 192, 1}), 2.0f, z}); }),
             Contains("argument 'x' of bf16, sizes (2, 0, 5, 64)") && Contains("CUDA_ERROR_INVALID_VALUE"));
  CHECK(f.fake.launches().empty());
  CHECK(f.fake.current() == nullptr);
  f.launch(f.here, {f.x(), 2.0f, z});
  CHECK(f.fake.launches().size() == 1);
}

TEST_CASE("a failure to encode is not kept") {
  MappedLaunches f;
  const ArrayView x = f.x(), z = f.z();
  f.fake.fail("cuTensorMapEncodeTiled", 2, 1);
  CHECK_THAT(messageOf<DeviceError>([&] { f.launch(f.here, {x, 2.0f, z}); }),
             Contains("argument 'z' of f16, sizes (7, 32), strides (40, 1)") && Contains("CUDA_ERROR_OUT_OF_MEMORY"));
  CHECK(f.fake.launches().empty());
  f.launch(f.here, {x, 2.0f, z});
  CHECK(f.encodings() == 2);
  CHECK(mapsFit(f.fake.launches().at(0)));
}

TEST_CASE("a driver that cannot encode says which one could") {
  const char *const old = FakeCuda::oldLibrary();
  FakeLaunches f(mappedEntry(), {{"Fake H200", 9, 0}}, old);
  CHECK(messageOf<DeviceError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'mapped' copies arrays by TMA, and the driver of cuda:0 (Fake H200, sm_90) has no "
        "cuTensorMapEncodeTiled: the driver is for CUDA 11.8, needed is one for CUDA 12.0 or newer");
  CHECK(f.fake.modules() == 0);
  FakeLaunches plain(scaleEntry(), {{"Fake H200", 9, 0}}, old); // others run
  plain.launch(plain.stream(0), {plain.array(0), plain.array(0), 2.0f});
  CHECK(plain.fake.launches().size() == 1);
}

TEST_CASE("the parameter's size includes the maps") {
  CacheEntry entry = mappedEntry();
  entry.artifact.tensorMaps.pop_back();
  FakeLaunches f(entry);
  CHECK(messageOf<InternalError>([&] { f.kernel->load(f.device(0)); }) ==
        "kernel 'mapped' takes a parameter of 400 bytes, not 272");
}
