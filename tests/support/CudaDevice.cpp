#include "tests/support/CudaDevice.h"

#include "sectile/Error.h"

#include <dlfcn.h>

using namespace sectile;
using namespace sectile::test;

namespace {

using Status = int;
using Address = CudaDevice::Address;

/// The functions that tests need, by the names under which the library exports them.
struct Driver {
  void *library = nullptr;
  Status (*init)(unsigned flags) = nullptr;
  Status (*errorName)(Status, const char **) = nullptr;
  Status (*errorText)(Status, const char **) = nullptr;
  Status (*deviceCount)(int *) = nullptr;
  Status (*deviceName)(char *, int, int device) = nullptr;
  Status (*deviceAttribute)(int *, int attribute, int device) = nullptr;
  Status (*retain)(void **context, int device) = nullptr;
  Status (*setCurrent)(void *context) = nullptr;
  Status (*synchronize)() = nullptr;
  Status (*allocate)(Address *, size_t) = nullptr;
  Status (*release)(Address) = nullptr;
  Status (*fill)(Address, unsigned char, size_t) = nullptr;
  Status (*upload)(Address, const void *, size_t) = nullptr;
  Status (*download)(void *, Address, size_t) = nullptr;
  Status (*loadModule)(void **module, const void *image, unsigned count, int *options, void **values) = nullptr;
  Status (*unloadModule)(void *module) = nullptr;
  Status (*getFunction)(void **function, void *module, const char *name) = nullptr;
  Status (*setAttribute)(void *function, int attribute, int value) = nullptr;
  Status (*launch)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                   void *stream, void **parameters, void **extra) = nullptr;

  template <class F> void find(F &function, const char *symbol) {
    function = reinterpret_cast<F>(dlsym(library, symbol));
    if (!function)
      throw DeviceError(std::string("CUDA driver: libcuda.so.1 has no function ") + symbol);
  }

  Driver() {
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      throw DeviceError(std::string("no CUDA driver: ") + dlerror());
    find(init, "cuInit");
    find(errorName, "cuGetErrorName");
    find(errorText, "cuGetErrorString");
    find(deviceCount, "cuDeviceGetCount");
    find(deviceName, "cuDeviceGetName");
    find(deviceAttribute, "cuDeviceGetAttribute");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(setCurrent, "cuCtxSetCurrent");
    find(synchronize, "cuCtxSynchronize");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    find(fill, "cuMemsetD8_v2");
    find(upload, "cuMemcpyHtoD_v2");
    find(download, "cuMemcpyDtoH_v2");
    find(loadModule, "cuModuleLoadDataEx");
    find(unloadModule, "cuModuleUnload");
    find(getFunction, "cuModuleGetFunction");
    find(setAttribute, "cuFuncSetAttribute");
    find(launch, "cuLaunchKernel");
  }

  void check(Status status, const std::string &what) const {
    if (status == 0)
      return;
    const char *name = nullptr, *text = nullptr;
    errorName(status, &name);
    errorText(status, &text);
    throw DeviceError("CUDA: " + what + ": " + (name ? name : std::to_string(status)) + (text ? " (" : "") +
                      (text ? text : "") + (text ? ")" : ""));
  }
};

Driver &driver() {
  static Driver driver;
  return driver;
}

} // namespace

CudaDevice &CudaDevice::get() {
  static CudaDevice device;
  return device;
}

std::string CudaDevice::whyNot() {
  try {
    get();
    return "";
  } catch (const DeviceError &error) {
    return error.what();
  }
}

CudaDevice::CudaDevice() {
  const Driver &d = driver();
  d.check(d.init(0), "cuInit");
  int count = 0;
  d.check(d.deviceCount(&count), "cuDeviceGetCount");
  if (count == 0)
    throw DeviceError("no CUDA device: the driver sees none");
  d.check(d.retain(&context, device), "cuDevicePrimaryCtxRetain");
}

void CudaDevice::bind() const { driver().check(driver().setCurrent(context), "cuCtxSetCurrent"); }

std::string CudaDevice::name() const {
  char name[256] = "";
  driver().check(driver().deviceName(name, sizeof name, device), "cuDeviceGetName");
  return name;
}

std::pair<int, int> CudaDevice::capability() const {
  constexpr int majorAttribute = 75, minorAttribute = 76;
  int major = 0, minor = 0;
  driver().check(driver().deviceAttribute(&major, majorAttribute, device), "cuDeviceGetAttribute");
  driver().check(driver().deviceAttribute(&minor, minorAttribute, device), "cuDeviceGetAttribute");
  return {major, minor};
}

CudaDevice::Address CudaDevice::allocate(size_t bytes) {
  bind();
  Address memory = 0;
  driver().check(driver().allocate(&memory, bytes), "cuMemAlloc of " + std::to_string(bytes) + " bytes");
  return memory;
}

void CudaDevice::free(Address memory) noexcept { (void)driver().release(memory); } // after a fault there is no memory

void CudaDevice::fill(Address to, uint8_t byte, size_t bytes) {
  bind();
  driver().check(driver().fill(to, byte, bytes), "cuMemsetD8");
}

void CudaDevice::upload(Address to, const void *from, size_t bytes) {
  bind();
  driver().check(driver().upload(to, from, bytes), "cuMemcpyHtoD");
}

void CudaDevice::download(void *to, Address from, size_t bytes) {
  bind();
  driver().check(driver().synchronize(), "waiting for the device");
  driver().check(driver().download(to, from, bytes), "cuMemcpyDtoH");
}

CudaDevice::Function::Function(const std::string &image, const std::string &entry, unsigned threads,
                               unsigned sharedBytes)
    : threads(threads), sharedBytes(sharedBytes) {
  get().bind();
  const Driver &d = driver();
  constexpr int errorLog = 5, errorLogBytes = 6, maxDynamicShared = 8;
  std::string log(4096, '\0');
  int options[] = {errorLog, errorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  const Status loaded = d.loadModule(&module, image.c_str(), 2, options, values);
  d.check(loaded, "loading kernel '" + entry + "' " + log.c_str());
  d.check(d.getFunction(&function, module, entry.c_str()), "cuModuleGetFunction of '" + entry + "'");
  d.check(d.setAttribute(function, maxDynamicShared, static_cast<int>(sharedBytes)),
          "kernel '" + entry + "' with " + std::to_string(sharedBytes) + " bytes of shared memory");
}

CudaDevice::Function::~Function() { (void)driver().unloadModule(module); }

void CudaDevice::Function::launch(unsigned blocks, std::span<const int64_t> words) const {
  get().bind();
  const Driver &d = driver();
  void *parameters[] = {const_cast<int64_t *>(words.data())};
  d.check(d.launch(function, blocks, 1, 1, threads, 1, 1, sharedBytes, nullptr, parameters, nullptr),
          "cuLaunchKernel of " + std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads");
  d.check(d.synchronize(), "running the kernel");
}
