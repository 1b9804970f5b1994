#include "runtime/cuda/HostGuard.h"

#include "runtime/cuda/Driver.h"
#include "sectile/Error.h"

namespace sectile::cuda {

void refuseDeviceMemory(const std::string &path, const char *kernel, std::span<const Argument> arguments) {
  const Library library = Library::ifLoaded(path);
  const Entry<void *, PointerAttribute, Address> ask{library, "cuPointerGetAttribute"};
  if (!ask)
    return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto *view = std::get_if<ArrayView>(&arguments[i]);
    if (!view || !view->data)
      continue;
    const auto address = reinterpret_cast<Address>(view->data);
    MemoryType type{};
    unsigned managed = 0; // 1: the host reaches it, too
    if (ask(&type, PointerAttribute::memoryType, address) == Status::success && type == MemoryType::device &&
        ask(&managed, PointerAttribute::isManaged, address) == Status::success && !managed)
      throw UserError("kernel '" + std::string(kernel) + "': argument " + std::to_string(i + 1) + " of " +
                      std::to_string(arguments.size()) +
                      " is in the memory of a GPU, and the session is on the host; " +
                      "legal: host memory, managed memory, or a session of the target 'cuda'");
  }
}

} // namespace sectile::cuda
