// A listing of a cubin's instructions, by NVIDIA's disassembler: for people, nothing is compiled from it.
#pragma once

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace sectile::nvptx {

/// By nvdisasm, else cuobjdump; nothing when neither is in `toolkit` (as Options::toolkit; in "none" there is none). An
/// error has the program's words.
llvm::Expected<std::optional<std::string>> disassemble(llvm::StringRef cubin, llvm::StringRef toolkit = "");

} // namespace sectile::nvptx
