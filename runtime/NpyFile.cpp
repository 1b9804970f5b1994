// The elements of .npy files: reading and writing them.

#include "runtime/Npy.h"

#include "sectile/Error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <unistd.h>

using namespace sectile;

std::span<std::byte> NpyArray::bytes() {
  return {reinterpret_cast<std::byte *>(lines.data()), static_cast<size_t>(header.dataBytes)};
}

ArrayView NpyArray::view() { return ArrayView(lines.data(), header.type, header.sizes, header.strides()); }

namespace {

NpyArray allocate(const NpyHeader &header) {
  return {header, std::vector<NpyArray::CacheLine>(static_cast<size_t>(header.dataBytes + 63) / 64)};
}

/// NumPy stores a bool as 0 or 1, and kernels rely on it.
void checkBools(NpyArray &array, const std::string &name) {
  if (array.header.type != Type::i1)
    return;
  const std::span<std::byte> bytes = array.bytes();
  const auto bad = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (bad != bytes.end())
    throw UserError(name + ": byte " +
                    std::to_string(array.header.dataOffset + static_cast<size_t>(bad - bytes.begin())) +
                    ": a bool must be 0 or 1, found " + std::to_string(std::to_integer<int>(*bad)));
}

/// Calls `consume` with the address of each element in row-major order.
void forEachElement(const ArrayView &array, const std::function<void(const char *)> &consume) {
  if (array.elements() == 0)
    return;
  std::array<int64_t, ArrayView::maxRank> index{};
  const int64_t bytes = typeBytes(array.type);
  while (true) {
    int64_t offset = 0;
    for (int32_t d = 0; d < array.rank; ++d)
      offset += index[d] * array.strides[d];
    consume(static_cast<const char *>(array.data) + offset * bytes);
    int32_t d = array.rank - 1;
    for (; d >= 0 && ++index[d] == array.sizes[d]; --d)
      index[d] = 0;
    if (d < 0)
      return;
  }
}

[[noreturn]] void refuseToWrite(const std::string &path) {
  throw DeviceError(path + ": cannot be written: " + std::strerror(errno));
}

void writeTo(const std::string &path, const ArrayView &array) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << npyHeaderText(array.type, std::span(array.sizes.data(), static_cast<size_t>(array.rank)));
  const int64_t bytes = typeBytes(array.type);
  forEachElement(array, [&](const char *element) { file.write(element, bytes); });
  file.close();
  if (!file)
    refuseToWrite(path);
}

} // namespace

NpyArray sectile::parseNpy(std::span<const std::byte> file, const std::string &name) {
  NpyArray array = allocate(parseNpyHeader(file, file.size(), name));
  std::ranges::copy(file.subspan(array.header.dataOffset), array.bytes().begin());
  checkBools(array, name);
  return array;
}

NpyArray sectile::readNpy(const std::string &path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff end = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (end < 0 || std::filesystem::is_directory(path))
    throw UserError(path + ": cannot be read: " + (errno ? std::strerror(errno) : "not a regular file"));
  const auto fileBytes = static_cast<uint64_t>(end);

  std::vector<std::byte> start(std::min<uint64_t>(fileBytes, maxNpyHeaderBytes));
  file.seekg(0);
  file.read(reinterpret_cast<char *>(start.data()), static_cast<std::streamsize>(start.size()));
  NpyArray array = allocate(parseNpyHeader(start, fileBytes, path));
  file.seekg(static_cast<std::streamoff>(array.header.dataOffset));
  file.read(reinterpret_cast<char *>(array.bytes().data()), static_cast<std::streamsize>(array.bytes().size()));
  if (!file)
    throw UserError(path + ": the file became shorter while it was read");
  checkBools(array, path);
  return array;
}

void sectile::writeNpy(const std::string &path, const ArrayView &array) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path target = fs::weakly_canonical(path, error); // through links, so that a link stays one
  if (error || target.empty())
    throw UserError(path + ": not a usable file name");
  if (fs::exists(target) && !fs::is_regular_file(target)) // a pipe or /dev/null must not be replaced by a file
    return writeTo(target, array);

  const fs::path temporary = target.string() + ".tmp" + std::to_string(getpid());
  try {
    writeTo(temporary, array);
    if (std::rename(temporary.c_str(), target.c_str()) != 0)
      refuseToWrite(path);
  } catch (...) {
    fs::remove(temporary, error);
    throw;
  }
}
