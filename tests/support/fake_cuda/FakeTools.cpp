// Memory and time, for tools.
#include "tests/support/fake_cuda/FakeDriver.h"

#include <algorithm>
#include <cstring>

using namespace fake;

extern "C" {

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
