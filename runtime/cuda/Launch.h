// Launching on NVIDIA GPUs: from a caller's stream to the device, the checks of its arguments, and the launch.
//
// Everything here may happen while the stream is being captured into a graph: no device memory is allocated or read,
// and nothing waits.
#pragma once

#include "runtime/Binding.h"
#include "runtime/cuda/Kernel.h"

namespace sectile::cuda {

/// What a session on NVIDIA GPUs runs on.
struct Machine {
  std::shared_ptr<const Devices> devices;
  Architecture architecture;
  /// Where kernels are loaded by Session::prepare, and launched on a default stream without arrays.
  const Device *preferred = nullptr;
  /// Whether that is the only device that launches may go to: the target named it.
  bool only = false;
};

/// The device of a launch: that of the stream, or, for a default stream, which belongs to none, that of the first
/// array. Throws UserError when it is not one of `machine` that runs its code.
const Device &deviceOf(const Machine &machine, const char *kernel, StreamHandle stream,
                       std::span<const Argument> arguments);

/// Throws UserError when the stream is being captured: `action` ("compiled", "loaded on cuda:1 …") must come before.
void refuseDuringCapture(const Device &device, const char *kernel, StreamHandle stream, const std::string &action);

/// Checks that the device reaches every array, and queues the launch. `words` are those of bindArguments(), and the
/// grid is not empty. Throws UserError or DeviceError, and has launched nothing then.
void launch(const Kernel &kernel, const Kernel::Code &code, StreamHandle stream, const Grid &grid,
            const std::vector<Parameter> &parameters, std::span<const Argument> arguments, ArgumentWords &words);

/// As above for a grid without programs: the checks alone.
void checkMemory(const Kernel &kernel, const Device &device, const std::vector<Parameter> &parameters,
                 std::span<const Argument> arguments, ArgumentWords &words);

} // namespace sectile::cuda
