// A compiled kernel as bytes: what the disk cache stores.
//
//   offset  0  "SECTILE\n"
//           8  u64 format version
//          16  u64 payload bytes
//          24  u128 XXH3 of the payload
//          40  payload: build id, key, name, target, schedule, entry, parameters, tensor maps, resources, stages
//
// Integers are little-endian; strings and lists have a u64 length in front. The reader accepts exactly what the writer
// produces: every byte is covered by a check, so that a flipped bit anywhere is an error and never a wrong kernel.
#pragma once

#include "compiler/Compiler.h"

namespace sectile {

struct CacheEntry {
  std::string buildId; ///< of the compiler that made it
  std::string key;     ///< the content key
  std::string name;    ///< the kernel's
  std::string target;  ///< Target::key()
  Schedule schedule;   ///< complete
  Artifact artifact;

  std::string serialize() const;
  /// Pure: reads nothing but `bytes`, and allocates no more than a small multiple of their number.
  static llvm::Expected<CacheEntry> parse(llvm::StringRef bytes);
};

} // namespace sectile
