// The format of cache entries: what is written is read back, and nothing else is accepted.
#include "runtime/CacheEntry.h"

#include <catch2/catch.hpp>

using namespace sectile;

static CacheEntry sample() {
  CacheEntry entry;
  entry.buildId = "build 7";
  entry.key = std::string(32, 'a');
  entry.name = "scale";
  entry.target = "cpu:some:+feature";
  entry.schedule = {.blockM = 64, .threads = 2};
  entry.artifact.entry = "scale_entry";
  entry.artifact.parameters = {{"x", Parameter::Access::input, Type::bf16, 4},
                               {"y", Parameter::Access::output, Type::f32, 5},
                               {"n", Parameter::Access::scalar, Type::i32, 0}};
  entry.artifact.tensorMaps = {{0, 128, 64, 128}, {1, 1, 256, 0}};
  entry.artifact.resources = {{"scratch_bytes", 4096}, {"negative", -1}};
  entry.artifact.stages = {{"tile", "tile.mlir", "a text\n"}, {"object", "object.o", std::string("\0\xff\x7f", 3)}};
  return entry;
}

static std::string failure(llvm::StringRef bytes) {
  llvm::Expected<CacheEntry> entry = CacheEntry::parse(bytes);
  return entry ? "accepted" : llvm::toString(entry.takeError());
}

TEST_CASE("an entry is read back as it was written") {
  const CacheEntry before = sample();
  llvm::Expected<CacheEntry> after = CacheEntry::parse(before.serialize());
  REQUIRE(bool(after));
  CHECK(after->buildId == before.buildId);
  CHECK(after->key == before.key);
  CHECK(after->name == before.name);
  CHECK(after->target == before.target);
  CHECK(after->schedule == before.schedule);
  CHECK(after->artifact.entry == before.artifact.entry);
  CHECK(after->artifact.parameters == before.artifact.parameters);
  CHECK(after->artifact.tensorMaps == before.artifact.tensorMaps);
  CHECK(after->artifact.resources == before.artifact.resources);
  REQUIRE(after->artifact.stages.size() == 2);
  for (int i : {0, 1}) {
    CHECK(after->artifact.stages[i].name == before.artifact.stages[i].name);
    CHECK(after->artifact.stages[i].file == before.artifact.stages[i].file);
    CHECK(after->artifact.stages[i].text == before.artifact.stages[i].text);
  }
}

TEST_CASE("any flipped bit, any truncation and any addition is found") {
  const std::string bytes = sample().serialize();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << bit));
      if (failure(flipped) == "accepted")
        FAIL("bit " << bit << " of byte " << i);
    }
    if (failure(llvm::StringRef(bytes).take_front(i)) == "accepted")
      FAIL("truncated to " << i << " bytes");
  }
  CHECK(failure(bytes + "x") == "the cache entry should have a payload of " + std::to_string(bytes.size() - 40) +
                                    " bytes and has " + std::to_string(bytes.size() - 39));
}

TEST_CASE("messages say what is wrong") {
  std::string bytes = sample().serialize();
  CHECK(failure("") == "the cache entry is 0 bytes long, shorter than its header");
  CHECK(failure(std::string(40, 'x')) == "the cache entry does not begin as one");
  bytes[8] = 9;
  CHECK(failure(bytes) == "the cache entry has format version 9, this build reads 2");
  bytes = sample().serialize();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  CHECK(failure(bytes) == "the cache entry does not match its checksum");
  CacheEntry entry = sample();
  entry.artifact.stages.clear();
  CHECK(failure(entry.serialize()) == "the cache entry has no stage");
  entry = sample();
  entry.artifact.parameters[0].rank = 7;
  CHECK(failure(entry.serialize()) == "the cache entry has a number out of range");
  for (const TensorMap &map : {TensorMap{2, 128, 64, 128}, {3, 128, 64, 128}, {0, 128, 64, 96}, {0, 0, 64, 128}}) {
    entry = sample();
    entry.artifact.tensorMaps.push_back(map);
    CHECK(failure(entry.serialize()) == "the cache entry has a tensor map that no launch can encode");
  }
}
