#include "compiler/support/Fingerprint.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

namespace sectile {

Fingerprint &Fingerprint::add(llvm::StringRef text) {
  uint8_t length[8];
  llvm::support::endian::write64le(length, text.size());
  hash.update(length);
  hash.update(text);
  return *this;
}

std::string Fingerprint::hex() { return llvm::toHex(hash.final(), /*LowerCase=*/true); }

} // namespace sectile
