#include "runtime/cuda/Launch.h"

#include "sectile/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Alignment.h"

namespace sectile::cuda {

//===-- which device --------------------------------------------------------------------------------------------===//

/// The handles 0, 1 (legacy) and 2 (per thread) stand for the default stream of whatever context is current.
static bool isDefaultStream(StreamHandle stream) { return reinterpret_cast<uintptr_t>(stream) <= 2; }

static std::string text(StreamHandle stream) {
  return isDefaultStream(stream) ? "the default stream"
                                 : "stream 0x" + llvm::utohexstr(reinterpret_cast<uintptr_t>(stream), true);
}

[[noreturn, gnu::cold, gnu::noinline]] static void refuse(llvm::StringRef kernel, const std::string &rule) {
  throw UserError("kernel '" + kernel.str() + "': " + rule);
}

static bool isEmpty(const ArrayView &view) {
  return llvm::is_contained(llvm::ArrayRef(view.sizes.data(), static_cast<size_t>(view.rank)), 0);
}

/// The device whose memory holds the first array; null when there is none.
static const Device *deviceOfArrays(const Machine &machine, std::span<const Argument> arguments) {
  const Driver &driver = machine.devices->driver();
  for (const Argument &argument : arguments)
    if (const auto *view = std::get_if<ArrayView>(&argument); view && view->data) {
      int ordinal = -1;
      const auto address = reinterpret_cast<Address>(view->data);
      const Status status = driver.pointerGetAttribute(&ordinal, PointerAttribute::deviceOrdinal, address);
      if (status == Status::success && ordinal >= 0 && static_cast<size_t>(ordinal) < machine.devices->size())
        return &(*machine.devices)[static_cast<size_t>(ordinal)];
    }
  return nullptr;
}

/// The device of a context that we have not seen before.
[[gnu::noinline]] static const Device &deviceOfContext(const Machine &machine, const char *kernel, StreamHandle stream,
                                                       Context context) {
  const Driver &driver = machine.devices->driver();
  int handle = -1;
  {
    const CurrentContext current(driver, context);
    driver.check(driver.contextGetDevice(&handle), driver.contextGetDevice,
                 [&] { return "kernel '" + std::string(kernel) + "': finding the device of " + text(stream); });
  }
  for (const Device &device : *machine.devices)
    if (device.handle == handle) {
      if (device.context() != context)
        refuse(kernel, text(stream) + " belongs to a context of " + device.text() +
                           " that is not the device's primary one; legal: streams of the primary context, in which "
                           "the CUDA runtime and the frameworks over it make theirs");
      return device;
    }
  refuse(kernel, text(stream) + " belongs to a device that the driver did not show: number " + std::to_string(handle));
}

static const Device &deviceOfStream(const Machine &machine, const char *kernel, StreamHandle stream) {
  const Driver &driver = machine.devices->driver();
  Context context = nullptr;
  driver.check(driver.streamGetContext(stream, &context), driver.streamGetContext,
               [&] { return "kernel '" + std::string(kernel) + "': finding the context of " + text(stream); });
  for (const Device &device : *machine.devices)
    if (device.contextIfMade() == context)
      return device;
  return deviceOfContext(machine, kernel, stream, context);
}

const Device &deviceOf(const Machine &machine, const char *kernel, StreamHandle stream,
                       std::span<const Argument> arguments) {
  // 1. Find it.
  const Device *device = nullptr;
  if (!isDefaultStream(stream))
    device = &deviceOfStream(machine, kernel, stream);
  else if (!machine.only && machine.devices->size() > 1) // with one, checkAccess() says what it does not reach
    device = deviceOfArrays(machine, arguments);
  if (!device)
    return *machine.preferred;
  // 2. Check that it is ours.
  if (machine.only && device != machine.preferred)
    refuse(kernel, text(stream) + " belongs to " + device->text() + ", the session is on " + machine.preferred->text() +
                       "; legal: a stream of that device, or a session of the target " +
                       "'cuda', which follows the stream");
  if (!machine.architecture.ptxRunsOn(device->sm))
    refuse(kernel, "the launch would be on " + device->text() + ", which does not run code for " +
                       machine.architecture.name() +
                       ", for which the session compiles; legal: a session of the target '" + device->target() + "'");
  return *device;
}

void refuseDuringCapture(const Device &device, const char *kernel, StreamHandle stream, const std::string &action) {
  const Driver &driver = *device.driver;
  const CurrentContext current(driver, device.context());
  CaptureStatus status = CaptureStatus::none;
  driver.check(driver.streamIsCapturing(stream, &status), driver.streamIsCapturing,
               [&] { return "kernel '" + std::string(kernel) + "': " + text(stream); });
  if (status != CaptureStatus::none)
    refuse(kernel, "it would have to be " + action + " while " + text(stream) +
                       " is being captured into a graph; legal: prepare or launch it once with such arguments before "
                       "the capture begins");
}

//===-- memory --------------------------------------------------------------------------------------------------===//

/// Says whose memory it is that the device cannot reach.
[[noreturn, gnu::cold, gnu::noinline]] static void refuseMemory(const Kernel &kernel, const Device &device,
                                                                const Parameter &parameter, Address address) {
  const Driver &driver = *device.driver;
  const std::string culprit = "argument '" + parameter.name + "' is in ";
  const std::string legal = "; legal: memory of " + device.target() +
                            ", managed memory, or host memory that was allocated by or registered with the driver";
  int ordinal = -1;
  MemoryType type{};
  if (driver.pointerGetAttribute(&ordinal, PointerAttribute::deviceOrdinal, address) == Status::success &&
      driver.pointerGetAttribute(&type, PointerAttribute::memoryType, address) == Status::success && ordinal >= 0)
    refuse(kernel.name(), culprit + (type == MemoryType::device ? "memory of cuda:" : "host memory of cuda:") +
                              std::to_string(ordinal) + ", which " + device.text() +
                              ", where the launch is, does not reach" + legal);
  refuse(kernel.name(),
         culprit + "host memory that the driver does not know, and the launch is on " + device.text() + legal);
}

/// The device's context is the current one. Addresses become those that the device uses.
static void checkAccess(const Kernel &kernel, const Device &device, const std::vector<Parameter> &parameters,
                        std::span<const Argument> arguments, ArgumentWords &words) {
  const Driver &driver = *device.driver;
  int64_t *word = words.data();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *view = std::get_if<ArrayView>(&arguments[i]);
    if (!view) {
      ++word;
      continue;
    }
    if (!isEmpty(*view)) {
      Address seen = 0;
      const auto address = static_cast<Address>(*word);
      const Status status = driver.pointerGetAttribute(&seen, PointerAttribute::deviceAddress, address);
      if (status == Status::invalidValue)
        refuseMemory(kernel, device, parameters[i], address);
      driver.check(status, driver.pointerGetAttribute,
                   [&] { return "kernel '" + kernel.name() + "': argument '" + parameters[i].name + "'"; });
      *word = static_cast<int64_t>(seen);
    }
    word += 1 + 2 * view->rank;
  }
}

