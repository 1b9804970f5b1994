// A CUDA driver that runs nothing: it keeps the driver's rules, records what it is asked, and fails where a test says.
//
//   FakeCuda &fake = FakeCuda::get();
//   fake.reset({{"Fake GPU", 9, 0}, {"Fake GPU", 9, 0}});
//   Options options;
//   options.cudaDriver = FakeCuda::library();
//   … launch on fake.makeStream(1) …
//   CHECK(fake.launches().at(0).device == 1);
//
// It is a shared library like the real one. What it is strict about: a call that needs a context has one; functions,
// streams and memory are used in their own context; dynamic shared memory beyond 48 KB is opted in to; a block and a
// grid fit the device; a kernel's parameter is aligned as it declares; tensor maps are of what the hardware can map;
// nothing is allocated or loaded while a stream is being captured, unless the thread has said that
// it knows; parameters have the size that the kernel declares.
#pragma once

#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace sectile::test {

struct FakeDevice {
  std::string name;
  int major, minor;
  int sharedPerBlock = 232448;
};

struct FakeLaunch {
  int device;
  std::string function;
  unsigned blocks, threads, sharedBytes;
  void *stream;
  bool captured;
  std::vector<int64_t> words; ///< of the one parameter
};

/// An array that was mapped, dimensions as given: the last one first. The map's 16 words are `number`, `address`, five
/// sizes, four strides, the box's columns and rows, the element, the swizzle and 0.
struct FakeTensorMap {
  int64_t number; ///< counts calls
  int element;
  int64_t address;
  std::vector<uint64_t> sizes, strides;
  std::vector<uint32_t> box, steps;
  int interleave, swizzle, promotion, fill;
};

class FakeCuda {
public:
  static const char *library() { return SECTILE_FAKE_CUDA; }
  /// One for CUDA 11.8, which lacks what came later.
  static const char *oldLibrary() { return SECTILE_OLD_FAKE_CUDA; }
  static FakeCuda &get(const char *library = FakeCuda::library()) {
    void *handle = dlopen(library, RTLD_NOW);
    auto *fake = handle ? reinterpret_cast<FakeCuda *(*)()>(dlsym(handle, "fakeCuda")) : nullptr;
    if (!fake)
      throw std::runtime_error(dlerror());
    return *fake();
  }

  /// Forgets everything. Objects of before must be gone.
  virtual void reset(std::vector<FakeDevice> devices) = 0;
  /// Call number `which` of this function from now on (0: the next) returns `status` and does nothing.
  virtual void fail(const std::string &function, int status, int which = 0) = 0;

  // What happened.
  virtual std::vector<std::string> calls() const = 0; ///< names, in order
  virtual void forgetCalls() = 0;
  virtual std::vector<FakeLaunch> launches() const = 0;
  virtual std::vector<FakeTensorMap> tensorMaps() const = 0; ///< encoded
  virtual int modules() const = 0;                           ///< loaded and not unloaded
  virtual int retained(int device) const = 0;                ///< how often the primary context is
  virtual bool everCreated(int device) const = 0;
  virtual int carveout() const = 0; ///< of the function that was launched last

  // What an application does; none of it is among the calls.
  virtual void *primaryContext(int device) = 0;
  virtual void *makeContext(int device) = 0; ///< another one
  virtual void *current() const = 0;
  virtual void setCurrent(void *context) = 0;
  virtual void *makeStream(void *context) = 0;
  virtual void beginCapture(void *stream) = 0;
  virtual bool endCapture(void *stream) = 0; ///< whether nothing invalidated it
  enum class Memory { device, managed, pinned };
  virtual void *allocate(int device, size_t bytes, Memory kind = Memory::device) = 0;
  /// Parameter bytes of kernels in machine code that this driver cannot read.
  virtual void setParameterBytes(size_t bytes) = 0;

protected:
  ~FakeCuda() = default;
};

} // namespace sectile::test
