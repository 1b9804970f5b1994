// sectile cache: looks into the cache of compiled kernels on disk.

#include "Command.h"
#include "Output.h"

#include "runtime/CacheEntry.h"
#include "sectile/Error.h"
#include "sectile/Session.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <filesystem>

namespace fs = std::filesystem;
using namespace sectile;
using namespace sectile::cli;

namespace {

/// One file of the cache: an entry, or why it is none.
struct CachedFile {
  fs::path path;
  uintmax_t bytes = 0;
  CacheEntry entry;
  std::string damage;
};

CachedFile open(const fs::path &path) {
  CachedFile file{path, 0, {}, {}};
  const auto buffer = llvm::MemoryBuffer::getFile(path.string(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    file.damage = buffer.getError().message();
    return file;
  }
  file.bytes = (*buffer)->getBufferSize();
  if (llvm::Expected<CacheEntry> entry = CacheEntry::parse((*buffer)->getBuffer()))
    file.entry = std::move(*entry);
  else
    file.damage = llvm::toString(entry.takeError());
  if (file.damage.empty() && file.entry.key != path.stem())
    file.damage = "holds key " + file.entry.key + ", its name says otherwise";
  return file;
}

/// The directory that a session uses, or a UserError when the cache is off.
std::string directory() {
  const std::string location = Session().cacheLocation();
  if (location == "memory")
    throw UserError("the cache is in memory only (SECTILE_CACHE=off, or no directory can be written)");
  return location;
}

/// The entries, by file name, or those whose key begins with `prefix`.
std::vector<fs::path> entryPaths(const std::string &prefix = "") {
  std::vector<fs::path> paths;
  for (const fs::directory_entry &file : fs::directory_iterator(directory()))
    if (file.path().extension() == ".sectile" && file.path().filename().string().starts_with(prefix))
      paths.push_back(file.path());
  std::ranges::sort(paths);
  return paths;
}

/// The one entry whose key begins with `key`.
fs::path find(const std::string &key) {
  const std::vector<fs::path> paths = entryPaths(key);
  if (paths.size() != 1)
    throw UserError("'" + key + "' is the beginning of " + (paths.empty() ? "no" : std::to_string(paths.size())) +
                    " key in " + directory() + "; 'sectile cache ls' lists them");
  return paths.front();
}

Outcome list(Output &output) {
  for (const fs::path &path : entryPaths()) {
    const CachedFile file = open(path);
    if (!file.damage.empty()) {
      output.result(llvm::json::Object{{"key", path.stem().string()}, {"damage", file.damage}},
                    path.stem().string() + "  damaged: " + file.damage);
      continue;
    }
    const CacheEntry &entry = file.entry;
    output.result(llvm::json::Object{{"key", entry.key},
                                     {"kernel", entry.name},
                                     {"target", entry.target},
                                     {"schedule", toString(entry.schedule)},
                                     {"bytes", static_cast<int64_t>(file.bytes)}},
                  format("%s  %s  %s  %s  %ju bytes", entry.key.c_str(), entry.name.c_str(),
                         shortTarget(entry.target).c_str(), toString(entry.schedule).c_str(), file.bytes));
  }
  return Outcome::ok;
}

Outcome show(Output &output, const std::string &key) {
  const CachedFile file = open(find(key));
  if (!file.damage.empty())
    throw UserError(file.path.string() + ": " + file.damage);
  const CacheEntry &entry = file.entry;
  std::string text =
      format("key       %s\nkernel    %s\ntarget    %s\nschedule  %s\nbuild     %s\n", entry.key.c_str(),
             entry.name.c_str(), entry.target.c_str(), toString(entry.schedule).c_str(), entry.buildId.c_str());
  llvm::json::Object resources, stages;
  for (const auto &[name, value] : entry.artifact.resources) {
    resources[name] = value;
    text += format("%-9s %lld\n", name.c_str(), static_cast<long long>(value));
  }
  for (const Stage &stage : entry.artifact.stages) {
    const bool binary = stage.name == "object" || stage.name == "cubin";
    stages[stage.name] = binary ? llvm::json::Value(static_cast<int64_t>(stage.text.size())) : stage.text;
    text += "\n=== " + stage.file + "\n" + (binary ? format("%zu bytes", stage.text.size()) : stage.text);
  }
  output.result(llvm::json::Object{{"key", entry.key},
                                   {"kernel", entry.name},
                                   {"target", entry.target},
                                   {"schedule", toString(entry.schedule)},
                                   {"build", entry.buildId},
                                   {"resources", std::move(resources)},
                                   {"stages", std::move(stages)}},
                text);
  return Outcome::ok;
}

Outcome verify(Output &output) {
  int64_t whole = 0, damaged = 0;
  for (const fs::path &path : entryPaths()) {
    const CachedFile file = open(path);
    ++(file.damage.empty() ? whole : damaged);
    if (!file.damage.empty())
      output.message(path.string() + ": " + file.damage);
  }
  output.result(llvm::json::Object{{"whole", whole}, {"damaged", damaged}},
                format("%lld entries are whole, %lld are damaged", static_cast<long long>(whole),
                       static_cast<long long>(damaged)));
  return damaged ? Outcome::failed : Outcome::ok;
}

Outcome remove(Output &output, const std::vector<std::string> &keys, bool all) {
  if (all != keys.empty())
    throw UserError("cache rm wants keys, or --all and no key");
  std::vector<fs::path> paths;
  if (all)
    paths = entryPaths();
  for (const std::string &key : keys)
    paths.push_back(find(key));
  for (const fs::path &path : paths)
    fs::remove(path);
  output.result(llvm::json::Object{{"removed", static_cast<int64_t>(paths.size())}},
                format("%zu entries removed", paths.size()));
  return Outcome::ok;
}

} // namespace

void sectile::cli::addCache(CLI::App &program, Action &action) {
  CLI::App *app = program.add_subcommand("cache", "Look into the cache of compiled kernels.");
  app->require_subcommand(1);
  app->fallthrough();

  app->add_subcommand("path", "Print the directory.")->callback([&action] {
    action = [](Output &output) {
      const std::string location = Session().cacheLocation();
      output.result(llvm::json::Object{{"path", location}}, location);
      return Outcome::ok;
    };
  });
  app->add_subcommand("ls", "List the kernels.")->callback([&action] { action = list; });
  app->add_subcommand("verify", "Read every entry; exit 1 when one is damaged.")->callback([&action] {
    action = verify;
  });

  CLI::App *showApp = app->add_subcommand("show", "Print one kernel with all its stages.");
  auto key = std::make_shared<std::string>();
  showApp->add_option("key", *key, "the key, or its beginning")->required()->type_name("KEY");
  showApp->callback([key, &action] { action = [key](Output &output) { return show(output, *key); }; });

  CLI::App *removeApp = app->add_subcommand("rm", "Remove kernels; they are compiled again when needed.");
  auto keys = std::make_shared<std::vector<std::string>>();
  auto all = std::make_shared<bool>(false);
  removeApp->add_option("keys", *keys, "keys, or their beginnings")->type_name("KEY");
  removeApp->add_flag("--all", *all, "everything");
  removeApp->callback(
      [keys, all, &action] { action = [keys, all](Output &output) { return remove(output, *keys, *all); }; });
}
