#include "tests/support/fake_cuda/FakeCuda.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

using namespace sectile::test;

namespace fake { // types of the interface cannot be anonymous

enum Status : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  noDevice = 100,
  invalidDevice = 101,
  invalidImage = 200,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtx = 222,
  invalidHandle = 400,
  notFound = 500,
  illegalAddress = 700,
  captureUnsupported = 900
};

struct Context {
  int device;
  bool primary;
};
struct StreamObject {
  Context *context;
  bool capturing = false, invalidated = false;
};
struct Function {
  Context *context;
  std::string name;
  size_t parameterBytes, parameterAlignment;
  int maxDynamicShared = 48 << 10, carveout = -1;
};
struct Module {
  Context *context;
  std::string text;
  bool isText; ///< PTX, or machine code that this driver made from it
  std::deque<Function> functions;
};
struct Linker {
  std::string ptx, cubin;
};
struct Allocation {
  char *begin;
  size_t bytes;
  int device;
  FakeCuda::Memory kind;
};
struct LaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  StreamObject *stream;
  void *attributes;
  unsigned attributeCount;
};

} // namespace fake
using namespace fake;

namespace {

struct Failure {
  Status status;
  int skip;
};

const std::string machineCode = "\177FAKE sm_"; ///< how this driver's machine code begins

thread_local Context *currentContext = nullptr;
thread_local int captureMode = 0; // global

class Driver final : public FakeCuda {
public:
  //===-- FakeCuda ----------------------------------------------------------------------------------------------===//

  void reset(std::vector<FakeDevice> given) override {
    std::lock_guard lock(mutex);
    devices = std::move(given);
    primaries.assign(devices.size(), {});
    for (size_t i = 0; i < devices.size(); ++i)
      primaries[i].context = Context{static_cast<int>(i), true};
    failures.clear(), log.clear(), launched.clear(), encoded.clear(), contexts.clear(), streams.clear(), loaded.clear();
    allocations.clear();
    memory.clear();
    initialized = false;
    currentContext = nullptr;
    lastCarveout = -1;
    cubinParameterBytes = 0;
  }
  void fail(const std::string &function, int status, int which) override {
    std::lock_guard lock(mutex);
    failures[function] = {static_cast<Status>(status), which};
  }
  std::vector<std::string> calls() const override {
    std::lock_guard lock(mutex);
    return log;
  }
  void forgetCalls() override {
    std::lock_guard lock(mutex);
    log.clear();
  }
  std::vector<FakeLaunch> launches() const override {
    std::lock_guard lock(mutex);
    return launched;
  }
  std::vector<FakeTensorMap> tensorMaps() const override {
    std::lock_guard lock(mutex);
    return encoded;
  }
  int modules() const override {
    std::lock_guard lock(mutex);
    return static_cast<int>(loaded.size());
  }
  int retained(int device) const override {
    std::lock_guard lock(mutex);
    return primaries.at(static_cast<size_t>(device)).retains;
  }
  bool everCreated(int device) const override {
    std::lock_guard lock(mutex);
    return primaries.at(static_cast<size_t>(device)).created;
  }
  int carveout() const override {
    std::lock_guard lock(mutex);
    return lastCarveout;
  }

  void *primaryContext(int device) override {
    std::lock_guard lock(mutex);
    Primary &primary = primaries.at(static_cast<size_t>(device));
    primary.created = true;
    return &primary.context;
  }
  void *makeContext(int device) override {
    std::lock_guard lock(mutex);
    return &contexts.emplace_back(Context{device, false});
  }
  void *current() const override { return currentContext; }
  void setCurrent(void *context) override { currentContext = static_cast<Context *>(context); }
  void *makeStream(void *context) override {
    std::lock_guard lock(mutex);
    return &streams.emplace_back(StreamObject{static_cast<Context *>(context)});
  }
  void beginCapture(void *stream) override {
    std::lock_guard lock(mutex);
    *static_cast<StreamObject *>(stream) = {static_cast<StreamObject *>(stream)->context, true, false};
  }
  bool endCapture(void *stream) override {
    std::lock_guard lock(mutex);
    static_cast<StreamObject *>(stream)->capturing = false;
    return !static_cast<StreamObject *>(stream)->invalidated;
  }
  void *allocate(int device, size_t bytes, Memory kind) override {
    std::lock_guard lock(mutex);
    return allocateLocked(device, bytes, kind);
  }
  void setParameterBytes(size_t bytes) override {
    std::lock_guard lock(mutex);
    cubinParameterBytes = bytes;
  }

