#include "compiler/targets/nvptx/Program.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::nvptx {

std::string findProgram(llvm::StringRef name, llvm::StringRef toolkit) {
  llvm::SmallVector<std::string> candidates;
  if (toolkit.empty()) {
    if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName(name))
      return *path;
    toolkit = usualToolkit;
  }
  for (llvm::StringRef folder : {"/bin/", "/"})
    if (std::string path = (toolkit + folder + name).str(); llvm::sys::fs::can_execute(path))
      return path;
  return "";
}

llvm::Expected<std::string> runProgram(const std::string &path, llvm::ArrayRef<llvm::StringRef> arguments) {
  llvm::Expected<TemporaryFile> output = TemporaryFile::create("log");
  if (!output)
    return output.takeError();
  llvm::SmallVector<llvm::StringRef> words{path};
  words.append(arguments.begin(), arguments.end());
  const llvm::StringRef name = output->name();
  std::string message;
  // Output and errors to the same file name go to one stream.
  int code = llvm::sys::ExecuteAndWait(path, words, std::nullopt, {llvm::StringRef(""), name, name},
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0, &message);
  llvm::Expected<std::string> text = output->read();
  if (!text)
    return text.takeError();
  if (code == 0)
    return text;
  return llvm::createStringError(path + (code > 0 ? " ended with exit code " + std::to_string(code) : " failed: ") +
                                 message + '\n' + *text);
}

llvm::Expected<TemporaryFile> TemporaryFile::create(llvm::StringRef suffix, llvm::StringRef text) {
  int descriptor = -1;
  llvm::SmallString<128> path;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile("sectile", suffix, descriptor, path))
    return llvm::createStringError("no temporary file can be made: " + error.message());
  TemporaryFile file(path.str().str());
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  os << text;
  os.close();
  if (std::error_code error = os.error()) {
    os.clear_error();
    return llvm::createStringError(file.path + " cannot be written: " + error.message());
  }
  return file;
}

TemporaryFile::~TemporaryFile() {
  if (!path.empty())
    (void)llvm::sys::fs::remove(path); // it is in the folder of what may be removed
}

llvm::Expected<std::string> TemporaryFile::read() const {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(path + " cannot be read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}

} // namespace sectile::nvptx
