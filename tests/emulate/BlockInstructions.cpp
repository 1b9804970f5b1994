#include "tests/emulate/BlockInstructions.h"

#include "sectile/Error.h"

#include <cstring>

using namespace sectile;
using namespace sectile::warps;

namespace {

using Run = std::function<void(Block &, const uint32_t *in, uint32_t *out)>;

uint64_t wide(const uint32_t *words) {
  uint64_t value;
  std::memcpy(&value, words, sizeof value);
  return value;
}
uint32_t shared(const uint32_t *words) { return Block::sharedAddress(wide(words)); }

void requireWholeWarp(uint32_t mask, const std::string &name) {
  if (mask != ~0u)
    throw InternalError(name + " with a mask of " + std::to_string(mask) + "; emulated: all lanes");
}

Run ofWarp(const std::string &name, bool hasMask, const WarpInstruction &instruction) {
  return [=](Block &block, const uint32_t *in, uint32_t *out) {
    if (hasMask)
      requireWholeWarp(in[0], name);
    block.meetWarp(in, out, instruction);
  };
}

/// One that code may not know: not lane 0.
void elect(const WarpState &warp) {
  for (uint32_t lane = 0; lane < warpSize; ++lane) {
    warp.out[lane][0] = warpSize - 1;
    warp.out[lane][1] = lane == warpSize - 1;
  }
}

/// Barriers of threads: arguments are the number and how many.
Run ofNamedBarrier(std::string_view name) {
  const bool waits = name.find(".sync.") != std::string_view::npos, hasCount = name.ends_with(".count");
  return [=](Block &block, const uint32_t *in, uint32_t *) { block.namedBarrier(in[0], hasCount ? in[1] : 0, waits); };
}

Run ofMbarrier(std::string_view name) {
  const auto is = [&](std::string_view what) { return name.starts_with(what); };
  if (is("init."))
    return [](Block &block, const uint32_t *in, uint32_t *) {
      block.barriers().initialize(shared(in), in[2], block.thread());
    };
  if (is("inval."))
    return [](Block &block, const uint32_t *in, uint32_t *) { block.barriers().invalidate(shared(in)); };
  if (is("arrive.expect.tx."))
    return [](Block &block, const uint32_t *in, uint32_t *) {
      if (block.barriers().arriveExpecting(shared(in), in[2]))
        block.wakePhase(shared(in));
    };
  if (is("expect.tx."))
    return [](Block &block, const uint32_t *in, uint32_t *) { block.barriers().expect(shared(in), in[2]); };
  if (is("arrive.scope.") || is("arrive.relaxed.") || name == "arrive.shared") {
    const bool counts = name != "arrive.shared";
    return [=](Block &block, const uint32_t *in, uint32_t *) {
      if (block.barriers().arrive(shared(in), counts ? in[2] : 1))
        block.wakePhase(shared(in));
    };
  }
  if (is("try.wait.parity.scope.") || is("try.wait.parity.relaxed.") || is("try.wait.parity.tl."))
    return [](Block &block, const uint32_t *in, uint32_t *out) {
      block.waitPhase(shared(in), in[2]);
      out[0] = 1; // the machine may give up early, and code asks again
    };
  if (is("test.wait.parity."))
    return [](Block &block, const uint32_t *in, uint32_t *out) { out[0] = block.barriers().isOver(shared(in), in[2]); };
  return {};
}

/// Arguments: where to, barrier, map, coordinates; cache hints and what only clusters have follow.
Run ofBulkCopy(uint32_t rank) {
  return [=](Block &block, const uint32_t *in, uint32_t *) {
    const auto *map = reinterpret_cast<const EncodedTensorMap *>(static_cast<uintptr_t>(wide(in + 4)));
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0)
      throw InternalError("a tensor map at an address that is no multiple of 64");
    if (map->rank != rank)
      throw InternalError("a bulk copy of rank " + std::to_string(rank) + " by a tensor map of rank " +
                          std::to_string(map->rank));
    int32_t coordinates[5];
    std::memcpy(coordinates, in + 6, rank * sizeof(int32_t));
    block.copyBulk(*map, coordinates, shared(in), shared(in + 2));
  };
}

Run ofBlock(const std::string &full) {
  constexpr std::string_view prefix = "llvm.nvvm.";
  if (!full.starts_with(prefix))
    return {};
  const std::string_view name = std::string_view(full).substr(prefix.size());
  const auto is = [&](std::string_view what) { return name.starts_with(what); };
  using Order = Block::ProductOrder;
  if (name == "read.ptx.sreg.tid.x")
    return [](Block &block, const uint32_t *, uint32_t *out) { out[0] = static_cast<uint32_t>(block.thread()); };
  if (name == "read.ptx.sreg.ctaid.x")
    return [](Block &block, const uint32_t *, uint32_t *out) { out[0] = static_cast<uint32_t>(block.index()); };
  if (name == "read.ptx.sreg.nctaid.x")
    return [](Block &block, const uint32_t *, uint32_t *out) { out[0] = static_cast<uint32_t>(block.count()); };
  if (is("barrier.cta.sync.") || is("barrier.cta.arrive."))
    return ofNamedBarrier(name);
  if (is("mbarrier."))
    return ofMbarrier(name.substr(9));
  for (const std::string_view copy : {"cp.async.bulk.tensor.g2s.tile.", "cp.async.bulk.tensor.g2s.cta.tile."})
    if (is(copy))
      return ofBulkCopy(static_cast<uint32_t>(name[copy.size()] - '0'));
  if (is("fence.proxy.async") || is("fence.mbarrier_init"))
    return [](Block &block, const uint32_t *, uint32_t *) { block.barriers().fence(block.thread()); };
  if (is("prefetch.tensormap"))
    return [](Block &, const uint32_t *, uint32_t *) {};
  if (name == "wgmma.fence.sync.aligned")
    return [](Block &block, const uint32_t *, uint32_t *) { block.orderProducts(Order::fence); };
  if (name == "wgmma.commit_group.sync.aligned")
    return [](Block &block, const uint32_t *, uint32_t *) { block.orderProducts(Order::commit); };
  if (name == "wgmma.wait_group.sync.aligned")
    return [](Block &block, const uint32_t *in, uint32_t *) { block.orderProducts(Order::wait, wide(in)); };
  if (is("setmaxnreg.")) {
    const bool isIncrease = is("setmaxnreg.inc");
    return [=](Block &block, const uint32_t *in, uint32_t *) { block.setRegisters(in[0], isIncrease); };
  }
  if (name == "elect.sync")
    return ofWarp(full, true, elect);
  if (name == "bar.warp.sync")
    return ofWarp(full, true, [](const WarpState &) {});
  return {};
}

} // namespace

Instruction warps::instructionNamed(const std::string &name) {
  if (Run run = ofBlock(name))
    return {name, std::move(run)};
  if (const auto instruction = warpInstruction(name)) {
    const bool hasMask = name.starts_with("llvm.nvvm.shfl.sync.") || name.starts_with("llvm.nvvm.vote.");
    return {name, ofWarp(name, hasMask, *instruction)};
  }
  if (const auto instruction = threadInstruction(name))
    return {name,
            [run = *instruction](Block &block, const uint32_t *in, uint32_t *out) { run(block.copies(), in, out); }};
  throw InternalError("emulation: there is no instruction " + name);
}