  //===-- for the functions below, which hold the lock ------------------------------------------------------------===//

  void *allocateLocked(int device, size_t bytes, Memory kind) {
    memory.push_back(std::make_unique<char[]>(bytes + 256));
    auto *begin = reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(memory.back().get()) + 255) & ~uintptr_t{255});
    allocations.push_back({begin, bytes, device, kind});
    return begin;
  }
  const Allocation *find(uint64_t address) const {
    for (const Allocation &allocation : allocations)
      if (address >= reinterpret_cast<uintptr_t>(allocation.begin) &&
          address < reinterpret_cast<uintptr_t>(allocation.begin) + allocation.bytes)
        return &allocation;
    return nullptr;
  }
  /// What must not happen beside a capture; it spoils the capture as well.
  bool forbiddenNow() {
    bool forbidden = false;
    for (StreamObject &stream : streams)
      if (stream.capturing && captureMode != 2)
        forbidden = stream.invalidated = true;
    return forbidden;
  }

  struct Primary {
    Context context{0, true};
    int retains = 0;
    bool created = false;
  };
  mutable std::mutex mutex;
  bool initialized = false;
  std::vector<FakeDevice> devices;
  std::vector<Primary> primaries;
  std::map<std::string, Failure> failures;
  std::vector<std::string> log;
  std::vector<FakeLaunch> launched;
  std::vector<FakeTensorMap> encoded;
  std::deque<Context> contexts;
  std::deque<StreamObject> streams;
  std::vector<std::unique_ptr<Module>> loaded;
  std::vector<std::unique_ptr<char[]>> memory;
  std::vector<Allocation> allocations;
  int lastCarveout = -1;
  size_t cubinParameterBytes = 0;
};

Driver &driver() {
  static Driver instance;
  return instance;
}

/// Runs a function of the driver: recorded, failing when it is told to.
template <class Body> Status call(const char *name, Body &&body) {
  Driver &d = driver();
  std::lock_guard lock(d.mutex);
  d.log.emplace_back(name);
  if (auto failure = d.failures.find(name); failure != d.failures.end() && failure->second.skip-- == 0) {
    const Status status = failure->second.status;
    d.failures.erase(failure);
    return status;
  }
  if (!d.initialized && std::string(name) != "cuInit")
    return notInitialized;
  return body(d);
}
template <class Body> Status callInContext(const char *name, Body &&body) {
  return call(name, [&](Driver &d) { return currentContext ? body(d, *currentContext) : invalidContext; });
}

/// Of the entry in PTX: ".param .align 64 .b8 kernel_param_0[72]".
struct ParameterSpace {
  size_t bytes = 0, alignment = 8;
};
std::optional<ParameterSpace> parameterOf(const std::string &ptx, const std::string &entry) {
  const size_t at = ptx.find(".entry " + entry + "(");
  if (at == std::string::npos)
    return std::nullopt;
  const std::string list = ptx.substr(at, ptx.find(')', at) - at), align = ".align ";
  ParameterSpace space;
  if (const size_t open = list.find('['); open != std::string::npos)
    space.bytes = std::stoul(list.substr(open + 1));
  if (const size_t found = list.find(align); found != std::string::npos)
    space.alignment = std::stoul(list.substr(found + align.size()));
  return space;
}

void say(unsigned count, int *options, void **values, const std::string &text) {
  constexpr int errorLog = 5, errorLogBytes = 6;
  char *buffer = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == errorLog)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == errorLogBytes)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (buffer && size)
    std::snprintf(buffer, size, "%s", text.c_str());
}

