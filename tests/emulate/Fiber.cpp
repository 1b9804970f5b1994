// Jumps, not swapcontext(): that asks the system for the mask of signals, which takes ten times as long. The checks of
// hardened C libraries refuse jumps to other stacks.
#undef _FORTIFY_SOURCE
#include "tests/emulate/Fiber.h"

#include <cstdint>

using namespace sectile::warps;

void Fiber::start(std::function<void()> given) {
  body = std::move(given);
  entered = done = false;
  if (!stack)
    stack = std::make_unique_for_overwrite<char[]>(stackBytes);
  getcontext(&first);
  first.uc_stack = {stack.get(), 0, stackBytes};
  first.uc_link = nullptr;
  const auto self = reinterpret_cast<uintptr_t>(this);
  makecontext(&first, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32));
}

void Fiber::enter(unsigned low, unsigned high) {
  auto *self = reinterpret_cast<Fiber *>(static_cast<uintptr_t>(low) | static_cast<uintptr_t>(high) << 32);
  self->body();
  self->done = true;
  _longjmp(self->outside, 1);
}

void Fiber::resume() {
  if (_setjmp(outside) != 0)
    return;
  if (entered)
    _longjmp(inside, 1);
  entered = true;
  setcontext(&first);
}

void Fiber::pause() {
  if (_setjmp(inside) == 0)
    _longjmp(outside, 1);
}
