// The CUDA driver: the functions that we call, found in libcuda.so.1 at run time.
//
//   std::shared_ptr<const Driver> driver = valueOrThrow(Driver::open(""));
//   int count = 0;
//   driver->check(driver->deviceGetCount(&count), driver->deviceGetCount, "counting devices");
//
// No CUDA header is needed to build this, and no driver to run what does not use it. Types and numbers are those of the
// driver's stable binary interface; they are written down here as far as we use them.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace sectile::cuda {

//===-- types of the interface ----------------------------------------------------------------------------------===//

using Context = struct ContextObject *;     // CUcontext
using StreamHandle = struct StreamObject *; // CUstream
using Event = struct EventObject *;         // CUevent
using Module = struct ModuleObject *;       // CUmodule
using Function = struct FunctionObject *;   // CUfunction
using Linker = struct LinkerObject *;       // CUlinkState
using Address = uint64_t;                   // CUdeviceptr

/// CUresult, as far as we tell one from another.
enum class Status : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  deinitialized = 4,
  noDevice = 100,
  invalidContext = 201,
  noBinaryForGpu = 209,
  invalidPtx = 218,
  unsupportedPtxVersion = 222,
  invalidHandle = 400,
  notFound = 500,
  illegalAddress = 700,
  launchOutOfResources = 701,
  launchTimeout = 702,
  captureUnsupported = 900
};

enum class DeviceAttribute : int {
  maxThreadsPerBlock = 1,
  sharedPerBlock = 8,
  multiprocessors = 16,
  major = 75,
  minor = 76,
  sharedPerMultiprocessor = 81,
  sharedPerBlockOptIn = 97
};

enum class FunctionAttribute : int {
  maxThreadsPerBlock = 0,
  staticShared = 1,
  localBytes = 3,
  registers = 4,
  maxDynamicShared = 8,
  sharedCarveout = 9
};

enum class PointerAttribute : int { memoryType = 2, deviceAddress = 3, isManaged = 8, deviceOrdinal = 9 };
enum class MemoryType : unsigned { host = 1, device = 2 };
enum class CaptureStatus : int { none = 0, active = 1, invalidated = 2 };
enum class CaptureMode : int { global = 0, threadLocal = 1, relaxed = 2 };
enum class JitOption : int { infoLog = 3, infoLogBytes = 4, errorLog = 5, errorLogBytes = 6 };
enum class JitInput : int { cubin = 0, ptx = 1 };

// Of a tensor map.
enum class TensorElement : int { uint8 = 0, int32 = 3, float16 = 6, float32 = 7, bfloat16 = 9 };
enum class TensorInterleave : int { none = 0 };
enum class TensorSwizzle : int { none = 0, bytes32 = 1, bytes64 = 2, bytes128 = 3 };
enum class TensorPromotion : int { none = 0, bytes64 = 1, bytes128 = 2, bytes256 = 3 }; ///< what L2 fetches at a time
enum class TensorFill : int { zeros = 0 };                                              ///< outside of the array

struct LaunchConfig { // CUlaunchConfig
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  StreamHandle stream;
  void *attributes;
  unsigned attributeCount;
};

//===-- finding functions ---------------------------------------------------------------------------------------===//

/// A shared library that stays loaded until the process ends: the driver has threads of its own.
class Library {
public:
  /// An empty path: libcuda.so.1, as the system finds it.
  explicit Library(const std::string &path);
  /// Without loading it.
  static Library ifLoaded(const std::string &path);
  explicit operator bool() const { return handle != nullptr; }
  void *find(const char *symbol) const;

  const std::string path;
  std::string problem;         ///< why it could not be opened
  mutable std::string missing; ///< the functions that it should have and has not
private:
  Library(const std::string &path, int flags);
  void *handle;
};

/// One function of the driver. An optional one may be null.
template <class... Parameters> class Entry {
public:
  enum Presence { required, optional };
  Entry(const Library &library, const char *symbol, Presence presence = required)
      : symbol(symbol), function(reinterpret_cast<Pointer>(library.find(symbol))) {
    if (!function && presence == required)
      library.missing += (library.missing.empty() ? "" : ", ") + std::string(symbol);
  }
  Status operator()(Parameters... parameters) const { return function(parameters...); }
  explicit operator bool() const { return function != nullptr; }

  const char *const symbol;

private:
  using Pointer = Status (*)(Parameters...);
  const Pointer function;
};

//===-- the driver ----------------------------------------------------------------------------------------------===//

class Driver {
  const Library library; // first: the entries are found in it

public:
  /// Opens the library (empty: libcuda.so.1, as the system finds it) and initializes it. A device error says what is
  /// missing: the library, a function (then the driver is too old), or what made cuInit fail.
  static llvm::Expected<std::shared_ptr<const Driver>> open(const std::string &path);

  /// 13000 for CUDA 13.0: what the driver supports.
  int version() const { return driverVersion; }

  /// "cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE (invalid argument)".
  std::string describe(const char *symbol, Status status) const;

  /// Throws DeviceError "<what>: <describe()>" unless the call succeeded. `what` is evaluated only then.
  template <class Called>
  void check(Status status, const Called &called, llvm::function_ref<std::string()> what) const {
    if (status != Status::success) [[unlikely]]
      fail(status, called.symbol, what());
  }
  template <class Called> void check(Status status, const Called &called, const char *what) const {
    if (status != Status::success) [[unlikely]]
      fail(status, called.symbol, what);
  }

