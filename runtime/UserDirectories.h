// Where the environment says that a user's files go. Implemented beside Options::fromEnvironment, the one place that
// reads the environment.
#pragma once

#include <string>

namespace sectile {

/// Absolute paths; empty where the environment has none or a relative one.
struct UserDirectories {
  std::string cache;     ///< $XDG_CACHE_HOME, else $HOME/.cache
  std::string temporary; ///< $TMPDIR, else /tmp
};

UserDirectories userDirectories();

} // namespace sectile
