// Where a problem's tensors are while it runs: in host memory, or as copies in a GPU's.
#pragma once

#include "sectile/Attention.h"

#include <functional>
#include <memory>

namespace sectile::cli {

class Residence {
public:
  /// As the session's target needs it. Throws DeviceError when there is no memory for a copy.
  static std::unique_ptr<Residence> of(const Session &session);
  virtual ~Residence() = default;

  /// The same array where kernels reach it. `host` is dense, in any order of its dimensions.
  virtual ArrayView moved(const ArrayView &host) = 0;
  std::optional<ArrayView> moved(const std::optional<ArrayView> &host) {
    return host ? std::optional(moved(*host)) : std::nullopt;
  }
  /// Brings what kernels wrote to an array back to where it came from.
  virtual void fetch(const ArrayView &host) = 0;

  virtual Stream stream() const = 0;
  /// Microseconds that `run` takes, when it launches in that stream.
  virtual double time(const std::function<void()> &run) = 0;
};

} // namespace sectile::cli
