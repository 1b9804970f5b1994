#include "sectile/Options.h"

#include "runtime/DumpFilter.h"
#include "runtime/UserDirectories.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdlib>
#include <optional>

extern "C" char **environ;

using namespace sectile;

/// A malformed variable, with what is legal.
[[noreturn]] static void refuse(llvm::StringRef variable, llvm::StringRef value, const std::string &legal) {
  throw UserError("environment variable " + variable.str() + " is '" + value.str() + "'; legal: " + legal);
}

// --- one function a variable -----------------------------------------------------------------------------------------

static void readTarget(Options &options, llvm::StringRef value) {
  // The family is checked here, so that the message can name the variable; the session checks the rest.
  bool known = llvm::StringSwitch<bool>(value.split(':').first)
                   .Cases({"cpu", "interpret", "cuda", "hip", "nvptx", "amdgcn", "emulate"}, true)
                   .Default(false);
  if (!known)
    refuse("SECTILE_TARGET", value, "cpu, cpu:<processor>, interpret, cuda, cuda:<n>, nvptx:<architecture>");
  options.target = value.str();
}

static void readAutotune(Options &options, llvm::StringRef value) {
  auto mode = llvm::StringSwitch<std::optional<Options::Autotune>>(value)
                  .CasesLower({"0", "false", "off"}, Options::Autotune::off)
                  .CasesLower({"1", "true", "on"}, Options::Autotune::on)
                  .CaseLower("force", Options::Autotune::force)
                  .Default(std::nullopt);
  if (!mode)
    refuse("SECTILE_AUTOTUNE", value, "0, false, off; 1, true, on; force");
  options.autotune = *mode;
}

static void readCache(Options &options, llvm::StringRef value) { options.cache = value.str(); }

static void readDump(Options &options, llvm::StringRef value) {
  if (llvm::Expected<DumpFilter> filter = DumpFilter::parse(value); !filter)
    refuse("SECTILE_DUMP", value,
           "a directory, or directory:glob of kernel names (" + llvm::toString(filter.takeError()) + ")");
  options.dump = value.str();
}

static void readOverride(Options &options, llvm::StringRef value) {
  if (!llvm::sys::fs::is_directory(value))
    refuse("SECTILE_OVERRIDE", value, "a directory that is there");
  options.overrides = value.str();
}

static void readLog(Options &options, llvm::StringRef value) {
  if (value.getAsInteger(10, options.logLevel) || options.logLevel < 0 || options.logLevel > 3)
    refuse("SECTILE_LOG", value, "0 (errors), 1 (warnings), 2 (compilations and cache traffic), 3 (every launch)");
}

namespace {
struct Variable {
  llvm::StringLiteral name;
  void (*read)(Options &, llvm::StringRef);
};
} // namespace

static constexpr Variable variables[] = {{"SECTILE_TARGET", readTarget},     {"SECTILE_AUTOTUNE", readAutotune},
                                         {"SECTILE_CACHE", readCache},       {"SECTILE_DUMP", readDump},
                                         {"SECTILE_OVERRIDE", readOverride}, {"SECTILE_LOG", readLog}};

Options Options::fromEnvironment(const std::string &defaultTarget) {
  Options options;
  options.target = defaultTarget;
  for (char **entry = environ; entry && *entry; ++entry) {
    auto [name, value] = llvm::StringRef(*entry).split('=');
    if (!name.starts_with("SECTILE_"))
      continue;
    const Variable *variable = llvm::find_if(variables, [n = name](const Variable &v) { return v.name == n; });
    if (variable == std::end(variables))
      throw UserError("environment variable " + name.str() + " is not known; variables are " +
                      llvm::join(llvm::map_range(variables, [](const Variable &v) { return v.name.str(); }), ", "));
    if (!value.empty()) // set to nothing is as good as unset
      variable->read(options, value);
  }
  return options;
}

UserDirectories sectile::userDirectories() {
  auto directory = [](const char *variable) -> std::string {
    const char *value = std::getenv(variable);
    return value && llvm::sys::path::is_absolute(value) ? value : "";
  };
  UserDirectories result;
  result.cache = directory("XDG_CACHE_HOME");
  if (std::string home = directory("HOME"); result.cache.empty() && !home.empty())
    result.cache = home + "/.cache";
  result.temporary = directory("TMPDIR");
  if (result.temporary.empty())
    result.temporary = "/tmp";
  return result;
}
