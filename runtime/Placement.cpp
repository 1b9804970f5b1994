#include "runtime/Placement.h"

#include "compiler/support/Diagnostic.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace sectile;

using OpenedDevices = llvm::Expected<std::shared_ptr<const cuda::Devices>>;

static Target resolve(const Options &options, const std::string &name) {
  return valueOrThrow(resolveTarget(name, options.toolkit));
}

//===-- the host ------------------------------------------------------------------------------------------------===//

/// Names the features that code for `target` may use and this processor lacks.
static std::string hostObstacle(const Target &target, llvm::StringRef name) {
  if (target.kind != Target::Kind::cpu || !name.contains(':'))
    return "";
  llvm::Expected<Target> host = resolveTarget("cpu");
  if (!host) // such a machine can still compile for others
    return llvm::toString(host.takeError());
  llvm::StringSet<> present;
  for (llvm::StringRef feature : llvm::split(host->features, ','))
    present.insert(feature);
  std::string lacking;
  for (llvm::StringRef feature : llvm::split(target.features, ','))
    if (feature.starts_with("+") && !present.contains(feature))
      lacking += (lacking.empty() ? "" : ", ") + feature.drop_front().str();
  return lacking.empty() ? "" : "as it lacks " + lacking + "; legal: the target cpu, or a processor without these";
}

static Placement onHost(const Options &options, const std::string &name) {
  Placement placement{resolve(options, name), {}, {}, {}, {}};
  placement.obstacle = hostObstacle(placement.target, name);
  return placement;
}

//===-- NVIDIA GPUs ---------------------------------------------------------------------------------------------===//

/// Code for the very device.
static Placement onDevice(const Options &options, std::shared_ptr<const cuda::Devices> devices,
                          const cuda::Device &device, bool only) {
  const std::string name = valueOrThrow(nvidiaTargetName(device.sm / 10, device.sm % 10));
  Placement placement{resolve(options, name), {}, {}, {}, {}};
  placement.cuda = cuda::Machine{std::move(devices), *cuda::Architecture::ofTarget(name), &device, only};
  return placement;
}

/// "cuda" or "cuda:<n>".
static Placement onCuda(const Options &options, llvm::StringRef name) {
  llvm::StringRef number = name;
  unsigned ordinal = 0;
  const bool only = number.consume_front("cuda:");
  if (only && number.getAsInteger(10, ordinal))
    throw UserError("target '" + name.str() + "' is unknown; legal: 'cuda', or 'cuda:<number of the GPU>'");
  OpenedDevices devices = cuda::Devices::open(options.cudaDriver);
  if (!devices)
    throw DeviceError("target '" + name.str() + "': " + llvm::toString(devices.takeError()));
  if (ordinal >= (*devices)->size())
    throw DeviceError("target '" + name.str() + "': there is no such GPU; there are " + (*devices)->list());
  const cuda::Device &device = (**devices)[ordinal];
  return onDevice(options, std::move(*devices), device, only);
}

/// "nvptx:<architecture>": for compiling, and for running where a GPU can.
static Placement onArchitecture(const Options &options, const std::string &name) {
  Placement placement{resolve(options, name), {}, {}, {}, {}};
  const cuda::Architecture architecture = *cuda::Architecture::ofTarget(placement.target.name());
  OpenedDevices devices = cuda::Devices::open(options.cudaDriver);
  if (!devices) {
    placement.obstacle = "as there is " + llvm::toString(devices.takeError());
    return placement;
  }
  const cuda::Device *device = (*devices)->firstToRun(architecture);
  if (!device) {
    placement.obstacle = "as none of its GPUs runs code for " + architecture.name() + ": there are " +
                         (*devices)->list() + "; legal: the target 'cuda'";
    return placement;
  }
  placement.cuda = cuda::Machine{std::move(*devices), architecture, device, false};
  return placement;
}

//===-- AMD GPUs ------------------------------------------------------------------------------------------------===//

/// "emulate:<processor>": code for an AMD GPU, run by the emulator of its instructions on the host.
static Placement onEmulator(const Options &options, llvm::StringRef name) {
  const llvm::StringRef processor = name.split(':').second;
  if (processor.empty())
    throw UserError("target 'emulate' lacks a processor; legal: emulate: with that of an AMD GPU, such as "
                    "emulate:gfx942");
  Placement placement{resolve(options, "amdgcn:" + processor.str()), {}, {}, {}, {}};
  placement.emulated = true;
  return placement;
}

/// "amdgcn:<processor>": for compiling.
static Placement onAmdProcessor(const Options &options, const std::string &name) {
  Placement placement{resolve(options, name), {}, {}, {}, {}};
  placement.obstacle =
      "as running on AMD GPUs is not part of this version; legal: the target emulate:" + placement.target.processor +
      ", which runs the same code on the host, slowly";
  return placement;
}

//===-- choice --------------------------------------------------------------------------------------------------===//

/// The first GPU if there is one that we can compile for, else the host.
static Placement best(const Options &options) {
  std::string why;
  OpenedDevices devices = cuda::Devices::open(options.cudaDriver);
  if (!devices) {
    why = llvm::toString(devices.takeError());
  } else {
    const cuda::Device &device = (**devices)[0];
    try {
      Placement placement = onDevice(options, *devices, device, false);
      placement.reason = device.text() + " was found";
      return placement;
    } catch (const Error &error) {
      why = error.what();
    }
  }
  Placement placement = onHost(options, "cpu");
  placement.reason = why;
  return placement;
}

Placement sectile::placeSession(const Options &options) {
  const llvm::StringRef family = llvm::StringRef(options.target).split(':').first;
  if (family == "hip")
    throw DeviceError("target '" + options.target + "' is not part of this version; legal: cuda, cuda:<n>, " +
                      "nvptx:<architecture>, amdgcn:<processor>, emulate:<processor>, cpu, cpu:<processor>, interpret");
  Placement placement = options.target.empty() ? best(options)
                        : family == "cuda"     ? onCuda(options, options.target)
                        : family == "nvptx"    ? onArchitecture(options, options.target)
                        : family == "emulate"  ? onEmulator(options, options.target)
                        : family == "amdgcn"   ? onAmdProcessor(options, options.target)
                                               : onHost(options, options.target);
  placement.targetKey = placement.target.key();
  return placement;
}
