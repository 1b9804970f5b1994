// Elements further apart than 2^31: every offset inside a kernel has 64 bits.
#include "sectile/Error.h"
#include "tests/attention/Trial.h"
#include "tests/support/CudaDevice.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <sys/mman.h>

using namespace sectile;
using namespace sectile::test;

namespace {

/// Address space of the target under test, all 0. On the host, only the touched pages take memory.
class AddressSpace {
public:
  explicit AddressSpace(size_t bytes) : bytes(bytes), onDevice(isCudaTarget(targetUnderTest())) {
    if (onDevice)
      allocateOnDevice();
    else if (void *pages =
                 mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
             pages != MAP_FAILED)
      memory = static_cast<char *>(pages);
    if (!memory)
      WARN("not run: the system refuses " << (bytes >> 20) << " MiB of address space");
  }
  ~AddressSpace() {
    if (memory && onDevice)
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
  void allocateOnDevice() {
    try {
      const CudaDevice::Address address = CudaDevice::get().allocate(bytes);
      memory = reinterpret_cast<char *>(address);
      CudaDevice::get().fill(address, 0, bytes);
    } catch (const DeviceError &error) {
      if (std::string(error.what()).find("OUT_OF_MEMORY") == std::string::npos)
        throw;
    }
  }

  char *memory = nullptr;
  size_t bytes;
  bool onDevice;
};

/// Whether all elements take part. Elsewhere a launch is slow: the arrays then have as much memory, of which they show
/// the first element, the last one and few between.
bool isWhole() { return isCudaTarget(targetUnderTest()); }

/// An array from element `first` of the memory on.
ArrayView arrayIn(const AddressSpace &space, int64_t first, Type type, std::array<int64_t, 4> sizes,
                  std::array<int64_t, 4> strides) {
  return ArrayView(space.begin() + first * typeBytes(type), type, sizes, strides);
}

/// Where some elements of a large array are: those of the given tokens, in one batch, from one head on.
struct Place {
  int64_t batch, head;
  std::vector<int64_t> tokens;

