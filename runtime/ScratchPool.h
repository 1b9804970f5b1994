// Scratch memory for launches: each launch in flight borrows a block with one slab a worker thread.
//
// Blocks are returned and reused, so that a session allocates as many as it ever had launches in flight at once.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

namespace sectile {

class ScratchPool {
  struct Free {
    void operator()(void *memory) const { std::free(memory); }
  };

public:
  static constexpr size_t alignment = 64;

  /// A block on loan; goes back to the pool at the end of its life.
  class Block {
  public:
    Block(Block &&) = default;
    ~Block() {
      if (memory)
        pool->giveBack(std::move(memory), bytes);
    }
    /// The slab of one worker, null when no scratch was asked for.
    void *slab(int worker) const { return memory ? memory.get() + static_cast<size_t>(worker) * slabBytes : nullptr; }

  private:
    friend class ScratchPool;
    Block() = default;
    ScratchPool *pool = nullptr;
    std::unique_ptr<char, Free> memory;
    size_t bytes = 0, slabBytes = 0;
  };

  /// Throws DeviceError when there is no memory.
  Block borrow(size_t slabBytes, int workers);

private:
  struct Idle {
    std::unique_ptr<char, Free> memory;
    size_t bytes;
  };
  void giveBack(std::unique_ptr<char, Free> memory, size_t bytes);

  std::mutex mutex;
  std::vector<Idle> idle;
};

} // namespace sectile
