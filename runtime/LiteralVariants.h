// Notices kernels that are compiled over and over because a run-time number was captured as a literal.
#pragma once

#include "runtime/Log.h"
#include "sectile/Schedule.h"

#include "llvm/ADT/StringRef.h"

#include <set>
#include <string>
#include <unordered_map>

namespace sectile {

class LiteralVariants {
public:
  explicit LiteralVariants(Log &log) : log(log) {}

  /// Called for each new content key. `text` is the traced kernel without locations. Warns when this is the eighth
  /// variant that differs from the others by nothing but the values of its constants.
  void add(const std::string &kernel, llvm::StringRef text, const Schedule &schedule, const std::string &key);

private:
  static constexpr size_t many = 8;
  Log &log;
  std::mutex mutex;
  std::unordered_map<std::string, std::set<std::string>> keys; // by the fingerprint of the kernel without its literals
};

/// The text with the values of constants left out, and the names that the printer derives from them.
std::string withoutLiterals(llvm::StringRef text);

} // namespace sectile
