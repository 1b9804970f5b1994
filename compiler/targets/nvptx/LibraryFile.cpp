#include "compiler/targets/nvptx/LibraryFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/BuildID.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdlib>
#include <dlfcn.h>
#include <memory>

namespace sectile::nvptx {

std::vector<std::string> loaderFolders() {
  std::vector<std::string> folders;
  const std::unique_ptr<void, int (*)(void *)> program(dlopen(nullptr, RTLD_LAZY), dlclose);
  Dl_serinfo size;
  if (!program || dlinfo(program.get(), RTLD_DI_SERINFOSIZE, &size))
    return folders;
  const std::unique_ptr<Dl_serinfo, void (*)(void *)> info(static_cast<Dl_serinfo *>(std::malloc(size.dls_size)),
                                                           std::free);
  if (!info || dlinfo(program.get(), RTLD_DI_SERINFOSIZE, info.get()) ||
      dlinfo(program.get(), RTLD_DI_SERINFO, info.get()))
    return folders;
  for (unsigned i = 0; i < info->dls_cnt; ++i)
    folders.emplace_back(info->dls_serpath[i].dls_name);
  return folders;
}

std::string buildIdOf(llvm::StringRef path) {
  // Of a large file few pages are read.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return "";
  auto library = llvm::object::ObjectFile::createELFObjectFile(**file, /*InitContent=*/false);
  if (!library) {
    llvm::consumeError(library.takeError());
    return "";
  }
  if ((*library)->getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    return "";
  return llvm::toHex(llvm::object::getBuildID(library->get()), /*LowerCase=*/true);
}

} // namespace sectile::nvptx
