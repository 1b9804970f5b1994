// One thread block while it runs: its threads, what each of them waits for, and what is on its way.
//
// Threads run one at a time, until they wait: warps in an order that changes each time, and so do the lanes of a warp.
// What is asynchronous happens as late as it may: bulk copies arrive, and products complete, when nobody can go on and
// somebody waits for them; one at a time, chosen at random. Now and then one happens earlier, so that orders vary.
#pragma once

#include "tests/emulate/BulkCopy.h"
#include "tests/emulate/Fiber.h"
#include "tests/emulate/Instructions.h"
#include "tests/emulate/Mbarrier.h"
#include "tests/emulate/Products.h"

#include <array>
#include <functional>
#include <map>
#include <random>

namespace sectile::warps {

class Block;

/// One instruction of a kernel. Threads that must meet at it meet at this very one.
struct Instruction {
  std::string name;
  std::function<void(Block &, const uint32_t *in, uint32_t *out)> run;
};

/// What a launch gives to all of its blocks.
struct BlockShape {
  int threads = 0;
  uint32_t sharedBytes = 0;
  uint32_t registers = 0;     ///< of a thread at launch; 0: its share of all
  std::function<void()> body; ///< of a thread
};

class Block {
public:
  /// `shared`: at a multiple of 2^18, so that the lower 18 bits of a pointer are the address in shared memory.
  Block(const BlockShape &shape, char *shared);
  Block(const Block &) = delete;

  /// Runs block `index` of `count`. Throws InternalError for what the machine leaves undefined, and when nobody can
  /// go on.
  void run(int64_t index, int64_t count, std::mt19937 &random);

  // --- called by instructions, in the thread that executes them ---
  void execute(const Instruction &instruction, const uint32_t *in, uint32_t *out);
  uint32_t resolveProduct(uint32_t bits);
  int thread() const { return current->index; }
  int64_t index() const { return blockIndex; }
  int64_t count() const { return blockCount; } ///< of the launch
  AsyncCopies &copies() { return current->copies; }
  Mbarriers &barriers() { return mbarriers; }
  static uint32_t sharedAddress(uint64_t pointer) { return static_cast<uint32_t>(pointer & (sharedWindow - 1)); }
  static constexpr uint64_t sharedWindow = uint64_t{1} << 18;

  /// Waits for the rest of the warp, or the group of four warps; then the last one acts for all.
  using WarpAction = std::function<void(const WarpState &)>;
  void meetWarp(const uint32_t *in, uint32_t *out, const WarpAction &action);
  void issueProduct(const Wgmma &instruction, const WgmmaArguments &arguments, uint32_t *out);
  enum class ProductOrder { fence, commit, wait };
  void orderProducts(ProductOrder order, size_t pendingGroups = 0);
  /// setmaxnreg.
  void setRegisters(uint32_t count, bool isIncrease);

  /// bar.sync and bar.arrive; a count of 0: all threads.
  void namedBarrier(uint32_t id, uint32_t count, bool waits);
  void waitPhase(uint32_t barrier, uint32_t parity);
  /// After what may have ended a phase.
  void wakePhase(uint32_t barrier);
  void copyBulk(const EncodedTensorMap &map, const int32_t *coordinates, uint32_t to, uint32_t barrier);

private:
  enum class State { ready, inWarp, inGroup, atBarrier, atPhase, atProducts, atRegisters, failed, done };
  struct Thread {
    Fiber fiber;
    AsyncCopies copies;
    int index = 0;
    State state = State::ready;
    const Instruction *at = nullptr;
    uint32_t barrier = 0, parity = 0; ///< that it waits for
  };
  /// Threads that meet, and what they gave and want.
  struct Meeting {
    const Instruction *at = nullptr;
    int arrived = 0;
  };
  struct Warp : Meeting {
    WarpState operands{};
  };
  struct Group : Meeting {
    Group(Products products, uint32_t registers) : products(std::move(products)), registers(registers) {}
    const WgmmaArguments *arguments[warpGroupSize] = {};
    uint32_t *results[warpGroupSize] = {};
    Products products;
    bool isWaiting = false; ///< for all but the last products
    size_t pendingGroups = 0;
    uint32_t registers, wantedRegisters = 0;
  };
  struct NamedBarrier {
    uint32_t count = 0, arrived = 0;
  };

  bool runWarp(size_t warp, std::mt19937 &random);
  bool isOver() const;
  void start();
  void finish() const;
  void pause(State state);
  bool isLast(Meeting &meeting, int size, State state);
  void release(int first, int count);
  Group &group();
  bool anythingPending() const;
  void letHappen(std::mt19937 &random, bool isEarly);
  bool isWaitedFor(uint32_t barrier) const;
  void giveRegisters();
  [[noreturn]] void reportDeadlock();
  std::string whatFor(const Thread &thread);
  static bool sameWait(const Thread &a, const Thread &b);

  const BlockShape &shape;
  char *shared;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<Group> groups;
  Mbarriers mbarriers;
  std::map<uint32_t, NamedBarrier> namedBarriers;
  std::vector<BulkCopy> bulkCopies; ///< on their way
  uint32_t freeRegisters = 0;       ///< a thread of a group could have these
  Thread *current = nullptr;
  int64_t blockIndex = 0, blockCount = 0;
  std::string failure;
};

} // namespace sectile::warps
