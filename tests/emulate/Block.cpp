#include "tests/emulate/Block.h"

#include "sectile/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

using namespace sectile;
using namespace sectile::warps;

Block::Block(const BlockShape &shape, char *shared)
    : shape(shape), shared(shared), threads(shape.threads), warps(shape.threads / warpSize), mbarriers(shared) {
  if (shape.threads < warpSize || shape.threads % warpSize != 0)
    throw InternalError("a block of " + std::to_string(shape.threads) + " threads; legal: multiples of 32");
  for (int i = 0; i < shape.threads; ++i)
    threads[i].index = i;
}

//===-- the course of a block ------------------------------------------------------------------------------------===//

void Block::start() {
  std::memset(shared, 0xff, sharedWindow); // what nobody wrote is NaN
  warps.assign(warps.size(), {});
  // 65536 are shared out by eights, which is also how the assembler counts when it has no limit.
  const uint32_t share = 65536 / static_cast<uint32_t>(threads.size()) / 8 * 8;
  if (shape.registers > share)
    throw InternalError("a launch of " + std::to_string(threads.size()) + " threads with " +
                        std::to_string(shape.registers) + " registers each; there are " + std::to_string(share));
  const uint32_t launchRegisters = shape.registers ? shape.registers : std::min(share, 255u);
  freeRegisters = 0;
  groups.clear();
  for (size_t i = 0; i < threads.size() / warpGroupSize; ++i)
    groups.emplace_back(Products(shared, shape.sharedBytes), launchRegisters);
  mbarriers.clear();
  namedBarriers.clear();
  bulkCopies.clear();
  failure.clear();
  for (Thread &thread : threads) {
    thread.state = State::ready;
    thread.copies = {};
    thread.fiber.start([this, &thread] {
      shape.body();
      thread.state = State::done;
    });
  }
}

void Block::run(int64_t index, int64_t count, std::mt19937 &random) {
  blockIndex = index;
  blockCount = count;
  start();
  std::vector<size_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  while (!isOver()) {
    std::shuffle(order.begin(), order.end(), random);
    bool any = false;
    for (size_t warp : order)
      any |= runWarp(warp, random);
    const bool isEarly = any && random() % 8 == 0;
    if ((!any || isEarly) && anythingPending())
      letHappen(random, isEarly);
    else if (!any)
      reportDeadlock();
  }
  finish();
}

/// Lanes one after another, until all of them wait, each time in another order.
bool Block::runWarp(size_t warp, std::mt19937 &random) {
  bool ever = false;
  for (bool any = true; any; ever |= any) {
    any = false;
    const size_t order = random() % warpSize;
    for (size_t i = 0; i < warpSize; ++i) {
      Thread &thread = threads[warp * warpSize + (i ^ order)];
      if (thread.state != State::ready)
        continue;
      any = true;
      current = &thread;
      thread.fiber.resume();
      if (!failure.empty())
        throw InternalError(failure);
    }
  }
  return ever;
}

bool Block::isOver() const {
  return std::ranges::all_of(threads, [](const Thread &thread) { return thread.state == State::done; });
}

void Block::finish() const {
  if (!bulkCopies.empty())
    throw InternalError("the block has ended, and a bulk copy to shared address " +
                        std::to_string(bulkCopies.front().place()) + " is still on its way");
  for (const Group &group : groups)
    if (const std::optional<std::string> product = group.products.inFlight())
      throw InternalError("the block has ended, and " + *product + " is still in flight");
}

bool Block::anythingPending() const { return !bulkCopies.empty() || std::ranges::any_of(groups, &Group::isWaiting); }

/// One of the things that are on their way: of those that somebody waits for, if there are any.
void Block::letHappen(std::mt19937 &random, bool isEarly) {
  std::vector<size_t> copies;
  std::vector<Group *> waiting;
  for (Group &group : groups)
    if (group.isWaiting)
      waiting.push_back(&group);
  for (size_t i = 0; i < bulkCopies.size(); ++i)
    if (isEarly || isWaitedFor(bulkCopies[i].barrier()))
      copies.push_back(i);
  if (copies.empty() && waiting.empty()) {
    copies.resize(bulkCopies.size());
    std::iota(copies.begin(), copies.end(), 0);
  }
  const size_t choice = random() % (copies.size() + waiting.size());
  if (choice < copies.size()) {
    const BulkCopy copy = bulkCopies[copies[choice]];
    bulkCopies.erase(bulkCopies.begin() + static_cast<std::ptrdiff_t>(copies[choice]));
    copy.arrive();
    if (mbarriers.receive(copy.barrier(), copy.bytes()))
      wakePhase(copy.barrier());
    return;
  }
  Group &group = *waiting[choice - copies.size()];
  group.products.complete(group.pendingGroups);
  group.isWaiting = false;
  release(static_cast<int>(&group - groups.data()) * warpGroupSize, warpGroupSize);
}

