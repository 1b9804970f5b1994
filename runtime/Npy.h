// NumPy's .npy files: one array with a small text header. Versions 1.0, 2.0 and 3.0 are read, 1.0 is written.
//
//   offset 0   "\x93NUMPY", version (2 bytes), header length (2 bytes, from version 2.0 on 4), all little-endian
//   then       {'descr': '<f4', 'fortran_order': False, 'shape': (1, 197, 12, 32), }   padded to a multiple of 64
//   then       the elements
//
// Types: '<f4' f32, '<f2' f16, '<i4' i32, '|b1' i1, and for bf16, which NumPy does not know, '<V2': that is what NumPy
// writes for arrays of ml_dtypes.bfloat16, and a loaded array is given its type back by `.view(ml_dtypes.bfloat16)`.
//
// Every failure is a UserError (or DeviceError, when the system refuses to write) that names the file, the byte offset
// and the rule; no input, however damaged, reads out of bounds or allocates more than the file holds.
#pragma once

#include "sectile/Array.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sectile {

/// What the header says, and where the elements begin.
struct NpyHeader {
  Type type = Type::f32;
  bool fortranOrder = false; ///< the first index varies fastest
  std::vector<int64_t> sizes;
  size_t dataOffset = 0;
  int64_t dataBytes = 0;

  std::vector<int64_t> strides() const; ///< in elements
};

/// An array that owns its elements, in the order of its file.
struct NpyArray {
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };
  NpyHeader header;
  std::vector<CacheLine> lines;

  std::span<std::byte> bytes();
  ArrayView view();
};

/// Headers longer than this are refused; NumPy's own have about a hundred bytes.
constexpr size_t maxNpyHeaderBytes = 1 << 16;

/// Parses the first bytes of a file of `fileBytes` bytes; `start` holds all of it or at least `maxNpyHeaderBytes`.
/// `name` is for messages.
NpyHeader parseNpyHeader(std::span<const std::byte> start, uint64_t fileBytes, const std::string &name);

/// A whole file in memory.
NpyArray parseNpy(std::span<const std::byte> file, const std::string &name);
NpyArray readNpy(const std::string &path);

/// The header that describes a contiguous (row-major) array, everything that stands before its elements.
std::string npyHeaderText(Type type, std::span<const int64_t> sizes);
/// Writes any strided view in row-major order, under a temporary name that is renamed at the end, so that no reader
/// sees half a file.
void writeNpy(const std::string &path, const ArrayView &array);

} // namespace sectile
