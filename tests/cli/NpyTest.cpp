// The .npy reader and writer: what NumPy writes is read, what is written is what NumPy reads, and damage is named.

#include "runtime/Npy.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace sectile;

namespace {

/// A file of the given version with this dictionary and so many zero bytes of elements.
std::string npyFile(const std::string &dictionary, size_t elementBytes, int major = 1) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(major), '\0'};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    file += static_cast<char>(dictionary.size() >> (8 * i));
  return file + dictionary + std::string(elementBytes, '\0');
}

NpyArray parse(const std::string &file) { return parseNpy(std::as_bytes(std::span(file)), "x.npy"); }

std::string failure(const std::string &file) {
  try {
    parse(file);
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

struct TemporaryFolder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("sectile-npy-test-" + std::to_string(getpid()));
  TemporaryFolder() { std::filesystem::create_directories(path); }
  ~TemporaryFolder() { std::filesystem::remove_all(path); }
};

} // namespace

TEST_CASE("headers of all versions, types and orders") {
  const auto [descr, type] = GENERATE(table<const char *, Type>(
      {{"<f4", Type::f32}, {"<f2", Type::f16}, {"<i4", Type::i32}, {"|b1", Type::i1}, {"<V2", Type::bf16}}));
  const int major = GENERATE(1, 2, 3);
  const bool fortran = GENERATE(false, true);
  const std::string dictionary = std::string("{'descr': '") + descr +
                                 "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (2, 3, 5), }  \n";
  NpyArray array = parse(npyFile(dictionary, static_cast<size_t>(30 * typeBytes(type)), major));
  CHECK(array.header.type == type);
  CHECK(array.header.sizes == std::vector<int64_t>{2, 3, 5});
  CHECK(array.header.strides() == (fortran ? std::vector<int64_t>{1, 2, 6} : std::vector<int64_t>{15, 5, 1}));
  CHECK(array.view().elements() == 30);
  CHECK(reinterpret_cast<uintptr_t>(array.view().data) % 64 == 0);
}

TEST_CASE("shapes without elements, without dimensions and of one dimension") {
  CHECK(parse(npyFile("{'shape': (), 'descr': '<f4', 'fortran_order': False}", 4)).view().rank == 0);
  CHECK(parse(npyFile("{'shape': (7,), 'descr': \"<f4\", 'fortran_order': False}", 28)).view().sizes[0] == 7);
  NpyArray empty = parse(npyFile("{'descr':'<f4','fortran_order':False,'shape':(2000000000,0,2000000000,4)}", 0));
  CHECK(empty.view().elements() == 0);
}

TEST_CASE("damage is named with its offset") {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";
  const auto [dictionary, bytes, expected] = GENERATE_COPY(table<std::string, size_t, std::string>({
      {good, 15, "x.npy: byte 69: the shape in the header asks for 16 bytes of elements, the file has 15"},
      {good, 17, "asks for 16 bytes of elements, the file has 17"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", 16, "'descr' is '<f8' (float64: convert it"},
      {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", 8, "big-endian"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", 8, "structured types"},
      {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }", 8, "byte 44: .npy header: 'fortran_order' must be"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8, "must be from 0 to 2146435072"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 8, "must be from 0 to"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000, 2000000000, 2000000000), }", 8, "than 2^63"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1), }", 4, "more than 6 dimensions"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }", 16, "expected ',' or ')' in 'shape', found '2'"},
      {"{'descr': '<f4', 'fortran_order': False, }", 4, "key 'shape' is missing"},
      {"{'descr': '<f4', 'descr': '<f4', 'shape': (), 'fortran_order': False}", 4, "key 'descr' is repeated"},
      {"{'descr': '<f4', 'order': 1}", 4, "key 'order' is repeated or none of"},
      {"{'descr': '<f4", 4, "the string that begins here has no end"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()", 4, "expected ',' or '}'"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", 4, "expected nothing but spaces"},
      {"", 4, "expected '{', found the end"},
  }));
  CHECK_THAT(failure(npyFile(dictionary, bytes)), Catch::Contains(expected));
}

TEST_CASE("a bool is 0 or 1") {
  std::string file = npyFile("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", 2);
  file.back() = 2;
  CHECK_THAT(failure(file), Catch::Contains("a bool must be 0 or 1, found 2"));
}

TEST_CASE("every truncation is refused") {
  const std::string file = npyFile("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", 8, GENERATE(1, 2));
  for (size_t length = 0; length < file.size(); ++length)
    CHECK_THAT(failure(file.substr(0, length)), Catch::StartsWith("x.npy: byte "));
  CHECK_THAT(failure("\x93NUMPZ\x01"), Catch::Contains("not a .npy file"));
  std::string future = file;
  future[6] = 4;
  CHECK_THAT(failure(future), Catch::Contains(".npy version 4.0"));
  CHECK_THAT(failure(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff{", 13)), Catch::Contains("a header of 4294967295"));
}

TEST_CASE("what is written is read again, from any strides") {
  const TemporaryFolder folder;
  const std::string path = folder.path / "array.npy";
  std::vector<float> storage{1, 2, 3, 4, 5, 6};
  const ArrayView matrix(storage.data(), Type::f32, {2, 3});
  writeNpy(path, matrix.permuted({1, 0}));
  NpyArray read = readNpy(path);
  CHECK(read.header.sizes == std::vector<int64_t>{3, 2});
  const std::vector<float> expected{1, 4, 2, 5, 3, 6};
  CHECK(std::memcmp(read.bytes().data(), expected.data(), 24) == 0);
  CHECK(read.header.dataOffset % 64 == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1); // no temporary file is left
}

TEST_CASE("the header is the one that NumPy writes") {
  const int64_t one[] = {7}, four[] = {1, 197, 12, 32};
  CHECK_THAT(npyHeaderText(Type::f32, {}), Catch::Contains("'shape': (), }"));
  CHECK_THAT(npyHeaderText(Type::bf16, one),
             Catch::Contains("{'descr': '<V2', 'fortran_order': False, 'shape': (7,), }"));
  CHECK_THAT(npyHeaderText(Type::i1, four),
             Catch::Contains("'descr': '|b1'") && Catch::Contains("(1, 197, 12, 32), }"));
  CHECK_THROWS_WITH(npyHeaderText(Type::f8e4m3, one), Catch::Contains("f8e4m3 has no .npy form"));
}

TEST_CASE("files that are not there and places that cannot be written") {
  const TemporaryFolder folder;
  const ArrayView empty(nullptr, Type::f32, {0});
  CHECK_THROWS_WITH(readNpy(folder.path / "none.npy"), Catch::Contains("none.npy: cannot be read: No such file"));
  CHECK_THROWS_AS(readNpy(folder.path), UserError);
  CHECK_THROWS_WITH(writeNpy(folder.path / "none" / "x.npy", empty), Catch::Contains("cannot be written"));
  writeNpy("/dev/null", empty);
  CHECK(std::filesystem::is_character_file("/dev/null"));
}
