// Compiled kernels in a directory, shared by any number of processes without locks.
//
// An entry is one immutable file `<content key>.sectile`. It is written under a temporary name, synced and renamed, so
// that readers see all of it or nothing; of two writers of one key either may win, since both wrote the same. A process
// that dies leaves at most a temporary file, which a later one removes after an hour. Nothing here fails a call: what
// cannot be read is a miss, what cannot be written is a warning, each said once.
#pragma once

#include "runtime/CacheEntry.h"
#include "runtime/Log.h"

#include <atomic>
#include <optional>

namespace sectile {

class DiskCache {
public:
  /// `setting` as in Options::cache. Logs each step down.
  DiskCache(const std::string &setting, Log &log);

  /// "memory", or the directory in use.
  const std::string &location() const { return directory.empty() ? inMemory : directory; }

  /// The entry, when it is there, whole, and made by this build for this key and target.
  std::optional<CacheEntry> load(const std::string &key, const std::string &target);
  void store(const CacheEntry &entry);
  /// Says that an entry which was loaded turned out to be useless, so that it is replaced.
  void warnDamaged(const std::string &key, const std::string &why);

  static constexpr llvm::StringLiteral extension = ".sectile";

private:
  bool use(const std::string &candidate, bool readOnlyIsEnough);
  llvm::Error write(const CacheEntry &entry);
  void removeStaleTemporaries();
  std::string path(const std::string &key) const;

  inline static const std::string inMemory = "memory";
  Log &log;
  std::string directory; // empty: memory only
  std::atomic<bool> writable = false, cleaned = false, warnedWrite = false;
};

} // namespace sectile
