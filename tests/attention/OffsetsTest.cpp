// Elements further apart than 2^31: every offset inside a kernel has 64 bits.
#include "tests/attention/Trial.h"
#include "tests/support/CudaDevice.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <sys/mman.h>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Address space of the target under test. On the host, only the touched pages take memory.
class AddressSpace {
public:
  explicit AddressSpace(size_t bytes) : bytes(bytes), onDevice(isCudaTarget(targetUnderTest())) {
    if (onDevice)
      memory = reinterpret_cast<char *>(CudaDevice::get().allocate(bytes));
    else if (void *pages =
                 mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
             pages != MAP_FAILED)
      memory = static_cast<char *>(pages);
  }
  ~AddressSpace() {
    if (onDevice)
      CudaDevice::get().free(reinterpret_cast<CudaDevice::Address>(memory));
    else if (memory)
      munmap(memory, bytes);
  }
  AddressSpace(const AddressSpace &) = delete;
  explicit operator bool() const { return memory; }
  char *begin() const { return memory; }

  void write(char *to, const void *from, size_t count) const {
    if (onDevice)
      CudaDevice::get().upload(reinterpret_cast<CudaDevice::Address>(to), from, count);
    else
      std::memcpy(to, from, count);
  }
  std::vector<char> read(const char *from, size_t count) const {
    std::vector<char> result(count);
    if (onDevice)
      CudaDevice::get().download(result.data(), reinterpret_cast<CudaDevice::Address>(from), count);
    else
      std::memcpy(result.data(), from, count);
    return result;
  }

private:
  char *memory = nullptr;
  size_t bytes;
  bool onDevice;
};

/// Row i of one sequence and one head, in either array.
char *rowOf(const ArrayView &array, int64_t i) {
  return static_cast<char *>(array.data) + i * array.strides[1] * typeBytes(array.type);
}

} // namespace

TEST_CASE("rows that lie more than 2^31 elements apart") {
  const int64_t rows = 3, columns = 16, apart = (int64_t{1} << 31) + 48, rowBytes = columns * sizeof(float);
  Trial near({.seqlenQ = rows, .seqlenK = rows, .headDim = columns, .headDimV = columns});
  near.check();
  const std::vector<std::byte> expected = near.out.bytes();

  for (const bool backwards : {false, true})
    for (const int which : {0, 1, 2, 3}) {
      INFO("array " << which << " of q, k, v, out; backwards: " << backwards);
      const AddressSpace space((rows - 1) * apart * static_cast<int64_t>(sizeof(float)) + rowBytes);
      if (!space) {
        WARN("not run: the system refuses 17 GiB of address space");
        return;
      }
      near.out.poison();
      ArrayView views[] = {near.q, near.k, near.v, near.out};
      const ArrayView original = views[which];
      const TargetMemory memory(targetUnderTest(), {std::begin(views), std::end(views)});
      for (ArrayView &view : views)
        view = memory.resident(view);
      ArrayView &far = views[which];
      far.data = space.begin() + (backwards ? (rows - 1) * apart * static_cast<int64_t>(sizeof(float)) : 0);
      far.strides[1] = backwards ? -apart : apart;
      for (int64_t i = 0; i < rows; ++i)
        space.write(rowOf(far, i), rowOf(original, i), rowBytes);

      attend(session(), views[0], views[1], views[2], views[3], {});
      memory.fetch();
      for (int64_t i = 0; i < rows; ++i) {
        const auto got = which == 3 ? space.read(rowOf(far, i), rowBytes)
                                    : std::vector<char>(rowOf(near.out, i), rowOf(near.out, i) + rowBytes);
        CHECK(std::memcmp(got.data(), &expected[i * rowBytes], rowBytes) == 0);
      }
    }
}
