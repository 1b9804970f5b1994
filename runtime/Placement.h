// From the name of a target to what a session runs on.
#pragma once

#include "compiler/targets/Target.h"
#include "runtime/cuda/Launch.h"
#include "sectile/Options.h"

#include <optional>

namespace sectile {

struct Placement {
  Target target;
  std::string targetKey; ///< Target::key()
  /// Why code for `target` cannot be run here, for the end of a sentence, with what is legal; empty: it can.
  std::string obstacle;
  /// The GPUs; none on a target of the host, or where there is an obstacle.
  std::optional<cuda::Machine> cuda;
  /// Why this target was chosen, when the options name none.
  std::string reason;
  /// Code for an AMD GPU runs on the emulator.
  bool emulated = false;
};

/// Throws UserError for a name that is unknown, DeviceError for a GPU that is asked for and is not there.
Placement placeSession(const Options &options);

} // namespace sectile
