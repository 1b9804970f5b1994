// A group of waves on the host: LDS with its checks, barriers, and the memory that the kernel may touch.
#pragma once

#include "runtime/emulate/Emulate.h"
#include "runtime/emulate/Wave.h"

#include <algorithm>
#include <random>

namespace sectile::emulate {

/// What all groups of a launch share.
struct LaunchContext {
  const CodeObject &code;
  llvm::StringRef kernelName;
  const KernelDescriptor &kernel;
  const Launch &launch;
  std::vector<MemoryRange> ranges; ///< sorted: those of the launch, kernarg and the segments
  std::vector<uint8_t> kernarg;
};

/// LDS of a group. Bytes know who wrote and read them since the last barrier.
class Lds {
public:
  void reset(uint32_t size);
  uint32_t size() const { return uint32_t(bytes.size()); }
  uint8_t *data() { return bytes.data(); }
  /// Each checks bounds and races of one access of one lane; false: the wave has a fault.
  bool read(Wave &wave, unsigned lane, uint32_t address, uint32_t size, bool atomic, bool &undefined);
  /// Two waves may write the same `value`: copies of one element.
  bool write(Wave &wave, unsigned lane, uint32_t address, uint32_t size, bool atomic, const uint8_t *value = nullptr);
  void poisonBytes(uint32_t address, uint32_t size) { std::memset(&undefinedBytes[address], 1, size); }
  void barrier() { ++epoch; }
  void addPending(uint32_t begin, uint32_t end, int change);
  /// Bank conflicts: lanes of a phase access together; endPhase() says for how many cycles more than one.
  void startPhase();
  void useBanks(uint32_t address, uint32_t size, unsigned banks);
  uint32_t endPhase() const;

private:
  bool inBounds(Wave &wave, unsigned lane, uint32_t address, uint32_t size);
  bool race(Wave &wave, unsigned lane, uint32_t address, bool writing, bool otherWrites, uint32_t otherWave,
            const WaveInstruction *other);

  /// Since which barrier and by which wave a byte was touched: epoch << 8 | several << 7 | atomic << 6 | wave.
  using Touch = uint32_t;
  std::vector<uint8_t> bytes, undefinedBytes, pendingBytes;
  std::vector<Touch> writes, reads;
  std::vector<const WaveInstruction *> writers, readers;
  uint32_t epoch = 1;
  bool anyPending = false;
  std::vector<uint32_t> stamps; ///< the last phase that used a dword
  uint32_t phase = 0, bankUses[64] = {};
};

class Group {
public:
  Group(const LaunchContext &context) : context(context) {}
  /// Runs one group to its end; false: `error` says why not.
  bool run(uint32_t number);

  /// A pointer to `size` bytes of global memory, or null after a fault.
  uint8_t *global(Wave &wave, unsigned lane, uint64_t address, uint32_t size, bool write);
  void signalBarrier(Wave &wave);
  /// "'ds_read_b32 v0, v1' at 0x40": an instruction with its offset from the kernel's entry.
  std::string describe(const WaveInstruction &inst) const;

  const LaunchContext &context;
  Lds lds;
  Counters counters;
  std::string error;

private:
  void start(Wave &wave, uint32_t number);
  bool step(Wave &wave, uint64_t count);
  bool releaseBarrier();
  bool report(Wave &wave);

  uint32_t number = 0;
  std::vector<std::unique_ptr<Wave>> waves;
  std::vector<std::vector<uint8_t>> scratch, scratchWritten;
  std::vector<uint64_t> executed;                    ///< by wave
  uint64_t classes[unsigned(Class::other) + 1] = {}; ///< executed instructions of each
  const MemoryRange *lastRange = nullptr;
};

} // namespace sectile::emulate
