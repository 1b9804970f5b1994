#include "runtime/Log.h"

#include <cstdio>

using namespace sectile;

void Log::write(Level at, const std::string &line) {
  if (!enabled(at))
    return;
  static constexpr const char *prefixes[] = {"error: ", "warning: ", "", ""};
  std::lock_guard lock(mutex);
  if (function)
    function(at, line);
  else
    std::fputs(("sectile: " + (prefixes[at] + line) + "\n").c_str(), stderr); // one call: lines of sessions do not mix
}
