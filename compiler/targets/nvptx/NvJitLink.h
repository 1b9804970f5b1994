// NVIDIA's assembler and linker as a library, opened at run time: it may be there or not. Declared here, as far as
// used, so that building Sectile needs nothing of NVIDIA's.
#pragma once

#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>

namespace sectile::nvptx {

class NvJitLink {
public:
  /// Opens the library, which then stays in the process. An error has the loader's words.
  static llvm::Expected<NvJitLink> open(const std::string &path);

  /// "13.0".
  std::string version() const;

  struct Linked {
    bool succeeded;
    std::string cubin; ///< when it succeeded
    std::string log;   ///< errors, warnings and notes
  };
  Linked link(llvm::StringRef ptx, llvm::ArrayRef<const char *> options) const;

private:
  using Handle = struct nvJitLink *;
  int (*create)(Handle *, uint32_t, const char **) = nullptr;
  int (*destroy)(Handle *) = nullptr;
  int (*addData)(Handle, int type, const void *, size_t, const char *name) = nullptr;
  int (*complete)(Handle) = nullptr;
  int (*cubinSize)(Handle, size_t *) = nullptr;
  int (*cubin)(Handle, void *) = nullptr;
  int (*errorLogSize)(Handle, size_t *) = nullptr;
  int (*errorLog)(Handle, char *) = nullptr;
  int (*infoLogSize)(Handle, size_t *) = nullptr;
  int (*infoLog)(Handle, char *) = nullptr;
  int (*libraryVersion)(unsigned *, unsigned *) = nullptr;
};

} // namespace sectile::nvptx
