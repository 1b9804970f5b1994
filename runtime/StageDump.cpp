#include "runtime/StageDump.h"

#include "compiler/support/Fingerprint.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace sectile;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral description = "schedule.json";

/// A kernel's name as a part of a path.
static std::string fileName(llvm::StringRef kernel) {
  std::string name = kernel.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_' && c != '-')
      c = '_';
  return name;
}

static constexpr size_t keyDigits = 12; ///< of a key in a folder's name

static std::string folderName(llvm::StringRef kernel, llvm::StringRef key) {
  return fileName(kernel) + "-" + key.take_front(keyDigits).str();
}

static std::string fingerprintOf(llvm::StringRef text) { return Fingerprint().add(text).hex(); }

//===-- dump ----------------------------------------------------------------------------------------------------===//

StageDump::StageDump(const std::string &setting, Log &log) : log(log) {
  llvm::Expected<DumpFilter> parsed = DumpFilter::parse(setting);
  if (!parsed)
    throw UserError("option 'dump' (SECTILE_DUMP) is '" + setting + "': " + llvm::toString(parsed.takeError()) +
                    "; legal: a directory, or directory:glob of kernel names");
  filter = std::move(*parsed);
  if (std::error_code error = fs::create_directories(filter.directory))
    throw UserError("option 'dump' (SECTILE_DUMP) is '" + setting + "': directory '" + filter.directory +
                    "' cannot be made: " + error.message());
}

void StageDump::writeFile(llvm::StringRef kernel, llvm::StringRef key, llvm::StringRef file, llvm::StringRef text) {
  const std::string folder = filter.directory + "/" + folderName(kernel, key);
  const std::string path = folder + "/" + file.str();
  std::error_code error = fs::create_directories(folder);
  if (!error) {
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      os << text;
      os.close();
      error = os.error();
      os.clear_error();
    }
  }
  if (error && !warned.exchange(true))
    log.write(Log::warning, "dump '" + path + "' cannot be written: " + error.message());
}

void StageDump::write(llvm::StringRef kernel, llvm::StringRef key, const Stage &stage) {
  writeFile(kernel, key, stage.file, stage.text);
}

void StageDump::write(const Executable &executable) {
  llvm::json::Object resources, stages;
  for (const auto &[name, value] : executable.resources())
    resources[name] = value;
  for (const Stage &stage : executable.stages()) {
    write(executable.name(), executable.key(), stage);
    stages[stage.file] = fingerprintOf(stage.text);
  }
  llvm::json::Object all{{"kernel", executable.name()},       {"key", executable.key()},
                         {"target", executable.target()},     {"schedule", toString(executable.schedule())},
                         {"resources", std::move(resources)}, {"stages", std::move(stages)}};
  std::string text;
  llvm::raw_string_ostream(text) << llvm::formatv("{0:2}\n", llvm::json::Value(std::move(all)));
  writeFile(executable.name(), executable.key(), description, text);
}

//===-- overrides -----------------------------------------------------------------------------------------------===//

StageOverrides::StageOverrides(const std::string &directory, Log &log) : directory(directory), log(log) {
  if (!fs::is_directory(directory))
    throw UserError("option 'overrides' (SECTILE_OVERRIDE) is '" + directory +
                    "', which is not a directory; legal: a directory laid out as a dump, or nothing");
}

static std::string readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false, /*IsVolatile=*/true);
  if (!file)
    throw UserError("override '" + path + "' cannot be read: " + file.getError().message());
  return (*file)->getBuffer().str();
}

void StageOverrides::collect(const std::string &folder, Replacements &replacements) const {
  if (!fs::is_directory(folder))
    return;
  // 1. What the dump that this folder began as wrote.
  llvm::json::Object original;
  if (const std::string path = folder + "/" + description.str(); fs::exists(path)) {
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(readFile(path));
    if (!parsed)
      throw UserError("override '" + path + "': " + llvm::toString(parsed.takeError()));
    if (const llvm::json::Object *object = parsed->getAsObject())
      if (const llvm::json::Object *stages = object->getObject("stages"))
        original = *stages;
  }
  // 2. The files that differ from it.
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error)) {
    const llvm::StringRef file = llvm::sys::path::filename(it->path());
    if (file == description || !fs::is_regular_file(it->path()))
      continue;
    std::string text = readFile(it->path());
    if (original.getString(file) == llvm::StringRef(fingerprintOf(text)))
      continue;
    log.write(Log::warning, "stage file '" + it->path() + "' replaces what the compiler would have produced");
    replacements[file] = std::move(text);
  }
  if (error)
    throw UserError("override folder '" + folder + "' cannot be read: " + error.message());
}

/// Whoever edits a dump and then changes the kernel, its schedule or Sectile should know why the edit has no effect.
void StageOverrides::warnOfOtherKeys(llvm::StringRef kernel, llvm::StringRef key) const {
  const std::string wanted = folderName(kernel, key);
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; it != end && !error; it.increment(error)) {
    llvm::StringRef rest = llvm::sys::path::filename(it->path());
    if (rest.consume_front(fileName(kernel) + "-") && rest.size() == keyDigits &&
        llvm::all_of(rest, llvm::isHexDigit)) {
      log.write(Log::warning, "override folder '" + it->path() + "' is of another variant of kernel '" + kernel.str() +
                                  "' and replaces nothing in this one, which is '" + wanted + "'; a folder '" +
                                  fileName(kernel) + "' applies to all variants");
      return;
    }
  }
}

Replacements StageOverrides::find(llvm::StringRef kernel, llvm::StringRef key) const {
  Replacements replacements;
  const std::string all = directory + "/" + fileName(kernel), one = directory + "/" + folderName(kernel, key);
  collect(all, replacements);
  collect(one, replacements); // the more special one wins
  if (!fs::exists(all) && !fs::exists(one))
    warnOfOtherKeys(kernel, key);
  return replacements;
}

std::string sectile::keyWith(const Replacements &replacements, const std::string &key) {
  if (replacements.empty())
    return key;
  std::map<llvm::StringRef, llvm::StringRef> sorted; // a StringMap has no order to rely on
  for (const auto &entry : replacements)
    sorted[entry.getKey()] = entry.getValue();
  Fingerprint fingerprint;
  fingerprint.add(key);
  for (auto [file, content] : sorted)
    fingerprint.add(file).add(content);
  return fingerprint.hex();
}
