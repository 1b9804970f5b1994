// Arrays as the hardware's copies (TMA) know them: encoded by the driver for a launch, and kept for the next one.
#pragma once

#include "compiler/dsl/TracedKernel.h"
#include "compiler/support/TensorMap.h"
#include "runtime/cuda/Driver.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <atomic>

namespace sectile::cuda {

/// Those of one kernel on one device. Many threads may encode at once: none waits for another, and none allocates. What
/// is kept is bounded; an array that is not in it any more costs another encoding.
class TensorMaps {
public:
  /// All that is given must outlive this; the driver must have tensorMapEncode.
  TensorMaps(const Driver &driver, llvm::ArrayRef<TensorMap> maps, const std::vector<Parameter> &parameters);

  /// The number of words that encode() writes.
  size_t words() const { return entries.size() * TensorMap::words; }

  /// Writes the maps of a launch to `to`, which is aligned to 64 bytes. `arguments`: words as in HostEntry, with
  /// addresses that the device uses. Throws DeviceError when the driver refuses an array; its message begins with
  /// `what`.
  void encode(const int64_t *arguments, int64_t *to, llvm::function_ref<std::string()> what) const;

private:
  /// A view, and what its map was. A reader that meets a writer finds nothing.
  struct alignas(64) Slot {
    bool read(llvm::ArrayRef<int64_t> view, int64_t *to) const;
    void write(llvm::ArrayRef<int64_t> view, const int64_t *from);

    std::atomic<uint64_t> version = 0; // odd while it is written, 0 before that
    std::array<std::atomic<int64_t>, 11> view{};
    std::array<std::atomic<int64_t>, TensorMap::words> map{};
  };
  static constexpr size_t sets = 16, ways = 4;

  struct Entry {
    Entry(const TensorMap &map, const std::vector<Parameter> &parameters);
    const TensorMap &map;
    const Parameter &parameter;
    size_t firstWord = 0; ///< of the view, among those of the arguments
    std::unique_ptr<Slot[]> slots{new Slot[sets * ways]};
    std::unique_ptr<std::atomic<size_t>> replaced{new std::atomic<size_t>(0)};
  };
  void encodeNew(const Entry &entry, llvm::ArrayRef<int64_t> view, int64_t *to,
                 llvm::function_ref<std::string()> what) const;

  const Driver &driver;
  std::vector<Entry> entries;
};

} // namespace sectile::cuda
