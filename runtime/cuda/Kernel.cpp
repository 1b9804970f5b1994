#include "runtime/cuda/Kernel.h"

#include "compiler/support/Diagnostic.h"
#include "runtime/Binding.h"
#include "sectile/Error.h"

#include "llvm/ADT/StringExtras.h"

#include <cstring>

namespace sectile::cuda {

static constexpr unsigned sharedWithoutOptIn = 48 << 10; // bytes of dynamic shared memory

//===-- what the compiler made ----------------------------------------------------------------------------------===//

static const Stage *findStage(const Artifact &artifact, llvm::StringRef name) {
  for (const Stage &stage : artifact.stages)
    if (stage.name == name)
      return &stage;
  return nullptr;
}

static llvm::Expected<unsigned> resource(const CacheEntry &entry, llvm::StringRef name) {
  for (const auto &[key, value] : entry.artifact.resources)
    if (key == name && value >= 0 && value <= INT32_MAX)
      return static_cast<unsigned>(value);
  return internalError("the compiler did not state the resource '" + name.str() + "' of kernel '" + entry.name + "'");
}

/// The words of the one parameter: tensor maps, arguments as in Binding.h, then the grid.
static size_t parameterWords(const Artifact &artifact) {
  size_t words = artifact.tensorMaps.size() * TensorMap::words + 3;
  for (const Parameter &parameter : artifact.parameters)
    words += argumentWords(parameter);
  return words;
}

//===-- the driver's assembler ----------------------------------------------------------------------------------===//

namespace {
/// Where the driver's assembler writes what it has to say.
class JitLog {
  std::string buffer = std::string(8192, '\0');

public:
  JitLog() { values[1] = reinterpret_cast<void *>(buffer.size()); }
  static constexpr unsigned count = 2;
  JitOption options[count] = {JitOption::errorLog, JitOption::errorLogBytes};
  void *values[count] = {buffer.data(), nullptr};

