// What the commands print: results on stdout, as text or as JSON; messages and progress on stderr.
#pragma once

#include "llvm/Support/JSON.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace sectile::cli {

class Output {
public:
  explicit Output(bool json) : json(json) {}

  /// One result: `object` on a line of its own with --json, else `text`.
  void result(llvm::json::Object object, const std::string &text);
  /// For people, on stderr.
  void message(const std::string &text);

private:
  bool json;
};

/// While it lives and stderr is a terminal, shows what is being done, beginning after a second.
class Progress {
public:
  explicit Progress(std::string what);
  ~Progress();

private:
  void show();
  std::string what;
  std::mutex mutex;
  std::condition_variable wake;
  bool done = false;
  std::thread thread; // none when stderr is no terminal
};

/// "cpu:znver5" of "cpu:znver5:+avx2,…": a target without its features, for people.
std::string shortTarget(const std::string &target);

/// `printf` into a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char *pattern, ...);

} // namespace sectile::cli
