// Device memory, streams and events with an owner: for tools and benchmarks. Sessions neither allocate nor wait.
#pragma once

#include "runtime/cuda/Device.h"

namespace sectile::cuda {

/// An allocation on a device, not initialized.
class Memory {
public:
  /// Throws DeviceError, with the size, when there is not as much.
  Memory(const Device &device, size_t bytes);
  Memory(Memory &&other) noexcept : device(other.device), size(other.size), start(std::exchange(other.start, 0)) {}
  ~Memory();

  void *data() const { return reinterpret_cast<void *>(start); }
  size_t bytes() const { return size; }
  /// The copies return when they are done.
  void upload(const void *from) const;
  void download(void *to) const;

private:
  const Device &device;
  size_t size;
  Address start = 0;
};

/// A stream of its own, which does not wait for the default one.
class OwnedStream {
public:
  explicit OwnedStream(const Device &device);
  ~OwnedStream();
  OwnedStream(const OwnedStream &) = delete;

  StreamHandle handle() const { return stream; }
  void synchronize() const;
  /// Microseconds that the device takes for what `work` queues in this stream; waits for it.
  double time(llvm::function_ref<void()> work) const;

private:
  const Device &device;
  StreamHandle stream = nullptr;
  Event begin = nullptr, end = nullptr;
};

} // namespace sectile::cuda
