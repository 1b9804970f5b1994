// A compiled kernel on the GPUs of a machine: its code is loaded on a device when it is first needed there.
#pragma once

#include "runtime/CacheEntry.h"
#include "runtime/cuda/Device.h"
#include "runtime/cuda/TensorMaps.h"

namespace sectile::cuda {

class Kernel {
public:
  /// `entry` must outlive this. An internal error names a resource that the compiler should have stated.
  static llvm::Expected<std::unique_ptr<Kernel>> create(std::shared_ptr<const Devices> devices,
                                                        const CacheEntry &entry);
  ~Kernel();

  /// The code on one device.
  struct Code {
    const Device &device;
    Module module;
    Function function;
    int64_t registers, spillBytes, blocksPerMultiprocessor;
    std::unique_ptr<const TensorMaps> maps; ///< null where the parameter begins with none
  };
  /// Null: not loaded there. Wait-free.
  const Code *find(const Device &device) const { return slots[device.ordinal].load(std::memory_order_acquire); }
  /// Loads it unless it is. Throws DeviceError with the assembler's messages, or with the limit that the device has.
  /// Does not disturb a graph that another stream is being captured into.
  const Code &load(const Device &device) const;

  const std::string &name() const { return entry.name; }
  unsigned threads() const { return threadCount; }
  unsigned sharedBytes() const { return shared; }
  /// How many blocks a launch of so many programs has: as many, or of a persistent kernel, whose blocks run several, no
  /// more than run at a time.
  unsigned blocks(const Code &code, unsigned programs) const;

private:
  Kernel(std::shared_ptr<const Devices> devices, const CacheEntry &entry);
  Code loadOn(const Device &device) const;
  void checkLimits(const Device &device) const;
  void checkDriver(const Device &device) const;
  void checkParameters(const Device &device, Function function) const;

  const std::shared_ptr<const Devices> devices;
  const CacheEntry &entry;
  unsigned threadCount = 0, shared = 0;
  bool isPersistent = false;
  std::unique_ptr<std::atomic<const Code *>[]> slots; // by ordinal
  mutable std::mutex mutex;
  mutable std::deque<Code> loaded;
};

/// Assembles the PTX stage for `device` and appends the machine code as a stage, where the compiler had no assembler
/// and the device has the very architecture of the code, so that the next process need not do it again. Null: there
/// was nothing to do. Throws DeviceError with the assembler's messages.
const Stage *assemble(CacheEntry &entry, const Device &device);

} // namespace sectile::cuda
