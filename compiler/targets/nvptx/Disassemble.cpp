#include "compiler/targets/nvptx/Disassemble.h"

#include "compiler/targets/nvptx/Program.h"

namespace sectile::nvptx {

llvm::Expected<std::optional<std::string>> disassemble(llvm::StringRef cubin, llvm::StringRef toolkit) {
  if (toolkit == "none")
    return std::nullopt;
  struct Tool {
    llvm::StringLiteral name, option;
  };
  for (const Tool &tool : {Tool{"nvdisasm", "--print-code"}, Tool{"cuobjdump", "--dump-sass"}}) {
    const std::string path = findProgram(tool.name, toolkit);
    if (path.empty())
      continue;
    llvm::Expected<TemporaryFile> file = TemporaryFile::create("cubin", cubin);
    if (!file)
      return file.takeError();
    llvm::Expected<std::string> listing = runProgram(path, {tool.option, file->name()});
    if (!listing)
      return listing.takeError();
    return std::optional(std::move(*listing));
  }
  return std::nullopt;
}

} // namespace sectile::nvptx
