// Tensor maps and launches.
#include "tests/support/fake_cuda/FakeDriver.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace fake;

#if SECTILE_FAKE_CUDA_VERSION >= 12000
namespace {

/// What the hardware can map, in the words of the driver's manual.
bool isLegal(const FakeTensorMap &map) {
  const std::map<int, uint64_t> bytesOfElement = {{0, 1}, {3, 4}, {6, 2}, {7, 4}, {9, 2}};
  if (map.sizes.empty() || map.sizes.size() > 5 || !bytesOfElement.contains(map.element) || map.address == 0 ||
      map.address % 16 != 0 || map.interleave != 0 || map.promotion < 0 || map.promotion > 3 || map.fill != 0 ||
      map.swizzle < 0 || map.swizzle > 3)
    return false;
  const uint64_t bytes = bytesOfElement.at(map.element), rowBytes = map.box[0] * bytes;
  const auto all = [](const auto &numbers, auto legal) { return std::all_of(numbers.begin(), numbers.end(), legal); };
  return all(map.sizes, [](uint64_t size) { return size >= 1 && size <= uint64_t{1} << 32; }) &&
         all(map.strides, [](uint64_t n) { return n > 0 && n % 16 == 0 && n < uint64_t{1} << 40; }) &&
         all(map.box, [](uint32_t size) { return size >= 1 && size <= 256; }) &&
         all(map.steps, [](uint32_t step) { return step >= 1 && step <= 8; }) && rowBytes % 16 == 0 &&
         (map.swizzle == 0 || rowBytes <= uint64_t{16} << map.swizzle);
}

} // namespace
#endif

extern "C" {

#if SECTILE_FAKE_CUDA_VERSION >= 12000
Status cuTensorMapEncodeTiled(void *map, int element, unsigned rank, void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                              int swizzle, int promotion, int fill) {
  return callInContext("cuTensorMapEncodeTiled", [&](Driver &d, Context &) {
    FakeTensorMap given{static_cast<int64_t>(d.encoded.size()),
                        element,
                        static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)),
                        {sizes, sizes + rank},
                        {strides, strides + rank - 1},
                        {box, box + rank},
                        {steps, steps + rank},
                        interleave,
                        swizzle,
                        promotion,
                        fill};
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || !isLegal(given))
      return invalidValue;
    std::array<int64_t, 16> words{given.number, given.address};
    std::copy(given.sizes.begin(), given.sizes.end(), words.begin() + 2);
    std::copy(given.strides.begin(), given.strides.end(), words.begin() + 7);
    words[11] = box[0], words[12] = box[1], words[13] = element, words[14] = swizzle;
    std::memcpy(map, words.data(), sizeof words);
    d.encoded.push_back(std::move(given));
    return success;
  });
}
#endif

Status cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **parameters, void **extra) {
  return callInContext("cuLaunchKernelEx", [&](Driver &d, Context &context) {
    const bool isDefault = reinterpret_cast<uintptr_t>(config->stream) <= 2;
    if (function->context != &context || (!isDefault && config->stream->context != &context))
      return invalidHandle;
    constexpr unsigned largestX = 2147483647, largestYZ = 65535;
    const unsigned threads = config->blockX * config->blockY * config->blockZ;
    if (config->gridX == 0 || config->gridX > largestX || config->gridY - 1 >= largestYZ ||
        config->gridZ - 1 >= largestYZ || threads == 0 || threads > 1024 || extra ||
        config->sharedBytes > static_cast<unsigned>(function->maxDynamicShared) ||
        reinterpret_cast<uintptr_t>(parameters[0]) % function->parameterAlignment != 0)
      return invalidValue;
    std::vector<int64_t> words(function->parameterBytes / sizeof(int64_t));
    std::memcpy(words.data(), parameters[0], words.size() * sizeof(int64_t));
    d.lastCarveout = function->carveout;
    d.launched.push_back({context.device, function->name, config->gridX * config->gridY * config->gridZ, threads,
                          config->sharedBytes, config->stream, !isDefault && config->stream->capturing,
                          std::move(words)});
    return success;
  });
}

} // extern "C"
