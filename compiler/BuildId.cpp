#include "compiler/Compiler.h"

#include "llvm/Config/llvm-config.h"

namespace sectile {

const std::string &buildId() {
  static const std::string id = "sectile " SECTILE_VERSION ", LLVM " LLVM_VERSION_STRING ", sources "
#include "compiler/SourcesDigest.inc"
      ;
  return id;
}

} // namespace sectile
