#include "compiler/targets/nvptx/NvJitLink.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/DynamicLibrary.h"

#include <dlfcn.h>

namespace sectile::nvptx {

llvm::Expected<NvJitLink> NvJitLink::open(const std::string &path) {
  std::string message;
  llvm::sys::DynamicLibrary library = llvm::sys::DynamicLibrary::getLibrary(path.c_str(), &message);
  if (!library.isValid())
    return llvm::createStringError(message);
  // It stays until the process ends: it has a C++ library inside that keeps memory, of which one would lose sight.
  dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  NvJitLink link;
  std::string missing;
  const auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(library.getAddressOfSymbol(name));
    if (!function)
      missing = name;
  };
  find("nvJitLinkCreate", link.create);
  find("nvJitLinkDestroy", link.destroy);
  find("nvJitLinkAddData", link.addData);
  find("nvJitLinkComplete", link.complete);
  find("nvJitLinkGetLinkedCubinSize", link.cubinSize);
  find("nvJitLinkGetLinkedCubin", link.cubin);
  find("nvJitLinkGetErrorLogSize", link.errorLogSize);
  find("nvJitLinkGetErrorLog", link.errorLog);
  find("nvJitLinkGetInfoLogSize", link.infoLogSize);
  find("nvJitLinkGetInfoLog", link.infoLog);
  find("nvJitLinkVersion", link.libraryVersion);
  if (!missing.empty())
    return llvm::createStringError(path + " lacks the function " + missing);
  return link;
}

std::string NvJitLink::version() const {
  unsigned major = 0, minor = 0;
  libraryVersion(&major, &minor);
  return std::to_string(major) + '.' + std::to_string(minor);
}

NvJitLink::Linked NvJitLink::link(llvm::StringRef ptx, llvm::ArrayRef<const char *> options) const {
  constexpr int ptxInput = 2;
  Linked linked{false, "", ""};
  Handle handle = nullptr;
  llvm::SmallVector<const char *> copy(options);
  if (int status = create(&handle, static_cast<uint32_t>(copy.size()), copy.data())) {
    linked.log = "nvJitLinkCreate returned " + std::to_string(status);
    return linked;
  }
  // 1. Link; whatever comes of it, there are logs to read.
  std::string text = ptx.str(); // ends in a zero, as PTX has to
  int status = addData(handle, ptxInput, text.c_str(), text.size() + 1, "kernel.ptx");
  if (!status)
    status = complete(handle);
  size_t bytes = 0;
  if (!status)
    status = cubinSize(handle, &bytes);
  if (!status) {
    linked.cubin.resize(bytes);
    status = cubin(handle, linked.cubin.data());
  }
  linked.succeeded = status == 0;
  // 2. Logs.
  const auto append = [&](auto size, auto read) {
    size_t length = 0;
    if (size(handle, &length) || length == 0)
      return;
    std::string log(length, '\0');
    if (read(handle, log.data()))
      return;
    linked.log += log.c_str(); // up to its zero
  };
  append(errorLogSize, errorLog);
  append(infoLogSize, infoLog);
  if (!linked.succeeded && linked.log.empty())
    linked.log = "nvJitLink returned " + std::to_string(status);
  destroy(&handle);
  return linked;
}

} // namespace sectile::nvptx