bool Block::isWaitedFor(uint32_t barrier) const {
  return std::ranges::any_of(
      threads, [&](const Thread &thread) { return thread.state == State::atPhase && thread.barrier == barrier; });
}

//===-- threads that execute an instruction ----------------------------------------------------------------------===//

void Block::execute(const Instruction &instruction, const uint32_t *in, uint32_t *out) {
  Thread &self = *current;
  self.at = &instruction;
  try {
    instruction.run(*this, in, out);
    return;
  } catch (const std::exception &error) {
    failure = error.what();
  }
  pause(State::failed); // for good
}

uint32_t Block::resolveProduct(uint32_t bits) {
  try {
    return group().products.resolve(bits, current->index % warpGroupSize);
  } catch (const std::exception &error) {
    failure = error.what();
  }
  pause(State::failed);
  return 0;
}

void Block::pause(State state) {
  Thread &self = *current;
  self.state = state;
  self.fiber.pause();
}

void Block::release(int first, int count) {
  for (int i = first; i < first + count; ++i)
    threads[i].state = State::ready;
}

/// Counts a thread that arrives; all but the last one wait here until they are released.
bool Block::isLast(Meeting &meeting, int size, State state) {
  if (meeting.arrived == 0)
    meeting.at = current->at;
  else if (meeting.at != current->at)
    throw InternalError("threads meet at different instructions: some at " + meeting.at->name + ", thread " +
                        std::to_string(current->index) + " at " + current->at->name);
  if (++meeting.arrived < size) {
    pause(state);
    return false;
  }
  meeting.arrived = 0;
  release(current->index / size * size, size);
  return true;
}

void Block::meetWarp(const uint32_t *in, uint32_t *out, const WarpAction &action) {
  Warp &warp = warps[current->index / warpSize];
  warp.operands.in[current->index % warpSize] = in;
  warp.operands.out[current->index % warpSize] = out;
  if (isLast(warp, warpSize, State::inWarp))
    action(warp.operands);
}

Block::Group &Block::group() {
  const size_t index = current->index / warpGroupSize;
  if (index >= groups.size())
    throw InternalError("thread " + std::to_string(current->index) + " is in no whole group of four warps");
  return groups[index];
}

void Block::issueProduct(const Wgmma &instruction, const WgmmaArguments &arguments, uint32_t *out) {
  Group &group = this->group();
  group.arguments[current->index % warpGroupSize] = &arguments;
  group.results[current->index % warpGroupSize] = out;
  if (isLast(group, warpGroupSize, State::inGroup))
    group.products.issue(instruction, group.arguments, group.results);
}

void Block::orderProducts(ProductOrder order, size_t pendingGroups) {
  Group &group = this->group();
  if (!isLast(group, warpGroupSize, State::inGroup))
    return;
  if (order == ProductOrder::fence)
    return group.products.fence();
  if (order == ProductOrder::commit)
    return group.products.commit();
  if (!group.products.mustWait(pendingGroups))
    return;
  group.pendingGroups = pendingGroups;
  group.isWaiting = true;
  const int first = current->index / warpGroupSize * warpGroupSize;
  for (int i = first; i < first + warpGroupSize; ++i)
    threads[i].state = State::atProducts;
  pause(State::atProducts);
}

void Block::setRegisters(uint32_t count, bool isIncrease) {
  Group &group = this->group();
  const std::string what = "setmaxnreg from " + std::to_string(group.registers) + " to " + std::to_string(count);
  if (isIncrease ? count < group.registers : count > group.registers)
    throw InternalError(what + (isIncrease ? " is no increase" : " is no decrease"));
  if (!isLast(group, warpGroupSize, State::inGroup))
    return;
  if (isIncrease) {
    group.wantedRegisters = count;
    const int first = current->index / warpGroupSize * warpGroupSize;
    for (int i = first; i < first + warpGroupSize; ++i)
      threads[i].state = State::atRegisters;
  } else {
    freeRegisters += group.registers - count;
    group.registers = count;
  }
  giveRegisters();
  if (current->state != State::ready)
    pause(current->state);
}

