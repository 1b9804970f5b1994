// Running NVIDIA's command line tools.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace sectile::nvptx {

/// The folder in which toolkits are installed.
inline constexpr llvm::StringLiteral usualToolkit = "/usr/local/cuda";

/// The path of a tool in a toolkit's folder; of "": on PATH, else in the usual folder. Empty when it is not there.
std::string findProgram(llvm::StringRef name, llvm::StringRef toolkit);

/// What a program printed, on both of its streams. An error has it, too, when the program failed.
llvm::Expected<std::string> runProgram(const std::string &path, llvm::ArrayRef<llvm::StringRef> arguments);

/// A file with `text` in the system's folder for temporary files, removed with the object.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(llvm::StringRef suffix, llvm::StringRef text = "");
  TemporaryFile(TemporaryFile &&other) noexcept : path(std::exchange(other.path, "")) {}
  ~TemporaryFile();

  const std::string &name() const { return path; }
  llvm::Expected<std::string> read() const;

private:
  explicit TemporaryFile(std::string path) : path(std::move(path)) {}
  std::string path;
};

} // namespace sectile::nvptx
