#include "runtime/cuda/TensorMaps.h"

#include "runtime/Binding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

namespace sectile::cuda {

//===-- what is kept --------------------------------------------------------------------------------------------===//

// A sequence lock without fences: each word is published and taken by itself, so that who sees a word of a writer also
// sees that the version has changed.

bool TensorMaps::Slot::read(llvm::ArrayRef<int64_t> wanted, int64_t *to) const {
  const uint64_t before = version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0)
    return false;
  for (auto [kept, word] : llvm::zip(view, wanted))
    if (kept.load(std::memory_order_acquire) != word)
      return false;
  for (const auto &word : map)
    *to++ = word.load(std::memory_order_acquire);
  return version.load(std::memory_order_relaxed) == before;
}

void TensorMaps::Slot::write(llvm::ArrayRef<int64_t> given, const int64_t *from) {
  uint64_t before = version.load(std::memory_order_relaxed);
  if (before % 2 != 0 || !version.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel))
    return; // another thread is at it, and only the next launch will notice
  for (auto [kept, word] : llvm::zip(view, given))
    kept.store(word, std::memory_order_release);
  for (auto &word : map)
    word.store(*from++, std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
}

//===-- encoding ------------------------------------------------------------------------------------------------===//

/// Elements are copied as they are: only their size matters, and that zeros are zeros.
static TensorElement elementOf(Type type) {
  switch (type) {
  case Type::f32:
    return TensorElement::float32;
  case Type::f16:
    return TensorElement::float16;
  case Type::bf16:
    return TensorElement::bfloat16;
  case Type::i32:
    return TensorElement::int32;
  default:
    return TensorElement::uint8;
  }
}

static TensorSwizzle swizzleOf(uint32_t bytes) {
  return bytes == 128  ? TensorSwizzle::bytes128
         : bytes == 64 ? TensorSwizzle::bytes64
         : bytes == 32 ? TensorSwizzle::bytes32
                       : TensorSwizzle::none;
}

static std::string text(llvm::ArrayRef<int64_t> numbers) {
  return llvm::formatv("({0:$[, ]})", llvm::make_range(numbers.begin(), numbers.end())).str();
}

TensorMaps::Entry::Entry(const TensorMap &map, const std::vector<Parameter> &parameters)
    : map(map), parameter(parameters[map.parameter]) {
  for (uint32_t i = 0; i < map.parameter; ++i)
    firstWord += argumentWords(parameters[i]);
}

TensorMaps::TensorMaps(const Driver &driver, llvm::ArrayRef<TensorMap> maps, const std::vector<Parameter> &parameters)
    : driver(driver) {
  for (const TensorMap &map : maps)
    entries.emplace_back(map, parameters);
}

/// `view`: its address, sizes and strides.
void TensorMaps::encodeNew(const Entry &entry, llvm::ArrayRef<int64_t> view, int64_t *to,
                           llvm::function_ref<std::string()> what) const {
  constexpr uint32_t mostDimensions = 5;
  const TensorMap &map = entry.map;
  const auto rank = static_cast<size_t>(entry.parameter.rank),
             bytes = static_cast<size_t>(typeBytes(entry.parameter.type));
  const llvm::ArrayRef<int64_t> sizes = view.slice(1, rank), strides = view.slice(1 + rank, rank);
  // 1. The last dimension first; its stride is 1. Nobody steps along a dimension of size 1, but its stride has to be
  //    legal as well.
  std::array<uint64_t, mostDimensions> mapSizes{}, mapStrides{};
  std::array<uint32_t, mostDimensions> box, steps;
  box.fill(1), steps.fill(1);
  box[0] = map.columns, box[1] = map.rows;
  const uint64_t rowBytes = llvm::alignTo<16>(static_cast<uint64_t>(sizes.back()) * bytes);
  for (size_t d = 0; d < rank; ++d) {
    const size_t from = rank - 1 - d;
    mapSizes[d] = static_cast<uint64_t>(sizes[from]);
    if (d > 0)
      mapStrides[d - 1] = sizes[from] == 1 ? rowBytes : static_cast<uint64_t>(strides[from]) * bytes;
  }
  // 2. By the driver, on the host alone.
  const Status status = driver.tensorMapEncode(to, elementOf(entry.parameter.type), static_cast<uint32_t>(rank),
                                               reinterpret_cast<void *>(view[0]), mapSizes.data(), mapStrides.data(),
                                               box.data(), steps.data(), TensorInterleave::none, swizzleOf(map.swizzle),
                                               TensorPromotion::bytes256, TensorFill::zeros);
  driver.check(status, driver.tensorMapEncode, [&] {
    return what() + ": argument '" + entry.parameter.name + "' of " + std::string(typeName(entry.parameter.type)) +
           ", sizes " + text(sizes) + ", strides " + text(strides) + ", cannot be mapped in boxes of " +
           std::to_string(map.rows) + " x " + std::to_string(map.columns) + " elements with a swizzle of " +
           std::to_string(map.swizzle) + " bytes";
  });
}

void TensorMaps::encode(const int64_t *arguments, int64_t *to, llvm::function_ref<std::string()> what) const {
  for (const Entry &entry : entries) {
    const llvm::ArrayRef<int64_t> view(arguments + entry.firstWord, argumentWords(entry.parameter));
    const uint64_t hash = llvm::xxh3_64bits({reinterpret_cast<const uint8_t *>(view.data()), view.size() * 8});
    const llvm::MutableArrayRef<Slot> set(&entry.slots[hash % sets * ways], ways);
    if (llvm::none_of(set, [&](const Slot &slot) { return slot.read(view, to); })) {
      encodeNew(entry, view, to, what);
      set[entry.replaced->fetch_add(1, std::memory_order_relaxed) % ways].write(view, to);
    }
    to += TensorMap::words;
  }
}

} // namespace sectile::cuda
