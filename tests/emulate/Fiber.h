// A function that can be left in the middle and continued: how one thread of the host plays many.
#pragma once

#include <csetjmp>
#include <functional>
#include <memory>
#include <ucontext.h>

namespace sectile::warps {

class Fiber {
public:
  Fiber() = default;
  Fiber(const Fiber &) = delete;

  /// `body` runs when resumed, from its beginning; it must not throw.
  void start(std::function<void()> body);
  /// Continues the body until it pauses or ends.
  void resume();
  /// Called in the body: back to resume().
  void pause();
  bool isDone() const { return done; }

private:
  [[noreturn]] static void enter(unsigned low, unsigned high);

  static constexpr size_t stackBytes = size_t{1} << 20;
  std::unique_ptr<char[]> stack; ///< takes memory where it was used
  std::function<void()> body;
  ucontext_t first;
  std::jmp_buf inside, outside;
  bool entered = false, done = true;
};

} // namespace sectile::warps