  /// The elements of token i, which are those of row i of `near`: as many heads, side by side.
  char *find(const ArrayView &far, size_t i) const {
    return static_cast<char *>(far.data) +
           (batch * far.strides[0] + tokens[i] * far.strides[1] + head * far.strides[2]) * typeBytes(far.type);
  }
};

std::vector<int64_t> firstTokens(int64_t count) {
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return tokens;
}

size_t bytesOfRow(const ArrayView &near) { return near.sizes[2] * near.sizes[3] * typeBytes(near.type); }

/// Row i of one sequence.
char *rowOf(const ArrayView &array, int64_t i) {
  return static_cast<char *>(array.data) + i * array.strides[1] * typeBytes(array.type);
}

void write(const AddressSpace &space, const ArrayView &far, const Place &place, const ArrayView &near) {
  for (size_t i = 0; i < place.tokens.size(); ++i)
    space.write(place.find(far, i), rowOf(near, static_cast<int64_t>(i)), bytesOfRow(near));
}

/// Judges what a launch wrote in one place of a large array as the trial's own result.
void checkPlace(const AddressSpace &space, const ArrayView &far, const Place &place, const Trial &near) {
  for (size_t i = 0; i < place.tokens.size(); ++i) {
    const std::vector<char> row = space.read(place.find(far, i), bytesOfRow(near.out));
    std::memcpy(rowOf(near.out, static_cast<int64_t>(i)), row.data(), row.size());
  }
  const reference::Verdict verdict =
      reference::judge(near.out, std::nullopt, reference::attention(near.q, near.k, near.v, near.options),
                       reference::naiveAttention(near.q, near.k, near.v, near.options));
  INFO("batch " << place.batch << " head " << place.head << ", worst: " << verdict.worst);
  CHECK(verdict.error <= verdict.bound());
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
      if (!space)
        return;
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

TEST_CASE("A35a sglang#20389: batches of tokens and heads that are more than 2^31 elements together") {
  constexpr int64_t tokens = 512, heads = 128, columns = 128, perToken = heads * columns, perBatch = tokens * perToken;
  static_assert(256 * perBatch == int64_t{1} << 31);
  const int64_t batchStep = isWhole() ? 1 : 64, tokenStep = isWhole() ? 1 : 73, headStep = isWhole() ? 1 : 127;
  const auto shown = [](int64_t all, int64_t step) { return (all - 1) / step + 1; };
  const size_t bytes = 257 * perBatch * typeBytes(Type::bf16);
  const AddressSpace q(bytes), k(bytes), v(bytes), out(bytes);
  if (!q || !k || !v || !out)
    return;

  const int64_t length = shown(tokens, tokenStep);
  uint64_t seed = 0;
  for (const int64_t batches : {255, 256, 257}) {
    INFO(batches << " batches");
    const std::array sizes = {shown(batches, batchStep), length, shown(heads, headStep), columns};
    const auto arrayOf = [&](const AddressSpace &space) {
      return arrayIn(space, 0, Type::bf16, sizes,
                     {batchStep * perBatch, tokenStep * perToken, headStep * columns, int64_t{1}});
    };
    // 1. Numbers in the corners, 0 elsewhere.
    std::vector<std::pair<Place, Trial>> corners;
    for (const int64_t batch : {int64_t{0}, sizes[0] - 1})
      for (const int64_t head : {int64_t{0}, sizes[2] - 1}) {
        const Place place{batch, head, firstTokens(length)};
        Trial near({.type = Type::bf16, .seqlenQ = length, .seqlenK = length, .headDim = columns, .headDimV = columns},
                   ++seed);
        write(q, arrayOf(q), place, near.q);
        write(k, arrayOf(k), place, near.k);
        write(v, arrayOf(v), place, near.v);
        corners.emplace_back(place, std::move(near));
      }
    // 2. All of it.
    attend(session(), arrayOf(q), arrayOf(k), arrayOf(v), arrayOf(out), {});
    for (const auto &[place, near] : corners)
      checkPlace(out, arrayOf(out), place, near);
  }
}

TEST_CASE("A35b vLLM#50427: pages of keys and values by turns, the last page past 2^32 elements") {
  constexpr int64_t pageTokens = 16, heads = 8, columns = 128, perToken = heads * columns, page = pageTokens * perToken;
  constexpr int64_t pages = (int64_t{1} << 17) + 1, queries = 4;
  static_assert((pages - 1) * 2 * page == int64_t{1} << 32);
  const int64_t step = isWhole() ? 1 : 1 << 14, batches = (pages - 1) / step + 1;
  const AddressSpace buffer(pages * 2 * page * typeBytes(Type::f16)),
      results(batches * queries * perToken * typeBytes(Type::f16));
  if (!buffer || !results)
    return;

  // A batch is a page, and the queries are those of all batches, through stride 0.
  const Shape shape{.type = Type::f16,
                    .seqlenQ = queries,
                    .seqlenK = pageTokens,
                    .heads = heads,
                    .headsKv = heads,
                    .headDim = columns,
                    .headDimV = columns};
  const std::array sizes = {batches, pageTokens, heads, columns},
                   strides = {step * 2 * page, perToken, columns, int64_t{1}};
  const ArrayView k = arrayIn(buffer, 0, Type::f16, sizes, strides),
                  v = arrayIn(buffer, page, Type::f16, sizes, strides),
                  out = arrayIn(results, 0, Type::f16, {batches, queries, heads, columns},
                                {queries * perToken, perToken, columns, 1});
  std::vector<std::pair<Place, Trial>> samples;
  for (const int64_t batch : {int64_t{0}, batches / 2, batches - 2, batches - 1}) {
    Trial near(shape); // the same queries each time
    Random random(static_cast<uint64_t>(batch) + 2);
    near.k.randomize(random);
    near.v.randomize(random);
    const Place place{batch, 0, firstTokens(pageTokens)};
    write(buffer, k, place, near.k);
    write(buffer, v, place, near.v);
    samples.emplace_back(place, std::move(near));
  }
  const Trial &first = samples.front().second;
  const TargetMemory memory(targetUnderTest(), {first.q});
  ArrayView q = memory.resident(first.q);
  q.sizes[0] = batches;
  q.strides[0] = 0;
  attend(session(), q, k, v, out, {});
  for (auto &[place, near] : samples) {
    place.tokens.resize(queries);
    checkPlace(results, out, place, near);
  }
}

TEST_CASE("A35c SageAttention#386: queries, keys and values in one array of more than 2^31 elements") {
  constexpr int64_t tokens = 99866, heads = 56, columns = 128, part = heads * columns, perToken = 3 * part;
  static_assert((tokens - 1) * perToken > int64_t{1} << 31); // where the last token begins
  const int64_t step = isWhole() ? 1 : (tokens - 1) / 5, length = (tokens - 1) / step + 1;
  const AddressSpace fused(tokens * perToken * typeBytes(Type::f16)), results(length * part * typeBytes(Type::f16));
  if (!fused || !results)
    return;

  const std::array sizes = {int64_t{1}, length, heads, columns},
                   strides = {tokens * perToken, step * perToken, columns, int64_t{1}};
  const auto partOf = [&](int64_t index) { return arrayIn(fused, index * part, Type::f16, sizes, strides); };
  const ArrayView out = arrayIn(results, 0, Type::f16, sizes, {length * part, part, columns, 1});
  // All is 0 but some tokens: the scores of the others are 0, and so are their values. In the reference they are a
  // sink, a score without a value. Large numbers, so that the some are not lost among the many.
  const Place place{0, 0, {0, 1, length / 2, length - 2, length - 1}};
  const auto sampled = static_cast<int64_t>(place.tokens.size());
  Trial near({.type = Type::f16,
              .seqlenQ = sampled,
              .seqlenK = sampled,
              .heads = heads,
              .headsKv = heads,
              .headDim = columns,
              .headDimV = columns},
             1, 4);
  Tensor others(Type::f32, {heads});
  others.fill(std::log(static_cast<double>(length - sampled)));
  near.options.sink = others;
  write(fused, partOf(0), place, near.q);
  write(fused, partOf(1), place, near.k);
  write(fused, partOf(2), place, near.v);
  attend(session(), partOf(0), partOf(1), partOf(2), out, {});
  checkPlace(results, out, place, near);
}
