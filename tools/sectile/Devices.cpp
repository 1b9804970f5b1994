// sectile devices: what was found, what each can run, and why something is missing.

#include "Command.h"
#include "Output.h"

#include "sectile/Devices.h"

using namespace sectile;
using namespace sectile::cli;

/// What sets one device apart from others of its kind.
static std::string details(const DeviceInfo &device) {
  if (device.multiprocessors)
    return format("%d multiprocessors, %.1f GiB, %d KiB of shared memory a block, driver for CUDA %d.%d",
                  device.multiprocessors, static_cast<double>(device.memoryBytes) / (1 << 30),
                  device.sharedPerBlock >> 10, device.driverVersion / 1000, device.driverVersion % 1000 / 10);
  return device.target == "interpret" ? "slowly: the definition of each operation" : "this machine's processor";
}

static Outcome listDevices(Output &output) {
  for (const DeviceInfo &device : findDevices()) {
    const bool available = device.obstacle.empty();
    llvm::json::Object object{{"device", device.target}, {"available", available}};
    if (!device.name.empty())
      object["name"] = device.name;
    if (!available) {
      object["reason"] = device.obstacle;
      output.result(std::move(object),
                    format("%-9s  not available: %s", device.target.c_str(), device.obstacle.c_str()));
      continue;
    }
    object["target"] = device.code;
    object["preferred"] = device.preferred;
    if (device.multiprocessors) {
      object["multiprocessors"] = device.multiprocessors;
      object["memory_bytes"] = device.memoryBytes;
      object["shared_bytes_per_block"] = device.sharedPerBlock;
      object["driver_version"] = device.driverVersion;
    }
    const std::string text = device.multiprocessors ? device.name + ", code for " + device.code : device.code;
    output.result(std::move(object),
                  format("%-9s  %s%s\n           %s", device.target.c_str(), text.c_str(),
                         device.preferred ? " (taken when no target is given)" : "", details(device).c_str()));
  }
  return Outcome::ok;
}

void sectile::cli::addDevices(CLI::App &program, Action &action) {
  CLI::App *app = program.add_subcommand("devices", "List what kernels can run on.");
  app->callback([&action] { action = listDevices; });
}
