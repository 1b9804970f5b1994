// Where NVIDIA's tools are.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/LibraryFile.h"
#include "compiler/targets/nvptx/NvJitLink.h"
#include "compiler/targets/nvptx/Nvptx.h"
#include "compiler/targets/nvptx/Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvptx {
namespace {

using Assembler = Target::Nvidia::Assembler;

constexpr llvm::StringLiteral libraries[] = {"libnvJitLink.so.13", "libnvJitLink.so.12"};

/// A library found as a file, identified without loading it: that takes the loader 5 to 10 ms, which a session that
/// finds its kernels on disk need not pay. Its name promises the major version; its build id tells apart more than the
/// version that it would answer with, which has no patch level.
std::optional<Assembler> libraryFile(const std::string &path) {
  const std::string buildId = buildIdOf(path);
  if (buildId.empty())
    return std::nullopt;
  const llvm::StringRef major = llvm::StringRef(path).rsplit('.').second;
  return Assembler{Assembler::Kind::nvJitLink, path, (major + " build " + buildId.substr(0, 12)).str()};
}

/// A library by path or by name, asked for its version.
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

/// Finds what knows a PTX version.
struct Search {
  int ptxVersion;
  llvm::SmallVector<std::string> passedOver; ///< "ptxas 12.4.131 (/opt/cuda/bin/ptxas)"

  std::optional<Assembler> accept(std::optional<Assembler> found) {
    if (!found || newestPtx(found->version) >= ptxVersion)
      return found;
    passedOver.push_back(assemblerName(*found) + " (" + found->path + ")");
    return std::nullopt;
  }

  std::optional<Assembler> libraryFileAt(const std::string &path) {
    if (!llvm::sys::fs::exists(path))
      return std::nullopt;
    if (std::optional<Assembler> found = libraryFile(path); found && newestPtx(found->version) >= ptxVersion)
      return found;
    return accept(libraryAt(path)); // a later one of its major version, maybe
  }

  std::optional<Assembler> libraryIn(llvm::StringRef toolkit) {
    for (llvm::StringRef folder : {"/lib64/", "/lib/", "/"})
      for (llvm::StringRef name : libraries)
        if (std::optional<Assembler> found = libraryFileAt((toolkit + folder + name).str()))
          return found;
    return std::nullopt;
  }

  std::optional<Assembler> programIn(llvm::StringRef toolkit) {
    const std::string path = findProgram("ptxas", toolkit);
    return path.empty() ? std::nullopt : accept(programAt(path));
  }

  std::optional<Assembler> inUsualPlaces() {
    const std::vector<std::string> folders = loaderFolders();
    for (llvm::StringRef name : libraries)
      for (const std::string &folder : folders)
        if (std::optional<Assembler> found = libraryFileAt((folder + "/" + name).str()))
          return found;
    if (std::optional<Assembler> found = libraryIn(usualToolkit))
      return found;
    for (llvm::StringRef name : libraries) // loaded already, or in a folder that only the loader's cache knows
      if (std::optional<Assembler> found = accept(libraryAt(name.str())))
        return found;
    if (std::optional<Assembler> found = programIn("")) // PATH
      return found;
    return programIn(usualToolkit);
  }
};

} // namespace

int newestPtx(llvm::StringRef toolkitVersion) {
  int major = 0, minor = 0;
  if (toolkitVersion.consumeInteger(10, major))
    return 0;
  if (toolkitVersion.consume_front(".") && toolkitVersion.consumeInteger(10, minor))
    return 0;
  // PTX 7.0 came with 11.0, 8.0 with 12.0, 9.0 with 13.0; minor versions alike, but 12.6 had no new one.
  return (major - 4) * 10 + minor - (major == 12 && minor >= 6);
}

llvm::Expected<Assembler> findAssembler(llvm::StringRef toolkit, int ptxVersion) {
  if (toolkit == "none")
    return Assembler();
  Search search{ptxVersion, {}};
  if (toolkit.empty())
    return search.inUsualPlaces().value_or(Assembler());
  if (std::optional<Assembler> found = search.libraryIn(toolkit))
    return *found;
  if (std::optional<Assembler> found = search.programIn(toolkit))
    return *found;
  if (!search.passedOver.empty())
    return userError(
        llvm::formatv("option 'toolkit' is '{0}', where {1} is too old: PTX {2}.{3} is needed; legal: a newer "
                      "toolkit, nothing for the usual places, or 'none'",
                      toolkit, llvm::join(search.passedOver, ", "), ptxVersion / 10, ptxVersion % 10));
  return userError(llvm::formatv("option 'toolkit' is '{0}', where there is neither a usable {1} (in lib64, lib or the "
                                 "folder itself) nor bin/ptxas; legal: a folder that has one, nothing for the usual "
                                 "places, or 'none'",
                                 toolkit, llvm::join(llvm::ArrayRef(libraries), " or ")));
}

/// Not asked for its version, which would cost each session some milliseconds: versions differ in their size.
Assembler wholeProgramAssembler(const Assembler &assembler, llvm::StringRef toolkit) {
  if (assembler.kind != Assembler::Kind::nvJitLink)
    return assembler;
  for (llvm::StringRef place : {toolkit, llvm::StringRef(), llvm::StringRef(usualToolkit)}) {
    const std::string path = findProgram("ptxas", place);
    uint64_t bytes = 0;
    if (!path.empty() && !llvm::sys::fs::file_size(path, bytes))
      return {Assembler::Kind::ptxas, path, "of " + std::to_string(bytes) + " bytes"};
  }
  return {};
}

const Assembler &assemblerFor(llvm::StringRef ptx, const Target &target) {
  return ptx.contains("wgmma.mma_async") || ptx.contains("setmaxnreg") ? target.nvidia.wholeProgram
                                                                       : target.nvidia.assembler;
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

std::string assemblerNames(const Target::Nvidia &gpu) {
  const std::string one = assemblerName(gpu.assembler), other = assemblerName(gpu.wholeProgram);
  return gpu.hasWgmma && other != one ? one + '+' + other : one;
}

} // namespace sectile::nvptx