  // clang-format off
  const Entry<unsigned> init{library, "cuInit"};
  const Entry<int *> getVersion{library, "cuDriverGetVersion"};
  const Entry<Status, const char **> getErrorName{library, "cuGetErrorName"};
  const Entry<Status, const char **> getErrorText{library, "cuGetErrorString"};

  const Entry<int *> deviceGetCount{library, "cuDeviceGetCount"};
  const Entry<int *, int> deviceGet{library, "cuDeviceGet"};
  const Entry<char *, int, int> deviceGetName{library, "cuDeviceGetName"};
  const Entry<int *, DeviceAttribute, int> deviceGetAttribute{library, "cuDeviceGetAttribute"};
  const Entry<size_t *, int> deviceTotalMemory{library, "cuDeviceTotalMem_v2"};
  const Entry<Context *, int> primaryContextRetain{library, "cuDevicePrimaryCtxRetain"};
  const Entry<int> primaryContextRelease{library, "cuDevicePrimaryCtxRelease_v2"};
  const Entry<Context *> contextGetCurrent{library, "cuCtxGetCurrent"};
  const Entry<Context> contextSetCurrent{library, "cuCtxSetCurrent"};
  const Entry<int *> contextGetDevice{library, "cuCtxGetDevice"};

  const Entry<StreamHandle, Context *> streamGetContext{library, "cuStreamGetCtx"};
  const Entry<StreamHandle, CaptureStatus *> streamIsCapturing{library, "cuStreamIsCapturing"};
  const Entry<CaptureMode *> exchangeCaptureMode{library, "cuThreadExchangeStreamCaptureMode"};
  const Entry<void *, PointerAttribute, Address> pointerGetAttribute{library, "cuPointerGetAttribute"};

  const Entry<Module *, const void *, unsigned, JitOption *, void **> moduleLoad{library, "cuModuleLoadDataEx"};
  const Entry<Module> moduleUnload{library, "cuModuleUnload"};
  const Entry<Function *, Module, const char *> moduleGetFunction{library, "cuModuleGetFunction"};
  const Entry<unsigned, JitOption *, void **, Linker *> linkCreate{library, "cuLinkCreate_v2"};
  const Entry<Linker, JitInput, void *, size_t, const char *, unsigned, JitOption *, void **> linkAdd{library, "cuLinkAddData_v2"};
  const Entry<Linker, void **, size_t *> linkComplete{library, "cuLinkComplete"};
  const Entry<Linker> linkDestroy{library, "cuLinkDestroy"};

  const Entry<int *, FunctionAttribute, Function> functionGetAttribute{library, "cuFuncGetAttribute"};
  const Entry<Function, FunctionAttribute, int> functionSetAttribute{library, "cuFuncSetAttribute"};
  using ParameterInfo = Entry<Function, size_t, size_t *, size_t *>;
  const ParameterInfo functionGetParameter{library, "cuFuncGetParamInfo", ParameterInfo::optional}; // from CUDA 12.4
  using EncodeTiled = Entry<void *, TensorElement, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, TensorInterleave, TensorSwizzle, TensorPromotion, TensorFill>;
  const EncodeTiled tensorMapEncode{library, "cuTensorMapEncodeTiled", EncodeTiled::optional}; // from CUDA 12.0
  const Entry<int *, Function, int, size_t> occupancy{library, "cuOccupancyMaxActiveBlocksPerMultiprocessor"};
  const Entry<const LaunchConfig *, Function, void **, void **> launchKernel{library, "cuLaunchKernelEx"};

  // For tools and tests; sessions neither allocate nor wait.
  const Entry<Address *, size_t> memoryAllocate{library, "cuMemAlloc_v2"};
  const Entry<Address> memoryFree{library, "cuMemFree_v2"};
  const Entry<Address, const void *, size_t, StreamHandle> copyToDevice{library, "cuMemcpyHtoDAsync_v2"};
  const Entry<void *, Address, size_t, StreamHandle> copyToHost{library, "cuMemcpyDtoHAsync_v2"};
  const Entry<Address, unsigned, size_t, StreamHandle> fillWords{library, "cuMemsetD32Async"};
  const Entry<StreamHandle *, unsigned> streamCreate{library, "cuStreamCreate"};
  const Entry<StreamHandle> streamDestroy{library, "cuStreamDestroy_v2"};
  const Entry<StreamHandle> streamSynchronize{library, "cuStreamSynchronize"};
  const Entry<Event *, unsigned> eventCreate{library, "cuEventCreate"};
  const Entry<Event> eventDestroy{library, "cuEventDestroy_v2"};
  const Entry<Event, StreamHandle> eventRecord{library, "cuEventRecord"};
  const Entry<float *, Event, Event> eventElapsed{library, "cuEventElapsedTime"};
  // clang-format on

private:
  explicit Driver(const std::string &path) : library(path) {}
  [[noreturn, gnu::cold]] void fail(Status status, const char *symbol, const std::string &what) const;

  int driverVersion = 0;
};

} // namespace sectile::cuda