/// Whether PTX for `.target sm_80` can be assembled for the device.
Status checkPtx(const Driver &d, int device, const std::string &ptx, unsigned count, int *options, void **values) {
  const size_t at = ptx.find(".target sm_");
  if (at == std::string::npos) {
    say(count, options, values, "ptxas fatal : no .target");
    return invalidPtx;
  }
  const FakeDevice &properties = d.devices[static_cast<size_t>(device)];
  const int wanted = std::stoi(ptx.substr(at + 11)), here = properties.major * 10 + properties.minor;
  const bool specific = ptx[ptx.find_first_not_of("0123456789", at + 11)] == 'a';
  if (specific ? wanted != here : wanted > here) {
    say(count, options, values, "ptxas fatal : wrong target");
    return noBinaryForGpu;
  }
  return success;
}

} // namespace

extern "C" {

FakeCuda *fakeCuda() { return &driver(); }

Status cuInit(unsigned) {
  return call("cuInit", [](Driver &d) {
    d.initialized = true;
    return d.devices.empty() ? noDevice : success;
  });
}
Status cuDriverGetVersion(int *version) {
  *version = SECTILE_FAKE_CUDA_VERSION;
  return success;
}
Status cuGetErrorName(Status status, const char **name) {
  for (auto [known, text] : {std::pair(invalidValue, "CUDA_ERROR_INVALID_VALUE"),
                             {noDevice, "CUDA_ERROR_NO_DEVICE"},
                             {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
                             {invalidPtx, "CUDA_ERROR_INVALID_PTX"},
                             {unsupportedPtx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
                             {illegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"}})
    if (known == status) {
      *name = text;
      return success;
    }
  *name = nullptr;
  return invalidValue;
}
Status cuGetErrorString(Status, const char **text) {
  *text = "words of the driver";
  return success;
}

Status cuDeviceGetCount(int *count) {
  return call("cuDeviceGetCount", [&](Driver &d) {
    *count = static_cast<int>(d.devices.size());
    return success;
  });
}
Status cuDeviceGet(int *device, int ordinal) {
  return call("cuDeviceGet", [&](Driver &d) {
    *device = ordinal;
    return ordinal >= 0 && static_cast<size_t>(ordinal) < d.devices.size() ? success : invalidDevice;
  });
}
Status cuDeviceGetName(char *name, int bytes, int device) {
  return call("cuDeviceGetName", [&](Driver &d) {
    std::snprintf(name, static_cast<size_t>(bytes), "%s", d.devices.at(static_cast<size_t>(device)).name.c_str());
    return success;
  });
}
Status cuDeviceGetAttribute(int *value, int attribute, int device) {
  return call("cuDeviceGetAttribute", [&](Driver &d) {
    const FakeDevice &properties = d.devices.at(static_cast<size_t>(device));
    const std::map<int, int> values = {{1, 1024},
                                       {8, 48 << 10},
                                       {16, 132},
                                       {75, properties.major},
                                       {76, properties.minor},
                                       {97, properties.sharedPerBlock}};
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return found == values.end() ? invalidValue : success;
  });
}
Status cuDeviceTotalMem_v2(size_t *bytes, int) {
  return call("cuDeviceTotalMem", [&](Driver &) {
    *bytes = size_t{141} << 30;
    return success;
  });
}
Status cuDevicePrimaryCtxRetain(Context **context, int device) {
  return call("cuDevicePrimaryCtxRetain", [&](Driver &d) {
    Driver::Primary &primary = d.primaries.at(static_cast<size_t>(device));
    ++primary.retains;
    primary.created = true;
    *context = &primary.context;
    return success;
  });
}
Status cuDevicePrimaryCtxRelease_v2(int device) {
  return call("cuDevicePrimaryCtxRelease", [&](Driver &d) {
    return --d.primaries.at(static_cast<size_t>(device)).retains >= 0 ? success : invalidContext;
  });
}
Status cuCtxGetCurrent(Context **context) {
  return call("cuCtxGetCurrent", [&](Driver &) {
    *context = currentContext;
    return success;
  });
}
Status cuCtxSetCurrent(Context *context) {
  return call("cuCtxSetCurrent", [&](Driver &) {
    currentContext = context;
    return success;
  });
}
Status cuCtxGetDevice(int *device) {
  return callInContext("cuCtxGetDevice", [&](Driver &, Context &context) {
    *device = context.device;
    return success;
  });
}

Status cuStreamGetCtx(StreamObject *stream, Context **context) {
  return call("cuStreamGetCtx", [&](Driver &) {
    *context = reinterpret_cast<uintptr_t>(stream) <= 2 ? currentContext : stream->context;
    return *context ? success : invalidContext;
  });
}
Status cuStreamIsCapturing(StreamObject *stream, int *status) {
  return callInContext("cuStreamIsCapturing", [&](Driver &, Context &) {
    *status = reinterpret_cast<uintptr_t>(stream) > 2 && stream->capturing;
    return success;
  });
}
Status cuThreadExchangeStreamCaptureMode(int *mode) {
  return call("cuThreadExchangeStreamCaptureMode", [&](Driver &) {
    std::swap(*mode, captureMode);
    return success;
  });
}
Status cuPointerGetAttribute(void *data, int attribute, uint64_t address) {
  return call("cuPointerGetAttribute", [&](Driver &d) {
    const Allocation *allocation = d.find(address);
    if (!allocation)
      return invalidValue;
    switch (attribute) {
    case 2: // memory type
      *static_cast<unsigned *>(data) = allocation->kind == FakeCuda::Memory::pinned ? 1 : 2;
      return success;
    case 3: // device address
      if (!currentContext)
        return invalidContext;
      if (allocation->kind == FakeCuda::Memory::device && allocation->device != currentContext->device)
        return invalidValue;
      *static_cast<uint64_t *>(data) = address;
      return success;
    case 8: // whether it is managed
      *static_cast<unsigned *>(data) = allocation->kind == FakeCuda::Memory::managed;
      return success;
    case 9: // device
      *static_cast<int *>(data) = allocation->device;
      return success;
    default:
      return invalidValue;
    }
  });
}

Status cuModuleLoadDataEx(Module **module, const void *image, unsigned count, int *options, void **values) {
  return callInContext("cuModuleLoadDataEx", [&](Driver &d, Context &context) {
    if (d.forbiddenNow())
      return captureUnsupported;
    const char *text = static_cast<const char *>(image);
    const bool elf = std::memcmp(text, "\177ELF", 4) == 0;
    std::string code = elf ? "" : text;
    const FakeDevice &device = d.devices[static_cast<size_t>(context.device)];
    if (code.starts_with(machineCode)) {
      if (std::stoi(code.substr(machineCode.size())) / 10 != device.major)
        return noBinaryForGpu;
    } else if (!elf) {
      if (Status status = checkPtx(d, context.device, code, count, options, values))
        return status;
    }
    d.loaded.push_back(std::make_unique<Module>(Module{&context, std::move(code), !elf, {}}));
    *module = d.loaded.back().get();
    return success;
  });
}
Status cuModuleUnload(Module *module) {
  return callInContext("cuModuleUnload", [&](Driver &d, Context &context) {
    if (module->context != &context)
      return invalidContext;
    std::erase_if(d.loaded, [&](const auto &owned) { return owned.get() == module; });
    return success;
  });
}
Status cuModuleGetFunction(Function **function, Module *module, const char *name) {
  return callInContext("cuModuleGetFunction", [&](Driver &d, Context &context) {
    if (module->context != &context)
      return invalidContext;
    const std::optional<ParameterSpace> space =
        module->isText ? parameterOf(module->text, name) : std::optional(ParameterSpace{d.cubinParameterBytes});
    if (!space)
      return notFound;
    *function = &module->functions.emplace_back(Function{&context, name, space->bytes, space->alignment});
    return success;
  });
}
Status cuLinkCreate_v2(unsigned, int *, void **, Linker **linker) {
  return callInContext("cuLinkCreate", [&](Driver &d, Context &) {
    if (d.forbiddenNow())
      return captureUnsupported;
    *linker = new Linker();
    return success;
  });
}
Status cuLinkAddData_v2(Linker *linker, int type, void *data, size_t size, const char *, unsigned, int *, void **) {
  return callInContext("cuLinkAddData", [&](Driver &d, Context &context) {
    constexpr int ptx = 1;
    const char *text = static_cast<const char *>(data);
    if (type != ptx || size == 0 || text[size - 1] != '\0')
      return invalidValue;
    linker->ptx = text;
    return checkPtx(d, context.device, linker->ptx, 0, nullptr, nullptr);
  });
}
Status cuLinkComplete(Linker *linker, void **cubin, size_t *size) {
  return callInContext("cuLinkComplete", [&](Driver &d, Context &context) {
    const FakeDevice &device = d.devices[static_cast<size_t>(context.device)];
    linker->cubin = machineCode + std::to_string(device.major * 10 + device.minor) + "\n" + linker->ptx;
    *cubin = linker->cubin.data();
    *size = linker->cubin.size();
    return success;
  });
}
Status cuLinkDestroy(Linker *linker) {
  return call("cuLinkDestroy", [&](Driver &) {
    delete linker;
    return success;
  });
}

Status cuFuncGetAttribute(int *value, int attribute, Function *) {
  return callInContext("cuFuncGetAttribute", [&](Driver &, Context &) {
    const std::map<int, int> values = {{0, 512}, {1, 0}, {3, 16}, {4, 96}};
    const auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return found == values.end() ? invalidValue : success;
  });
}
Status cuFuncSetAttribute(Function *function, int attribute, int value) {
  return callInContext("cuFuncSetAttribute", [&](Driver &d, Context &context) {
    if (function->context != &context)
      return invalidHandle;
    if (attribute == 8 && value > d.devices[static_cast<size_t>(context.device)].sharedPerBlock)
      return invalidValue;
    (attribute == 8 ? function->maxDynamicShared : function->carveout) = value;
    return success;
  });
}
Status cuFuncGetParamInfo(Function *function, size_t index, size_t *offset, size_t *bytes) {
  return callInContext("cuFuncGetParamInfo", [&](Driver &, Context &) {
    *offset = 0;
    *bytes = function->parameterBytes;
    return index == 0 && *bytes ? success : invalidValue;
  });
}
Status cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function *, int, size_t) {
  return callInContext("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&](Driver &, Context &) {
    *blocks = 3;
    return success;
  });
}

#if SECTILE_FAKE_CUDA_VERSION >= 12000
namespace {
/// What the hardware can map, in the words of the driver's manual.
bool isLegal(const FakeTensorMap &map) {
  const std::map<int, uint64_t> bytesOfElement = {{0, 1}, {3, 4}, {6, 2}, {7, 4}, {9, 2}};
  if (map.sizes.empty() || map.sizes.size() > 5 || !bytesOfElement.contains(map.element) || map.address == 0 ||
      map.address % 16 != 0 || map.interleave != 0 || map.promotion < 0 || map.promotion > 3 || map.fill != 0 ||
      map.swizzle < 0 || map.swizzle > 3)
    return false;
  const uint64_t bytes = bytesOfElement.at(map.element), rowBytes = map.box[0] * bytes;
  const auto all = [](const auto &numbers, auto legal) { return std::all_of(numbers.begin(), numbers.end(), legal); };
  return all(map.sizes, [](uint64_t size) { return size >= 1 && size <= uint64_t{1} << 32; }) &&
         all(map.strides, [](uint64_t n) { return n > 0 && n % 16 == 0 && n < uint64_t{1} << 40; }) &&
         all(map.box, [](uint32_t size) { return size >= 1 && size <= 256; }) &&
         all(map.steps, [](uint32_t step) { return step >= 1 && step <= 8; }) && rowBytes % 16 == 0 &&
         (map.swizzle == 0 || rowBytes <= uint64_t{16} << map.swizzle);
}
} // namespace

Status cuTensorMapEncodeTiled(void *map, int element, unsigned rank, void *address, const uint64_t *sizes,
                              const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                              int swizzle, int promotion, int fill) {
  return callInContext("cuTensorMapEncodeTiled", [&](Driver &d, Context &) {
    FakeTensorMap given{static_cast<int64_t>(d.encoded.size()),
                        element,
                        static_cast<int64_t>(reinterpret_cast<uintptr_t>(address)),
                        {sizes, sizes + rank},
                        {strides, strides + rank - 1},
                        {box, box + rank},
                        {steps, steps + rank},
                        interleave,
                        swizzle,
                        promotion,
                        fill};
    if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || !isLegal(given))
      return invalidValue;
    std::array<int64_t, 16> words{given.number, given.address};
    std::copy(given.sizes.begin(), given.sizes.end(), words.begin() + 2);
    std::copy(given.strides.begin(), given.strides.end(), words.begin() + 7);
    words[11] = box[0], words[12] = box[1], words[13] = element, words[14] = swizzle;
    std::memcpy(map, words.data(), sizeof words);
    d.encoded.push_back(std::move(given));
    return success;
  });
}
#endif

Status cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **parameters, void **extra) {
  return callInContext("cuLaunchKernelEx", [&](Driver &d, Context &context) {
    const bool isDefault = reinterpret_cast<uintptr_t>(config->stream) <= 2;
    if (function->context != &context || (!isDefault && config->stream->context != &context))
      return invalidHandle;
    constexpr unsigned largestX = 2147483647, largestYZ = 65535;
    const unsigned threads = config->blockX * config->blockY * config->blockZ;
    if (config->gridX == 0 || config->gridX > largestX || config->gridY - 1 >= largestYZ ||
        config->gridZ - 1 >= largestYZ || threads == 0 || threads > 1024 || extra ||
        config->sharedBytes > static_cast<unsigned>(function->maxDynamicShared) ||
        reinterpret_cast<uintptr_t>(parameters[0]) % function->parameterAlignment != 0)
      return invalidValue;
    std::vector<int64_t> words(function->parameterBytes / sizeof(int64_t));
    std::memcpy(words.data(), parameters[0], words.size() * sizeof(int64_t));
    d.lastCarveout = function->carveout;
    d.launched.push_back({context.device, function->name, config->gridX * config->gridY * config->gridZ, threads,
                          config->sharedBytes, config->stream, !isDefault && config->stream->capturing,
                          std::move(words)});
    return success;
  });
}

//===-- memory and time, for tools --------------------------------------------------------------------------------===//

Status cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return callInContext("cuMemAlloc", [&](Driver &d, Context &context) {
    if (d.forbiddenNow())
      return captureUnsupported;
    *address = reinterpret_cast<uintptr_t>(d.allocateLocked(context.device, bytes, FakeCuda::Memory::device));
    return success;
  });
}
Status cuMemFree_v2(uint64_t address) {
  return callInContext("cuMemFree", [&](Driver &d, Context &) {
    const auto erased = std::erase_if(d.allocations, [&](const Allocation &allocation) {
      return reinterpret_cast<uintptr_t>(allocation.begin) == address;
    });
    return erased ? success : invalidValue;
  });
}
Status cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, StreamObject *) {
  return callInContext("cuMemcpyHtoDAsync", [&](Driver &, Context &) {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return success;
  });
}
Status cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, StreamObject *) {
  return callInContext("cuMemcpyDtoHAsync", [&](Driver &, Context &) {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    return success;
  });
}
Status cuMemsetD32Async(uint64_t to, unsigned word, size_t count, StreamObject *) {
  return callInContext("cuMemsetD32Async", [&](Driver &, Context &) {
    std::fill_n(reinterpret_cast<unsigned *>(to), count, word);
    return success;
  });
}
Status cuStreamCreate(StreamObject **stream, unsigned) {
  return callInContext("cuStreamCreate", [&](Driver &d, Context &context) {
    *stream = &d.streams.emplace_back(StreamObject{&context});
    return success;
  });
}
Status cuStreamDestroy_v2(StreamObject *) {
  return callInContext("cuStreamDestroy", [](Driver &, Context &) { return success; });
}
Status cuStreamSynchronize(StreamObject *) {
  return callInContext("cuStreamSynchronize",
                       [](Driver &d, Context &) { return d.forbiddenNow() ? captureUnsupported : success; });
}
Status cuEventCreate(void **event, unsigned) {
  return callInContext("cuEventCreate", [&](Driver &, Context &context) {
    *event = &context;
    return success;
  });
}
Status cuEventDestroy_v2(void *) {
  return callInContext("cuEventDestroy", [](Driver &, Context &) { return success; });
}
Status cuEventRecord(void *, StreamObject *) {
  return callInContext("cuEventRecord", [](Driver &, Context &) { return success; });
}
Status cuEventElapsedTime(float *milliseconds, void *, void *) {
  return callInContext("cuEventElapsedTime", [&](Driver &, Context &) {
    *milliseconds = 1;
    return success;
  });
}

} // extern "C"
