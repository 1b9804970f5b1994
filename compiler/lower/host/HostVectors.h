#pragma once

#include <cstdint>

namespace sectile::host {

/// What the host lowering needs to know of the processor.
struct HostVectors {
  int64_t lanes = 8;        ///< 32-bit lanes of a vector
  int64_t registers = 16;   ///< vector registers
  bool narrowMasks = false; ///< masked loads and stores of 8- and 16-bit elements
  bool matrixUnit = false;  ///< AMX with bf16, which comes with 16 lanes and AVX512-BF16
};

} // namespace sectile::host
