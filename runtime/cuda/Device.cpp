#include "runtime/cuda/Device.h"

#include "compiler/support/Diagnostic.h"
#include "sectile/Error.h"

namespace sectile::cuda {

Device::Device(std::shared_ptr<const Driver> given, int ordinal) : ordinal(ordinal), driver(std::move(given)) {
  const auto what = [&] { return target() + " does not say what it can do"; };
  const auto attribute = [&](DeviceAttribute wanted) {
    int value = 0;
    driver->check(driver->deviceGetAttribute(&value, wanted, handle), driver->deviceGetAttribute, what);
    return value;
  };
  driver->check(driver->deviceGet(&handle, ordinal), driver->deviceGet, what);
  char text[256] = "";
  driver->check(driver->deviceGetName(text, sizeof text, handle), driver->deviceGetName, what);
  name = text;
  sm = attribute(DeviceAttribute::major) * 10 + attribute(DeviceAttribute::minor);
  sharedPerBlock = attribute(DeviceAttribute::sharedPerBlockOptIn);
  multiprocessors = attribute(DeviceAttribute::multiprocessors);
  maxThreadsPerBlock = attribute(DeviceAttribute::maxThreadsPerBlock);
  driver->check(driver->deviceTotalMemory(&memoryBytes, handle), driver->deviceTotalMemory, what);
}

Device::~Device() {
  if (contextIfMade())
    (void)driver->primaryContextRelease(handle); // at the end of a process the driver may be gone already
}

std::string Device::text() const { return target() + " (" + name + ", sm_" + std::to_string(sm) + ")"; }

Context Device::retain() const {
  std::lock_guard lock(mutex);
  if (Context made = contextIfMade())
    return made;
  Context made = nullptr;
  driver->check(driver->primaryContextRetain(&made, handle), driver->primaryContextRetain,
                [&] { return text() + " cannot be used"; });
  primary.store(made, std::memory_order_release);
  return made;
}

CurrentContext::CurrentContext(const Driver &driver, Context context) : driver(driver) {
  driver.check(driver.contextGetCurrent(&previous), driver.contextGetCurrent, "reading the current CUDA context");
  if (previous == context)
    return;
  driver.check(driver.contextSetCurrent(context), driver.contextSetCurrent, "changing the current CUDA context");
  changed = true;
}

CurrentContext::~CurrentContext() {
  if (changed)
    (void)driver.contextSetCurrent(previous); // nobody could do anything about a failure
}

llvm::Expected<std::shared_ptr<const Devices>> Devices::open(const std::string &library) {
  llvm::Expected<std::shared_ptr<const Driver>> driver = Driver::open(library);
  if (!driver)
    return driver.takeError();
  auto devices = std::make_shared<Devices>();
  devices->opened = *driver;
  try {
    int count = 0;
    (*driver)->check((*driver)->deviceGetCount(&count), (*driver)->deviceGetCount, "counting the NVIDIA GPUs");
    for (int ordinal = 0; ordinal < count; ++ordinal)
      devices->all.emplace_back(*driver, ordinal);
  } catch (const DeviceError &error) {
    return deviceError(error.what());
  }
  if (devices->all.empty())
    return deviceError("the NVIDIA driver shows no GPU");
  return devices;
}

const Device *Devices::firstToRun(const Architecture &architecture) const {
  for (const Device &device : all)
    if (architecture.ptxRunsOn(device.sm))
      return &device;
  return nullptr;
}

std::string Devices::list() const {
  std::string text;
  for (const Device &device : all)
    text += (text.empty() ? "" : ", ") + device.text();
  return text;
}

} // namespace sectile::cuda
