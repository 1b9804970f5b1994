// Shared libraries as files: what can be known of one without loading it.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sectile::nvptx {

/// Where the loader looks for the libraries of this program, apart from its cache: LD_LIBRARY_PATH, the program's own
/// folders and the system's.
std::vector<std::string> loaderFolders();

/// The number that the linker gave a library, in hexadecimal digits. Empty when it has none, or is none for this
/// processor.
std::string buildIdOf(llvm::StringRef path);

} // namespace sectile::nvptx
