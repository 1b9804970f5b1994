// Arrays where the target under test can read them: the host's own, or copies on the device.
//
// Tests fill and check arrays in host memory. A launch goes through copies that look the same to the kernel: addresses
// agree modulo 256, arrays of one allocation stay together, and the guard bytes around and between elements travel
// in both directions, so that a stray write on the device is seen on the host.
//
//   TargetMemory memory(target);
//   const ArrayView x = memory.resident(host);   // the array to launch with
//   … launch …
//   memory.fetch();                              // all elements and guards back into the host arrays
#pragma once

#include "sectile/Array.h"

#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

/// Whether kernels of the target run on a GPU: "cuda", "cuda:1", "nvptx:sm_80" …
bool isCudaTarget(std::string_view target);

class TargetMemory {
public:
  /// The bytes before the first and after the last element that arrays of tests own.
  static constexpr int64_t guardBytes = 256;

  /// `arrays` are in host memory, with guard bytes around. For a target of the host nothing is copied.
  TargetMemory(std::string_view target, std::vector<ArrayView> arrays);
  ~TargetMemory();
  TargetMemory(const TargetMemory &) = delete;

  /// The same array in the target's memory.
  ArrayView resident(const ArrayView &host) const;
  /// Waits for the device and copies everything back.
  void fetch() const;

private:
  /// One stretch of host memory, [begin, end), and its copy.
  struct Piece {
    uintptr_t begin, end;
    uint64_t allocation = 0;
    uint64_t copy = 0; ///< of `begin`
  };
  std::vector<Piece> pieces;
  bool onDevice;
};

} // namespace sectile::test
