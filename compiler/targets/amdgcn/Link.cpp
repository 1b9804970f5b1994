// Object to code object, by LLD in this process. LLD works on files and holds its state in globals: one link at a time,
// through a private temporary folder.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Amdgcn.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

namespace sectile::amdgcn {
namespace {

/// A folder of our own, gone at the end.
class TemporaryFolder {
public:
  llvm::Error make() {
    if (std::error_code error = llvm::sys::fs::createUniqueDirectory("sectile-link", path))
      return deviceError("no temporary folder can be made to link a code object in: " + error.message());
    return llvm::Error::success();
  }
  ~TemporaryFolder() {
    if (!path.empty())
      (void)llvm::sys::fs::remove_directories(path, /*IgnoreErrors=*/true);
  }
  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> full(path);
    llvm::sys::path::append(full, name);
    return full.str().str();
  }

private:
  llvm::SmallString<128> path;
};

llvm::Error writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << bytes;
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return deviceError(llvm::formatv("'{0}' cannot be written: {1}", path, error.message()));
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::string> link(llvm::StringRef object) {
  static std::mutex mutex;
  TemporaryFolder folder;
  if (llvm::Error error = folder.make())
    return error;
  const std::string input = folder.file("kernel.o"), output = folder.file("kernel.hsaco");
  if (llvm::Error error = writeFile(input, object))
    return error;
  const char *arguments[] = {"ld.lld", "-shared", input.c_str(), "-o", output.c_str()};
  std::string messages;
  llvm::raw_string_ostream os(messages);
  lld::Result result;
  {
    const std::lock_guard lock(mutex);
    result = lld::lldMain(arguments, os, os, {{lld::Gnu, &lld::elf::link}});
  }
  if (result.retCode != 0)
    return internalError("LLD cannot link a code object: " + messages);
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> linked = llvm::MemoryBuffer::getFile(output);
  if (!linked)
    return deviceError(llvm::formatv("'{0}' cannot be read: {1}", output, linked.getError().message()));
  return (*linked)->getBuffer().str();
}

} // namespace sectile::amdgcn
