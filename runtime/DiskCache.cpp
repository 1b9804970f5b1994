#include "runtime/DiskCache.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/UserDirectories.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace sectile;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral temporarySuffix = ".tmp";

//===-- choosing a directory ------------------------------------------------------------------------------------===//

/// Whether a file can be made in `directory`. Asked by making one: permission bits do not tell (read-only file
/// systems, root, quotas).
static std::error_code tryWriting(const std::string &directory) {
  llvm::SmallString<128> path;
  int file;
  if (std::error_code error =
          fs::createUniqueFile(directory + "/probe-%%%%%%%%" + temporarySuffix, file, path, fs::OF_None, 0600))
    return error;
  ::close(file);
  return fs::remove(path);
}

/// A directory in a place that everybody can write to must be ours alone, or somebody else could plant code in it.
static std::error_code makePrivate(const std::string &directory) {
  struct stat status;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    return llvm::errnoAsErrorCode();
  if (::lstat(directory.c_str(), &status) != 0)
    return llvm::errnoAsErrorCode();
  const bool ours = S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  return ours ? std::error_code() : std::make_error_code(std::errc::permission_denied);
}

DiskCache::DiskCache(const std::string &setting, Log &log) : log(log) {
  if (setting == "off")
    return;
  if (!setting.empty()) {
    llvm::SmallString<128> absolute(setting);
    fs::make_absolute(absolute);
    if (!use(absolute.str().str(), /*readOnlyIsEnough=*/true))
      log.write(Log::warning, "compiled kernels are kept in memory only");
    return;
  }
  const UserDirectories user = userDirectories();
  if (user.cache.empty())
    log.write(Log::warning, "no cache directory: neither XDG_CACHE_HOME nor HOME is an absolute path");
  else if (use(user.cache + "/sectile", /*readOnlyIsEnough=*/false))
    return;
  const std::string temporary = user.temporary + "/sectile-" + std::to_string(::geteuid());
  if (std::error_code error = makePrivate(temporary))
    log.write(Log::warning, "cache directory '" + temporary + "' is not private: " + error.message());
  else if (use(temporary, /*readOnlyIsEnough=*/false)) {
    log.write(Log::warning, "compiled kernels are cached in '" + temporary + "'");
    return;
  }
  log.write(Log::warning, "compiled kernels are kept in memory only");
}

bool DiskCache::use(const std::string &candidate, bool readOnlyIsEnough) {
  std::error_code error = fs::create_directories(candidate);
  if (!error)
    error = tryWriting(candidate);
  if (error && !(readOnlyIsEnough && fs::is_directory(candidate))) {
    log.write(Log::warning, "cache directory '" + candidate + "' cannot be used: " + error.message());
    return false;
  }
  if (error)
    log.write(Log::warning, "cache directory '" + candidate + "' is read, not written: " + error.message());
  directory = candidate;
  writable = !error;
  return true;
}

//===-- reading -------------------------------------------------------------------------------------------------===//

std::string DiskCache::path(const std::string &key) const { return directory + "/" + key + extension.str(); }

void DiskCache::warnDamaged(const std::string &key, const std::string &why) {
  const std::string file = path(key);
  log.write(Log::warning, "'" + file + (writable ? "' is not used and will be replaced: " : "' is not used: ") + why);
}

std::optional<CacheEntry> DiskCache::load(const std::string &key, const std::string &target) {
  if (directory.empty())
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFile(path(key), /*IsText=*/false, /*RequiresNullTerminator=*/false,
                                          /*IsVolatile=*/true); // read, not mapped: a truncated map would fault
  if (!file) {
    if (file.getError() != std::errc::no_such_file_or_directory)
      warnDamaged(key, file.getError().message());
    return std::nullopt;
  }
  llvm::Expected<CacheEntry> entry = CacheEntry::parse((*file)->getBuffer());
  if (!entry) {
    warnDamaged(key, llvm::toString(entry.takeError()));
    return std::nullopt;
  }
  if (entry->buildId != buildId() || entry->key != key || entry->target != target) {
    warnDamaged(key, "it holds kernel '" + entry->name + "' with key " + entry->key + " for " + entry->target +
                         " by build " + entry->buildId);
    return std::nullopt;
  }
  return std::move(*entry);
}

//===-- writing -------------------------------------------------------------------------------------------------===//

llvm::Error DiskCache::write(const CacheEntry &entry) {
  const std::string bytes = entry.serialize(), final = path(entry.key);
  llvm::SmallString<128> temporary;
  int file;
  std::error_code error =
      fs::createUniqueFile(directory + "/" + entry.key + "-%%%%%%%%" + temporarySuffix, file, temporary);
  if (!error) {
    for (size_t written = 0; written < bytes.size() && !error;) {
      const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
      if (count >= 0)
        written += static_cast<size_t>(count);
      else if (errno != EINTR)
        error = llvm::errnoAsErrorCode();
    }
    if (!error && ::fsync(file) != 0) // a rename must not overtake the content on its way to the disk
      error = llvm::errnoAsErrorCode();
    if (::close(file) != 0 && !error)
      error = llvm::errnoAsErrorCode();
    if (!error)
      error = fs::rename(temporary, final);
    if (error)
      (void)fs::remove(temporary);
  }
  return error ? deviceError("'" + final + "' cannot be written: " + error.message()) : llvm::Error::success();
}

void DiskCache::removeStaleTemporaries() {
  const auto hourAgo = std::chrono::system_clock::now() - std::chrono::hours(1);
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; it != end && !error; it.increment(error)) {
    if (llvm::sys::path::extension(it->path()) != temporarySuffix)
      continue;
    if (llvm::ErrorOr<fs::basic_file_status> status = it->status();
        status && status->type() == fs::file_type::regular_file && status->getLastModificationTime() < hourAgo)
      (void)fs::remove(it->path());
  }
}

void DiskCache::store(const CacheEntry &entry) {
  if (directory.empty() || !writable)
    return;
  if (!cleaned.exchange(true))
    removeStaleTemporaries();
  if (llvm::Error error = write(entry)) {
    const std::string message = llvm::toString(std::move(error));
    if (!warnedWrite.exchange(true))
      log.write(Log::warning, message + "; the call goes on without");
  }
}
