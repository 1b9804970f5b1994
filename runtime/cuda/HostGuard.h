// For kernels of the host: arrays that only a GPU reaches.
#pragma once

#include "sectile/Session.h"

namespace sectile::cuda {

/// Throws UserError naming the first array in device memory. Costs nothing in a process without the CUDA driver: it is
/// asked only where somebody else has loaded it. `library`: Options::cudaDriver.
void refuseDeviceMemory(const std::string &library, const char *kernel, std::span<const Argument> arguments);

} // namespace sectile::cuda
