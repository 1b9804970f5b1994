// The first CUDA device, for tests: memory, copies and launches straight through the driver, so that what the runtime
// does is not needed to judge what the compiler did.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace sectile::test {

class CudaDevice {
public:
  using Address = uint64_t;

  /// Opens the driver and the device's primary context once. Throws DeviceError saying what is missing.
  static CudaDevice &get();
  /// Empty, or why get() would throw.
  static std::string whyNot();

  std::string name() const;               ///< "NVIDIA H200"
  std::pair<int, int> capability() const; ///< {9, 0}

  Address allocate(size_t bytes);
  void free(Address memory) noexcept;
  void fill(Address to, uint8_t byte, size_t bytes);
  void upload(Address to, const void *from, size_t bytes);
  void download(void *to, Address from, size_t bytes); ///< waits for all work before it

  /// Machine code or PTX. Throws DeviceError with the driver's words.
  class Function {
  public:
    Function(const std::string &image, const std::string &entry, unsigned threads, unsigned sharedBytes);
    ~Function();
    Function(const Function &) = delete;
    /// One parameter, passed by value; waits for the end.
    void launch(unsigned blocks, std::span<const int64_t> words) const;

  private:
    void *module = nullptr, *function = nullptr;
    unsigned threads, sharedBytes;
  };

private:
  CudaDevice();
  void bind() const; // makes the context current in this thread
  int device = 0;
  void *context = nullptr;
};

} // namespace sectile::test
