#include "sectile/Devices.h"

#include "runtime/Placement.h"
#include "sectile/Error.h"

using namespace sectile;

static DeviceInfo describe(const Options &options, const std::string &target) {
  DeviceInfo info;
  info.target = target;
  Options asked = options;
  asked.target = target;
  try {
    const Placement placement = placeSession(asked);
    info.code = placement.target.name();
    info.name = placement.target.processor;
    if (placement.cuda) {
      const cuda::Device &device = *placement.cuda->preferred;
      info.name = device.name;
      info.multiprocessors = device.multiprocessors;
      info.memoryBytes = static_cast<int64_t>(device.memoryBytes);
      info.sharedPerBlock = device.sharedPerBlock;
      info.driverVersion = device.driver->version();
    }
  } catch (const Error &error) {
    info.obstacle = error.what();
  }
  return info;
}

std::vector<DeviceInfo> sectile::findDevices(const Options &options) {
  std::vector<DeviceInfo> all{describe(options, "cpu"), describe(options, "interpret")};
  // GPUs, or why there is none.
  llvm::Expected<std::shared_ptr<const cuda::Devices>> devices = cuda::Devices::open(options.cudaDriver);
  if (!devices) {
    llvm::consumeError(devices.takeError());
    all.push_back(describe(options, "cuda")); // fails, too, and says why
  } else {
    for (const cuda::Device &device : **devices) {
      all.push_back(describe(options, device.target()));
      all.back().name = device.name;
    }
  }
  all.push_back(describe(options, "hip"));
  // As Placement.cpp chooses.
  DeviceInfo *first = nullptr;
  for (DeviceInfo &info : all)
    if (info.target == "cuda:0" && info.obstacle.empty())
      first = &info;
  (first ? *first : all.front()).preferred = true;
  return all;
}
