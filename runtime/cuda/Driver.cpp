#include "runtime/cuda/Driver.h"

#include "compiler/support/Diagnostic.h"
#include "sectile/Error.h"

#include <dlfcn.h>

namespace sectile::cuda {

static constexpr const char *systemLibrary = "libcuda.so.1";

Library::Library(const std::string &path) : Library(path, RTLD_NODELETE) {}
Library Library::ifLoaded(const std::string &path) { return Library(path, RTLD_NOLOAD); }

Library::Library(const std::string &given, int flags) : path(given.empty() ? systemLibrary : given) {
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (const char *error = handle ? nullptr : dlerror())
    problem = error;
}

void *Library::find(const char *symbol) const { return handle ? dlsym(handle, symbol) : nullptr; }

llvm::Expected<std::shared_ptr<const Driver>> Driver::open(const std::string &path) {
  std::shared_ptr<Driver> driver(new Driver(path));
  const Library &library = driver->library;
  if (!library)
    return deviceError("no NVIDIA driver: " + library.problem);
  if (!library.missing.empty())
    return deviceError("the NVIDIA driver '" + library.path + "' has no " + library.missing +
                       "; needed is one for CUDA 11.8 or newer");
  if (Status status = driver->init(0); status != Status::success)
    return deviceError("the NVIDIA driver does not start: " + driver->describe(driver->init.symbol, status));
  if (Status status = driver->getVersion(&driver->driverVersion); status != Status::success)
    return deviceError("the NVIDIA driver has no version: " + driver->describe(driver->getVersion.symbol, status));
  return driver;
}

std::string Driver::describe(const char *symbol, Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(status, &name) != Status::success || !name)
    return std::string(symbol) + ": error " + std::to_string(static_cast<int>(status));
  if (getErrorText(status, &text) != Status::success || !text)
    return std::string(symbol) + ": " + name;
  return std::string(symbol) + ": " + name + " (" + text + ")";
}

/// Whether this error stays with the context once a kernel caused it, so that later calls return it as well.
static bool isSticky(Status status) {
  constexpr Status lastOfLaunches{719}; // CUDA_ERROR_LAUNCH_FAILED
  return status >= Status::illegalAddress && status <= lastOfLaunches && status != Status::launchOutOfResources;
}

void Driver::fail(Status status, const char *symbol, const std::string &what) const {
  std::string message = what + ": " + describe(symbol, status);
  if (isSticky(status))
    message += "; a kernel that was launched earlier in this process may have caused it";
  throw DeviceError(message);
}

} // namespace sectile::cuda
