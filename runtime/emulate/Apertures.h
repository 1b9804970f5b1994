// Where flat addresses mean LDS and scratch: their upper 32 bits, as the kernel reads them.
#pragma once

#include <cstdint>

namespace sectile::emulate {

constexpr uint64_t sharedAperture = uint64_t(0x00010000) << 32, privateAperture = uint64_t(0x00020000) << 32;

} // namespace sectile::emulate
