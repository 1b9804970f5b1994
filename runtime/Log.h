// The session's log: one line at a time, to the caller's function or to stderr.
#pragma once

#include "sectile/Options.h"

#include <mutex>

namespace sectile {

class Log {
public:
  enum Level { error = 0, warning = 1, info = 2, launches = 3 };

  explicit Log(const Options &options) : level(options.logLevel), function(options.log) {}

  bool enabled(Level at) const { return at <= level; }
  void write(Level at, const std::string &line);

private:
  const int level;
  const std::function<void(int, const std::string &)> function;
  std::mutex mutex;
};

} // namespace sectile
