#include "runtime/ScratchPool.h"

#include "sectile/Error.h"

#include <string>

using namespace sectile;

ScratchPool::Block ScratchPool::borrow(size_t slabBytes, int workers) {
  Block block;
  if (slabBytes == 0)
    return block;
  block.pool = this;
  block.slabBytes = (slabBytes + alignment - 1) / alignment * alignment;
  const size_t wanted = block.slabBytes * static_cast<size_t>(workers);
  // 1. The block that came back last, because it is the warmest; one that is too small makes way for a larger one.
  {
    std::lock_guard lock(mutex);
    if (!idle.empty()) {
      block.memory = std::move(idle.back().memory);
      block.bytes = idle.back().bytes;
      idle.pop_back();
    }
  }
  if (block.memory && block.bytes >= wanted)
    return block;
  // 2. Fresh memory.
  block.memory.reset(static_cast<char *>(std::aligned_alloc(alignment, wanted)));
  block.bytes = wanted;
  if (!block.memory)
    throw DeviceError("no memory for " + std::to_string(wanted) + " bytes of scratch (" +
                      std::to_string(block.slabBytes) + " for each of " + std::to_string(workers) + " threads)");
  return block;
}

void ScratchPool::giveBack(std::unique_ptr<char, Free> memory, size_t bytes) {
  std::lock_guard lock(mutex);
  idle.push_back({std::move(memory), bytes});
}