void Block::giveRegisters() {
  for (Group &group : groups) {
    if (group.wantedRegisters == 0 || group.wantedRegisters - group.registers > freeRegisters)
      continue;
    freeRegisters -= group.wantedRegisters - group.registers;
    group.registers = std::exchange(group.wantedRegisters, 0);
    release(static_cast<int>(&group - groups.data()) * warpGroupSize, warpGroupSize);
  }
}

//===-- barriers -------------------------------------------------------------------------------------------------===//

void Block::namedBarrier(uint32_t id, uint32_t count, bool waits) {
  if (count == 0)
    count = static_cast<uint32_t>(threads.size());
  if (id > 15 || count % warpSize != 0 || count > threads.size())
    throw InternalError("barrier " + std::to_string(id) + " of " + std::to_string(count) +
                        " threads; legal: barriers 0 to 15, multiples of 32 threads up to " +
                        std::to_string(threads.size()));
  NamedBarrier &barrier = namedBarriers[id];
  if (barrier.arrived != 0 && barrier.count != count)
    throw InternalError("barrier " + std::to_string(id) + " is one of " + std::to_string(barrier.count) +
                        " threads, and of " + std::to_string(count) + " for thread " + std::to_string(current->index));
  barrier.count = count;
  if (++barrier.arrived < count) {
    if (!waits)
      return;
    current->barrier = id;
    pause(State::atBarrier);
    return;
  }
  barrier.arrived = 0;
  for (Thread &thread : threads)
    if (thread.state == State::atBarrier && thread.barrier == id)
      thread.state = State::ready;
}

void Block::waitPhase(uint32_t barrier, uint32_t parity) {
  current->barrier = barrier;
  current->parity = parity;
  while (!mbarriers.isOver(barrier, parity)) // asked again: it may have gone on by more than one phase
    pause(State::atPhase);
}

void Block::wakePhase(uint32_t barrier) {
  for (Thread &thread : threads)
    if (thread.state == State::atPhase && thread.barrier == barrier)
      thread.state = State::ready;
}

void Block::copyBulk(const EncodedTensorMap &map, const int32_t *coordinates, uint32_t to, uint32_t barrier) {
  if (map.mark != EncodedTensorMap::validMark)
    throw InternalError("a bulk copy by a tensor map that is none");
  mbarriers.requireFence(barrier);
  bulkCopies.emplace_back(map, coordinates, shared, to, shape.sharedBytes, barrier);
}

//===-- nobody can go on -----------------------------------------------------------------------------------------===//

std::string Block::whatFor(const Thread &thread) {
  switch (thread.state) {
  case State::inWarp:
    return "wait for the rest of their warp at " + thread.at->name;
  case State::inGroup:
    return "wait for the rest of their four warps at " + thread.at->name;
  case State::atBarrier: {
    const NamedBarrier &barrier = namedBarriers[thread.barrier];
    return "wait at barrier " + std::to_string(thread.barrier) + ", where " + std::to_string(barrier.arrived) + " of " +
           std::to_string(barrier.count) + " threads have arrived";
  }
  case State::atPhase:
    return "wait for the phase of parity " + std::to_string(thread.parity) + " of " +
           mbarriers.describe(thread.barrier);
  case State::atRegisters:
    return "wait for registers, of which " + std::to_string(freeRegisters) + " a thread are free";
  default:
    return "have ended";
  }
}

bool Block::sameWait(const Thread &a, const Thread &b) {
  return a.state == b.state && a.index / warpSize == b.index / warpSize &&
         (a.state == State::done || (a.at == b.at && a.barrier == b.barrier && a.parity == b.parity));
}

void Block::reportDeadlock() {
  std::string report = "no thread can go on:";
  for (size_t i = 0, end; i < threads.size(); i = end) {
    for (end = i + 1; end < threads.size() && sameWait(threads[i], threads[end]);)
      ++end;
    report += "\n  warp " + std::to_string(i / warpSize) + ", lanes " + std::to_string(i % warpSize) + " to " +
              std::to_string((end - 1) % warpSize) + " " + whatFor(threads[i]);
  }
  throw InternalError(report);
}
