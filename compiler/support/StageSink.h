// Where the compiler shows each stage as soon as it exists, and asks whether an edited one should take its place.
#pragma once

#include "sectile/Session.h"

#include <optional>
#include <string>

namespace sectile {

class StageSink {
public:
  virtual ~StageSink() = default;
  /// Called once a stage, in order, also when a later one fails. The stage, replaced or not, is what is compiled
  /// further.
  virtual void produced(const Stage &stage) = 0;
  /// The text of the file that replaces this stage, if there is one. `file` is a name such as "vector.mlir".
  virtual std::optional<std::string> replacement(const std::string &file) = 0;
};

} // namespace sectile
