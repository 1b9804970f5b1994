// NVIDIA GPUs: what each can do, and its primary context.
#pragma once

#include "runtime/cuda/Architecture.h"
#include "runtime/cuda/Driver.h"

#include <atomic>
#include <deque>
#include <mutex>

namespace sectile::cuda {

/// One GPU. Its primary context, which it shares with the CUDA runtime and so with other libraries, is created when
/// something is first run on it, and not merely because it is there.
class Device {
public:
  /// Throws DeviceError when the driver does not answer.
  Device(std::shared_ptr<const Driver> driver, int ordinal);
  ~Device();
  Device(const Device &) = delete;

  const int ordinal;
  int handle = 0;                                                      ///< CUdevice
  std::string name;                                                    ///< "NVIDIA H200"
  int sm = 0;                                                          ///< 90 for compute capability 9.0
  int sharedPerBlock = 0, multiprocessors = 0, maxThreadsPerBlock = 0; ///< the first: what a block can opt in to
  size_t memoryBytes = 0;

  /// "cuda:0 (NVIDIA H200, sm_90)": for messages.
  std::string text() const;
  /// "cuda:0".
  std::string target() const { return "cuda:" + std::to_string(ordinal); }

  /// Throws DeviceError when the driver has no room for it.
  Context context() const {
    Context made = primary.load(std::memory_order_acquire);
    return made ? made : retain();
  }
  /// Without creating it: null while nobody has used it through us.
  Context contextIfMade() const { return primary.load(std::memory_order_acquire); }

  const std::shared_ptr<const Driver> driver;

private:
  Context retain() const;

  mutable std::mutex mutex;
  mutable std::atomic<Context> primary = nullptr;
};

/// While it lives, a context is the calling thread's current one; then the previous one is again.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext &) = delete;

private:
  const Driver &driver;
  Context previous = nullptr;
  bool changed = false;
};

/// All GPUs of the machine that the driver shows us (CUDA_VISIBLE_DEVICES is the driver's affair).
class Devices {
public:
  /// A device error says why there is none. `library`: see Driver::open.
  static llvm::Expected<std::shared_ptr<const Devices>> open(const std::string &library);

  const Driver &driver() const { return *opened; }
  size_t size() const { return all.size(); }
  const Device &operator[](size_t ordinal) const { return all[ordinal]; }
  auto begin() const { return all.begin(); }
  auto end() const { return all.end(); }

  /// The first one that runs code for this architecture, which the driver assembles where needed; null: none does.
  const Device *firstToRun(const Architecture &architecture) const;
  /// "cuda:0 (NVIDIA H200, sm_90), cuda:1 …".
  std::string list() const;

private:
  std::shared_ptr<const Driver> opened;
  std::deque<Device> all;
};

} // namespace sectile::cuda
