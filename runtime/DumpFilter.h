// What `dir[:kernel-glob]` asks to be dumped.
#pragma once

#include "llvm/Support/Error.h"

#include <string>

namespace sectile {

struct DumpFilter {
  std::string directory;
  std::string glob = "*"; ///< of kernel names, well-formed

  static llvm::Expected<DumpFilter> parse(llvm::StringRef text);
  bool matches(llvm::StringRef kernel) const;
};

} // namespace sectile
