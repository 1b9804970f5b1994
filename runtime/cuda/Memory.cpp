#include "runtime/cuda/Memory.h"

namespace sectile::cuda {

static constexpr StreamHandle defaultStream = nullptr;

Memory::Memory(const Device &device, size_t bytes) : device(device), size(bytes) {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  driver.check(driver.memoryAllocate(&start, std::max<size_t>(bytes, 1)), driver.memoryAllocate,
               [&] { return std::to_string(bytes) + " bytes of memory on " + device.text(); });
}

Memory::~Memory() {
  if (!start)
    return;
  const CurrentContext current(*device.driver, device.context());
  (void)device.driver->memoryFree(start);
}

void Memory::upload(const void *from) const {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  const auto what = [&] { return "copying to " + device.text(); };
  if (size)
    driver.check(driver.copyToDevice(start, from, size, defaultStream), driver.copyToDevice, what);
  driver.check(driver.streamSynchronize(defaultStream), driver.streamSynchronize, what);
}

void Memory::download(void *to) const {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  const auto what = [&] { return "copying from " + device.text(); };
  if (size)
    driver.check(driver.copyToHost(to, start, size, defaultStream), driver.copyToHost, what);
  driver.check(driver.streamSynchronize(defaultStream), driver.streamSynchronize, what);
}

OwnedStream::OwnedStream(const Device &device) : device(device) {
  constexpr unsigned nonBlocking = 1;
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  const auto what = [&] { return "making a stream of " + device.text(); };
  driver.check(driver.streamCreate(&stream, nonBlocking), driver.streamCreate, what);
  driver.check(driver.eventCreate(&begin, 0), driver.eventCreate, what);
  driver.check(driver.eventCreate(&end, 0), driver.eventCreate, what);
}

OwnedStream::~OwnedStream() {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  (void)driver.eventDestroy(begin);
  (void)driver.eventDestroy(end);
  (void)driver.streamDestroy(stream);
}

void OwnedStream::synchronize() const {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  driver.check(driver.streamSynchronize(stream), driver.streamSynchronize,
               [&] { return "waiting for " + device.text(); });
}

double OwnedStream::time(llvm::function_ref<void()> work) const {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  const auto what = [&] { return "timing on " + device.text(); };
  driver.check(driver.eventRecord(begin, stream), driver.eventRecord, what);
  work();
  driver.check(driver.eventRecord(end, stream), driver.eventRecord, what);
  driver.check(driver.streamSynchronize(stream), driver.streamSynchronize, what);
  float milliseconds = 0;
  driver.check(driver.eventElapsed(&milliseconds, begin, end), driver.eventElapsed, what);
  return 1000.0 * static_cast<double>(milliseconds);
}

} // namespace sectile::cuda
