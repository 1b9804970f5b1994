// libFuzzer over the .npy reader: whatever the bytes, it gives an array that can be read to its end, or a UserError.

#include "runtime/Npy.h"

#include "sectile/Error.h"

#include <cstdlib>

using namespace sectile;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try {
    NpyArray array = parseNpy(std::as_bytes(std::span(data, size)), "fuzz.npy");
    const ArrayView view = array.view();
    int64_t last = 0; // the element that is furthest from the first
    for (int32_t d = 0; d < view.rank; ++d)
      last += (view.sizes[d] - 1) * view.strides[d];
    if (view.elements() > 0 && (last + 1) * typeBytes(view.type) != array.header.dataBytes)
      std::abort();
    volatile std::byte sum{};
    for (const std::byte byte : array.bytes())
      sum = sum ^ byte;
  } catch (const UserError &) {
  }
  return 0;
}