void checkMemory(const Kernel &kernel, const Device &device, const std::vector<Parameter> &parameters,
                 std::span<const Argument> arguments, ArgumentWords &words) {
  const CurrentContext current(*device.driver, device.context());
  checkAccess(kernel, device, parameters, arguments, words);
}

//===-- launch --------------------------------------------------------------------------------------------------===//

/// The grid in one dimension, which is the one that may be large.
static unsigned flattened(const Kernel &kernel, const Grid &grid) {
  constexpr int64_t most = (int64_t{1} << 31) - 1;
  const int64_t programs = grid.x * grid.y * grid.z; // Binding.h checks that it fits
  if (programs > most)
    refuse(kernel.name(), "grid " + std::to_string(grid.x) + " x " + std::to_string(grid.y) + " x " +
                              std::to_string(grid.z) + " has " + std::to_string(programs) +
                              " programs; legal on a GPU: up to " + std::to_string(most));
  return static_cast<unsigned>(programs);
}

/// The kernel's parameter where tensor maps come first: these, then `words`, aligned as the kernel declares it.
static int64_t *withMaps(const TensorMaps &maps, const ArgumentWords &words, llvm::SmallVectorImpl<int64_t> &storage,
                         llvm::function_ref<std::string()> what) {
  constexpr size_t alignment = 64;
  storage.resize_for_overwrite(maps.words() + words.size() + alignment / sizeof(int64_t) - 1);
  auto *begin = reinterpret_cast<int64_t *>(llvm::alignAddr(storage.data(), llvm::Align(alignment)));
  maps.encode(words.data(), begin, what);
  llvm::copy(words, begin + maps.words());
  return begin;
}

void launch(const Kernel &kernel, const Kernel::Code &code, StreamHandle stream, const Grid &grid,
            const std::vector<Parameter> &parameters, std::span<const Argument> arguments, ArgumentWords &words) {
  const Device &device = code.device;
  const Driver &driver = *device.driver;
  const unsigned programs = flattened(kernel, grid);
  const CurrentContext current(driver, device.context());
  checkAccess(kernel, device, parameters, arguments, words);
  words.append({grid.x, grid.y, grid.z});
  const auto what = [&] { return "kernel '" + kernel.name() + "' on " + device.text(); };
  llvm::SmallVector<int64_t, 192> storage;
  void *parameter = code.maps ? withMaps(*code.maps, words, storage, what) : words.data(); // the one struct
  const LaunchConfig config{
      kernel.blocks(code, programs), 1, 1, kernel.threads(), 1, 1, kernel.sharedBytes(), stream, nullptr, 0};
  driver.check(driver.launchKernel(&config, code.function, &parameter, nullptr), driver.launchKernel, [&] {
    return what() + ", " + std::to_string(programs) + " blocks of " + std::to_string(kernel.threads()) +
           " threads and " + std::to_string(kernel.sharedBytes()) + " bytes of shared memory";
  });
}

} // namespace sectile::cuda
