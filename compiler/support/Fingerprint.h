// Fingerprints for cache keys: 128 bits over a sequence of texts.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"

#include <string>

namespace sectile {

/// `Fingerprint().add("ab").add("c").hex()` differs from that of "a", "bc": each text goes in with its length.
class Fingerprint {
public:
  Fingerprint &add(llvm::StringRef text);
  /// 32 hexadecimal digits.
  std::string hex();

private:
  llvm::TruncatedBLAKE3<16> hash;
};

} // namespace sectile
