// Where NVIDIA's tools are.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Disassemble.h"
#include "compiler/targets/nvptx/NvJitLink.h"
#include "compiler/targets/nvptx/Nvptx.h"
#include "compiler/targets/nvptx/Program.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace sectile::nvptx {
namespace {

using Assembler = Target::Nvidia::Assembler;

constexpr llvm::StringLiteral libraries[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};

std::optional<Assembler> libraryAt(const std::string &path) {
  llvm::Expected<NvJitLink> library = NvJitLink::open(path);
  if (!library) { // not there, or too old to be of use
    llvm::consumeError(library.takeError());
    return std::nullopt;
  }
  return Assembler{Assembler::Kind::nvJitLink, path, library->version()};
}

std::optional<Assembler> programAt(const std::string &path) {
  // "Cuda compilation tools, release 13.0, V13.0.88"
  llvm::Expected<std::string> text = runProgram(path, {"--version"});
  if (!text) {
    llvm::consumeError(text.takeError());
    return std::nullopt;
  }
  llvm::StringRef version = llvm::StringRef(*text).split(", V").second;
  version = version.take_while([](char c) { return std::isdigit(static_cast<unsigned char>(c)) || c == '.'; });
  if (version.empty())
    return std::nullopt;
  return Assembler{Assembler::Kind::ptxas, path, version.str()};
}

std::optional<Assembler> libraryIn(llvm::StringRef toolkit) {
  for (llvm::StringRef folder : {"/lib64/", "/lib/", "/"})
    for (llvm::StringRef name : libraries)
      if (std::string path = (toolkit + folder + name).str(); llvm::sys::fs::exists(path))
        if (std::optional<Assembler> found = libraryAt(path))
          return found;
  return std::nullopt;
}

std::optional<Assembler> programIn(llvm::StringRef toolkit) {
  std::string path = findProgram("ptxas", toolkit);
  return path.empty() ? std::nullopt : programAt(path);
}

} // namespace

llvm::Expected<Assembler> findAssembler(llvm::StringRef toolkit) {
  if (toolkit == "none")
    return Assembler();
  if (!toolkit.empty()) {
    if (std::optional<Assembler> found = libraryIn(toolkit))
      return *found;
    if (std::optional<Assembler> found = programIn(toolkit))
      return *found;
    return userError("option 'toolkit' is '" + toolkit.str() + "', where there is neither a usable " +
                     libraries[0].str() + " or " + libraries[1].str() +
                     " (in lib64, lib or the folder itself) nor bin/ptxas; legal: a folder that has one, nothing for "
                     "the usual places, or 'none'");
  }
  for (llvm::StringRef name : libraries) // wherever the loader finds it
    if (std::optional<Assembler> found = libraryAt(name.str()))
      return *found;
  if (std::optional<Assembler> found = libraryIn(usualToolkit))
    return *found;
  if (std::optional<Assembler> found = programIn(""))
    return *found;
  return Assembler();
}

std::string assemblerName(const Assembler &assembler) {
  switch (assembler.kind) {
  case Assembler::Kind::none:
    return "driver";
  case Assembler::Kind::nvJitLink:
    return "nvJitLink " + assembler.version;
  case Assembler::Kind::ptxas:
    return "ptxas " + assembler.version;
  }
  llvm_unreachable("every kind has a name");
}

} // namespace sectile::nvptx
