// Environment variables and scratch folders for the length of a scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

extern "C" char **environ;

namespace sectile::test {

/// While it lives, the SECTILE_ variables of the process are exactly these; other variables named are set (or, with
/// null, unset) as well. Everything is put back at the end.
class Environment {
public:
  Environment(std::initializer_list<std::pair<const char *, const char *>> variables) {
    std::vector<std::string> ours;
    for (char **entry = environ; *entry; ++entry)
      if (std::string text = *entry; text.starts_with("SECTILE_"))
        ours.push_back(text.substr(0, text.find('=')));
    for (const std::string &name : ours)
      set(name, nullptr);
    for (auto [name, value] : variables)
      set(name, value);
  }
  ~Environment() {
    for (auto it = before.rbegin(); it != before.rend(); ++it)
      it->present ? ::setenv(it->name.c_str(), it->value.c_str(), 1) : ::unsetenv(it->name.c_str());
  }
  Environment(const Environment &) = delete;

private:
  struct Saved {
    std::string name, value;
    bool present;
  };
  void set(const std::string &name, const char *value) {
    const char *old = std::getenv(name.c_str());
    before.push_back({name, old ? old : "", old != nullptr});
    value ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
  }
  std::vector<Saved> before;
};

/// A fresh folder, removed at the end.
class ScratchFolder {
public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sectile-test-XXXXXX").string();
    folder = ::mkdtemp(name.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  const std::filesystem::path &path() const { return folder; }
  std::string operator/(const std::string &name) const { return (folder / name).string(); }

private:
  std::filesystem::path folder;
};

inline std::string readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

} // namespace sectile::test
