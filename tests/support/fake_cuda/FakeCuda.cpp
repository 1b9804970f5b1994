// Devices, contexts, streams, modules and functions.
#include "tests/support/fake_cuda/FakeDriver.h"

#include <algorithm>
#include <cstring>
#include <optional>

using namespace fake;

namespace {

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

} // extern "C"
