#include "Output.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <unistd.h>

using namespace sectile::cli;

void Output::result(llvm::json::Object object, const std::string &text) {
  if (json)
    llvm::outs() << llvm::json::Value(std::move(object)) << "\n";
  else
    llvm::outs() << text << "\n";
  llvm::outs().flush();
}

void Output::message(const std::string &text) { llvm::errs() << "sectile: " << text << "\n"; }

Progress::Progress(std::string what) : what(std::move(what)) {
  if (isatty(STDERR_FILENO))
    thread = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    const std::lock_guard lock(mutex);
    done = true;
  }
  wake.notify_one();
  thread.join();
}

void Progress::show() {
  using namespace std::chrono_literals;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  bool shown = false;
  for (auto wait = 1000ms; !wake.wait_for(lock, wait, [this] { return done; }); wait = 200ms) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "\r%s … %.1f s ", what.c_str(), elapsed.count());
    shown = true;
  }
  if (shown)
    std::fprintf(stderr, "\r\033[K");
}

std::string sectile::cli::shortTarget(const std::string &target) {
  return target.substr(0, target.find(':', target.find(':') + 1));
}

std::string sectile::cli::format(const char *pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  std::string result(static_cast<size_t>(std::vsnprintf(nullptr, 0, pattern, arguments)), '\0');
  std::vsnprintf(result.data(), result.size() + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return result;
}
