// libFuzzer over the cache entry reader: whatever the bytes, it gives an error, or an entry that is written back as the
// very same bytes.
//
// An odd first byte: the rest is the payload behind a header that is right, so that the fuzzer gets past the checksum.
// An even one: the rest is a whole file.
#include "runtime/CacheEntry.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>

using namespace sectile;

static std::string withHeader(llvm::StringRef payload) {
  const llvm::XXH128_hash_t sum = llvm::xxh3_128bits({payload.bytes_begin(), payload.size()});
  std::string file = "SECTILE\n";
  for (uint64_t field : {uint64_t{2}, uint64_t{payload.size()}, sum.low64, sum.high64}) {
    char raw[8];
    llvm::support::endian::write64le(raw, field);
    file.append(raw, 8);
  }
  return file + payload.str();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const llvm::StringRef rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  const std::string file = data[0] & 1 ? withHeader(rest) : rest.str();
  llvm::Expected<CacheEntry> entry = CacheEntry::parse(file);
  if (!entry)
    llvm::consumeError(entry.takeError());
  else if (entry->serialize() != file)
    std::abort();
  return 0;
}
