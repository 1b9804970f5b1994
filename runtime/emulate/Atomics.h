// Atomic operations on memory of the host.
#pragma once

#include "runtime/emulate/WaveInstruction.h"

namespace sectile::emulate {

/// Does `access` at `memory` and gives the old value. For compareSwap `data` is the new value.
uint64_t atomically(const Access &access, void *memory, uint64_t data, uint64_t comparand);

} // namespace sectile::emulate