  std::string text() const {
    const llvm::StringRef said = llvm::StringRef(buffer.c_str()).trim();
    return said.empty() ? "" : " [" + said.str() + "]";
  }
};

/// While it lives, this thread may load code although some stream is being captured: loading is no part of a graph.
class CaptureUndisturbed {
public:
  explicit CaptureUndisturbed(const Driver &driver) : driver(driver) {
    driver.check(driver.exchangeCaptureMode(&mode), driver.exchangeCaptureMode, "loading code beside a capture");
  }
  ~CaptureUndisturbed() { (void)driver.exchangeCaptureMode(&mode); }
  CaptureUndisturbed(const CaptureUndisturbed &) = delete;

private:
  const Driver &driver;
  CaptureMode mode = CaptureMode::relaxed; // the exchange leaves the previous one here
};
} // namespace

static std::string supported(const Driver &driver) {
  return "the driver is for CUDA " + std::to_string(driver.version() / 1000) + "." +
         std::to_string(driver.version() % 1000 / 10);
}

static std::string supported(const Driver &driver, Status status) {
  return status == Status::unsupportedPtxVersion ? "; " + supported(driver) + ", the code needs a newer one" : "";
}

const Stage *assemble(CacheEntry &entry, const Device &device) {
  const Stage *ptx = findStage(entry.artifact, "ptx");
  const std::optional<Architecture> architecture = Architecture::ofTarget(entry.target);
  if (!ptx || findStage(entry.artifact, "cubin") || !architecture || architecture->sm != device.sm)
    return nullptr;
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  const CaptureUndisturbed undisturbed(driver);
  JitLog log;
  const auto check = [&](Status status, const auto &called) {
    driver.check(status, called, [&] {
      return "kernel '" + entry.name + "' cannot be assembled for " + device.text() + log.text() +
             supported(driver, status);
    });
  };
  Linker linker = nullptr;
  check(driver.linkCreate(log.count, log.options, log.values, &linker), driver.linkCreate);
  struct Destroy {
    const Driver &driver;
    Linker linker;
    ~Destroy() { (void)driver.linkDestroy(linker); }
  } const destroyed{driver, linker};
  check(driver.linkAdd(linker, JitInput::ptx, const_cast<char *>(ptx->text.c_str()), ptx->text.size() + 1,
                       ptx->file.c_str(), 0, nullptr, nullptr),
        driver.linkAdd);
  void *cubin = nullptr;
  size_t bytes = 0;
  check(driver.linkComplete(linker, &cubin, &bytes), driver.linkComplete);
  entry.artifact.stages.push_back({"cubin", "kernel.cubin", std::string(static_cast<const char *>(cubin), bytes)});
  return &entry.artifact.stages.back();
}

//===-- kernels -------------------------------------------------------------------------------------------------===//

Kernel::Kernel(std::shared_ptr<const Devices> given, const CacheEntry &entry)
    : devices(std::move(given)), entry(entry), slots(new std::atomic<const Code *>[devices->size()]()) {}

llvm::Expected<std::unique_ptr<Kernel>> Kernel::create(std::shared_ptr<const Devices> devices,
                                                       const CacheEntry &entry) {
  std::unique_ptr<Kernel> kernel(new Kernel(std::move(devices), entry));
  llvm::Expected<unsigned> threads = resource(entry, "threads");
  if (!threads)
    return threads.takeError();
  llvm::Expected<unsigned> shared = resource(entry, "shared_bytes");
  if (!shared)
    return shared.takeError();
  kernel->isPersistent = llvm::any_of(entry.artifact.resources, [](const auto &r) { return r.first == "persistent"; });
  kernel->threadCount = *threads;
  kernel->shared = *shared;
  return kernel;
}

unsigned Kernel::blocks(const Code &code, unsigned programs) const {
  const auto most = static_cast<unsigned>(std::max<int64_t>(code.blocksPerMultiprocessor, 1)) *
                    static_cast<unsigned>(std::max(code.device.multiprocessors, 1));
  return isPersistent ? std::min(programs, most) : programs;
}

Kernel::~Kernel() {
  for (const Code &code : loaded)
    try {
      const Driver &driver = *code.device.driver;
      const CurrentContext current(driver, code.device.context());
      const CaptureUndisturbed undisturbed(driver);
      (void)driver.moduleUnload(code.module);
    } catch (const DeviceError &) { // the driver, and with it the code, went before us
    }
}

const Kernel::Code &Kernel::load(const Device &device) const {
  std::lock_guard lock(mutex);
  if (const Code *present = find(device))
    return *present;
  loaded.push_back(loadOn(device));
  slots[device.ordinal].store(&loaded.back(), std::memory_order_release);
  return loaded.back();
}

void Kernel::checkLimits(const Device &device) const {
  const auto refuse = [&](unsigned needed, const char *what, int limit) {
    if (needed > static_cast<unsigned>(limit))
      throw DeviceError("kernel '" + entry.name + "' needs " + std::to_string(needed) + " " + what +
                        " a thread block, and " + device.text() + " has " + std::to_string(limit) +
                        "; legal: a schedule with smaller tiles, fewer stages or warps (this one is " +
                        toString(entry.schedule) + ")");
  };
  refuse(shared, "bytes of shared memory", device.sharedPerBlock);
  refuse(threadCount, "threads", device.maxThreadsPerBlock);
}

void Kernel::checkDriver(const Device &device) const {
  const Driver &driver = *device.driver;
  if (!entry.artifact.tensorMaps.empty() && !driver.tensorMapEncode)
    throw DeviceError("kernel '" + entry.name + "' copies arrays by TMA, and the driver of " + device.text() +
                      " has no " + driver.tensorMapEncode.symbol + ": " + supported(driver) +
                      ", needed is one for CUDA 12.0 or newer");
}

void Kernel::checkParameters(const Device &device, Function function) const {
  const Driver &driver = *device.driver;
  if (!driver.functionGetParameter)
    return;
  const size_t expected = parameterWords(entry.artifact) * sizeof(int64_t);
  size_t offset = 0, bytes = 0;
  driver.check(driver.functionGetParameter(function, 0, &offset, &bytes), driver.functionGetParameter,
               [&] { return "kernel '" + entry.name + "' has no parameter"; });
  if (bytes != expected) // where it begins is the driver's affair: aligned ones do not begin at 0
    throw InternalError("kernel '" + entry.name + "' takes a parameter of " + std::to_string(bytes) + " bytes, not " +
                        std::to_string(expected));
}

Kernel::Code Kernel::loadOn(const Device &device) const {
  const Driver &driver = *device.driver;
  // 1. Machine code where it runs, else PTX for the driver to assemble.
  const std::optional<Architecture> architecture = Architecture::ofTarget(entry.target);
  const Stage *cubin = findStage(entry.artifact, "cubin"), *ptx = findStage(entry.artifact, "ptx");
  const Stage *image = cubin && architecture && architecture->binaryRunsOn(device.sm) ? cubin
                       : ptx && architecture && architecture->ptxRunsOn(device.sm)    ? ptx
                                                                                      : nullptr;
  if (!image)
    throw DeviceError("kernel '" + entry.name + "' was compiled for " + entry.target + ", which " + device.text() +
                      " does not run");
  checkLimits(device);
  checkDriver(device);
  // 2. Load.
  const CurrentContext current(driver, device.context());
  const CaptureUndisturbed undisturbed(driver);
  JitLog log;
  Module module = nullptr;
  const Status status = driver.moduleLoad(&module, image->text.c_str(), log.count, log.options, log.values);
  driver.check(status, driver.moduleLoad, [&] {
    return "kernel '" + entry.name + "': " + device.text() + " cannot load its " + image->name + log.text() +
           supported(driver, status);
  });
  struct Unload {
    const Driver &driver;
    Module module;
    ~Unload() {
      if (module)
        (void)driver.moduleUnload(module);
    }
  } onFailure{driver, module};
  // 3. Prepare the function: all that would otherwise cost time at a launch.
  const auto what = [&] { return "kernel '" + entry.name + "' on " + device.text(); };
  Function function = nullptr;
  driver.check(driver.moduleGetFunction(&function, module, entry.artifact.entry.c_str()), driver.moduleGetFunction,
               [&] { return what() + ": no function '" + entry.artifact.entry + "' in its " + image->name; });
  checkParameters(device, function);
  if (shared > sharedWithoutOptIn) {
    const auto set = [&](FunctionAttribute attribute, int value) {
      driver.check(driver.functionSetAttribute(function, attribute, value), driver.functionSetAttribute,
                   [&] { return what() + " with " + std::to_string(shared) + " bytes of shared memory"; });
    };
    set(FunctionAttribute::maxDynamicShared, static_cast<int>(shared));
    set(FunctionAttribute::sharedCarveout, 100); // per cent of what shared memory and L1 cache have together
  }
  const auto attribute = [&](FunctionAttribute wanted) {
    int value = 0;
    driver.check(driver.functionGetAttribute(&value, wanted, function), driver.functionGetAttribute, what);
    return value;
  };
  if (const int most = attribute(FunctionAttribute::maxThreadsPerBlock); threadCount > static_cast<unsigned>(most))
    throw DeviceError(what() + " can have " + std::to_string(most) + " threads a block, as it uses " +
                      std::to_string(attribute(FunctionAttribute::registers)) + " registers each; it needs " +
                      std::to_string(threadCount));
  int blocks = 0;
  driver.check(driver.occupancy(&blocks, function, static_cast<int>(threadCount), shared), driver.occupancy, what);
  Code code{device, module, function, attribute(FunctionAttribute::registers), attribute(FunctionAttribute::localBytes),
            blocks, nullptr};
  const Artifact &artifact = entry.artifact;
  if (!artifact.tensorMaps.empty())
    code.maps = std::make_unique<TensorMaps>(driver, artifact.tensorMaps, artifact.parameters);
  onFailure.module = nullptr;
  return code;
}

} // namespace sectile::cuda
