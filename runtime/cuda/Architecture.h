// NVIDIA's architectures by name, and whose code runs where.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace sectile::cuda {

/// "sm_90": compute capability 9.0. "sm_90a" has instructions that no other architecture has, not even a later one.
struct Architecture {
  int sm = 0;
  bool specific = false;

  /// Of a target's name or key: "nvptx:sm_90a:…".
  static std::optional<Architecture> ofTarget(llvm::StringRef target);
  std::string name() const { return "sm_" + std::to_string(sm) + (specific ? "a" : ""); }

  /// Machine code runs within its major version, on the same or a later minor one.
  bool binaryRunsOn(int deviceSm) const {
    return specific ? deviceSm == sm : deviceSm / 10 == sm / 10 && deviceSm >= sm;
  }
  /// PTX is assembled by the driver for any later architecture.
  bool ptxRunsOn(int deviceSm) const { return specific ? deviceSm == sm : deviceSm >= sm; }
};

} // namespace sectile::cuda
