// Elements further apart than 2^31: every offset inside a kernel has 64 bits.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <sys/mman.h>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Address space of which only the touched pages take memory.
class Sparse {
public:
  explicit Sparse(size_t bytes) : bytes(bytes) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Sparse() {
    if (*this)
      munmap(memory, bytes);
  }
  Sparse(const Sparse &) = delete;
  explicit operator bool() const { return memory != MAP_FAILED; }
  char *data() const { return static_cast<char *>(memory); }

private:
  void *memory;
  size_t bytes;
};

/// Row i of one sequence and one head, in either array.
char *rowOf(const ArrayView &array, int64_t i) {
  return static_cast<char *>(array.data) + i * array.strides[1] * typeBytes(array.type);
}

} // namespace

TEST_CASE("rows that lie more than 2^31 elements apart") {
  const int64_t rows = 3, columns = 16, apart = (int64_t{1} << 31) + 48;
  Trial near({.seqlenQ = rows, .seqlenK = rows, .headDim = columns, .headDimV = columns});
  near.check();
  const std::vector<std::byte> expected = near.out.bytes();

  for (const bool backwards : {false, true})
    for (const int which : {0, 1, 2, 3}) {
      INFO("array " << which << " of q, k, v, out; backwards: " << backwards);
      const Sparse memory(((rows - 1) * apart + columns) * sizeof(float));
      if (!memory) {
        WARN("not run: the system refuses 17 GiB of address space");
        return;
      }
      ArrayView views[] = {near.q, near.k, near.v, near.out};
      ArrayView &far = views[which];
      const ArrayView original = far;
      far.data = memory.data() + (backwards ? (rows - 1) * apart * static_cast<int64_t>(sizeof(float)) : 0);
      far.strides[1] = backwards ? -apart : apart;
      for (int64_t i = 0; i < rows; ++i)
        std::memcpy(rowOf(far, i), rowOf(original, i), columns * sizeof(float));
      near.out.poison();
      if (which == 3)
        for (int64_t i = 0; i < rows; ++i)
          std::memset(rowOf(far, i), 0xff, columns * sizeof(float));

      attentionForward(session(), Stream::host(), views[0], views[1], views[2], views[3], {});
      for (int64_t i = 0; i < rows; ++i)
        CHECK(std::memcmp(rowOf(views[3], i), &expected[i * columns * sizeof(float)], columns * sizeof(float)) == 0);
    }
}
