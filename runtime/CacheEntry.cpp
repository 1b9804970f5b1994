#include "runtime/CacheEntry.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/xxhash.h"

using namespace sectile;

static constexpr llvm::StringLiteral magic = "SECTILE\n";
static constexpr uint32_t formatVersion = 2;
static constexpr size_t headerBytes = 40;

//===-- writing -------------------------------------------------------------------------------------------------===//

namespace {
class Writer {
public:
  void number(uint64_t value) {
    char raw[8];
    llvm::support::endian::write64le(raw, value);
    bytes.append(raw, sizeof(raw));
  }
  void string(llvm::StringRef text) {
    number(text.size());
    bytes.append(text.data(), text.size());
  }
  std::string bytes;
};
} // namespace

static llvm::XXH128_hash_t checksum(llvm::StringRef payload) {
  return llvm::xxh3_128bits({reinterpret_cast<const uint8_t *>(payload.data()), payload.size()});
}

std::string CacheEntry::serialize() const {
  Writer payload;
  payload.string(buildId);
  payload.string(key);
  payload.string(name);
  payload.string(target);
  payload.string(toString(schedule));
  payload.string(artifact.entry);
  payload.number(artifact.parameters.size());
  for (const Parameter &parameter : artifact.parameters) {
    payload.string(parameter.name);
    payload.number(static_cast<uint64_t>(parameter.access));
    payload.number(static_cast<uint64_t>(parameter.type));
    payload.number(parameter.rank);
  }
  payload.number(artifact.tensorMaps.size());
  for (const TensorMap &map : artifact.tensorMaps)
    for (uint32_t field : {map.parameter, map.rows, map.columns, map.swizzle})
      payload.number(field);
  payload.number(artifact.resources.size());
  for (const auto &[resource, value] : artifact.resources) {
    payload.string(resource);
    payload.number(static_cast<uint64_t>(value));
  }
  payload.number(artifact.stages.size());
  for (const Stage &stage : artifact.stages) {
    payload.string(stage.name);
    payload.string(stage.file);
    payload.string(stage.text);
  }

  const llvm::XXH128_hash_t sum = checksum(payload.bytes);
  Writer entry;
  entry.bytes = magic.str();
  entry.number(formatVersion);
  entry.number(payload.bytes.size());
  entry.number(sum.low64);
  entry.number(sum.high64);
  return entry.bytes + payload.bytes;
}

//===-- reading -------------------------------------------------------------------------------------------------===//

namespace {
/// Reads as long as nothing went wrong; then every further read gives zeros and empty strings.
class Reader {
public:
  explicit Reader(llvm::StringRef rest) : rest(rest) {}

  uint64_t number(uint64_t most = UINT64_MAX) {
    if (rest.size() < 8)
      return fail("ends in the middle of a number");
    uint64_t value = llvm::support::endian::read64le(rest.data());
    if (value > most)
      return fail("has a number out of range");
    rest = rest.drop_front(8);
    return value;
  }
  std::string string() {
    uint64_t length = number();
    if (length > rest.size()) {
      fail("ends in the middle of a string");
      return {};
    }
    std::string text = rest.take_front(length).str();
    rest = rest.drop_front(length);
    return text;
  }
  /// The number of elements of a list whose elements take at least `bytes` each: bounds what a reader allocates.
  uint64_t count(uint64_t bytes) {
    uint64_t value = number();
    return value > rest.size() / bytes ? fail("has a list longer than itself") : value;
  }
  uint64_t fail(const char *what) {
    if (!wrong)
      wrong = what;
    rest = {};
    return 0;
  }

  llvm::StringRef rest;
  const char *wrong = nullptr;
};
} // namespace

static llvm::Error damaged(const std::string &what) { return userError("the cache entry " + what); }

/// The payload, when everything in front of it is in order.
static llvm::Expected<llvm::StringRef> checkHeader(llvm::StringRef bytes) {
  if (bytes.size() < headerBytes)
    return damaged("is " + std::to_string(bytes.size()) + " bytes long, shorter than its header");
  if (!bytes.starts_with(magic))
    return damaged("does not begin as one");
  Reader header(bytes.substr(magic.size(), headerBytes - magic.size()));
  if (uint64_t version = header.number(); version != formatVersion)
    return damaged("has format version " + std::to_string(version) + ", this build reads " +
                   std::to_string(formatVersion));
  llvm::StringRef payload = bytes.drop_front(headerBytes);
  if (uint64_t size = header.number(); size != payload.size())
    return damaged("should have a payload of " + std::to_string(size) + " bytes and has " +
                   std::to_string(payload.size()));
  llvm::XXH128_hash_t sum = checksum(payload);
  if (header.number() != sum.low64 || header.number() != sum.high64)
    return damaged("does not match its checksum");
  return payload;
}

static void read(Reader &reader, const std::vector<Parameter> &parameters, TensorMap &map) {
  for (uint32_t *field : {&map.parameter, &map.rows, &map.columns, &map.swizzle})
    *field = static_cast<uint32_t>(reader.number(UINT32_MAX));
  if (map.parameter >= parameters.size() || parameters[map.parameter].access == Parameter::Access::scalar ||
      whyIllegal(map, parameters[map.parameter].type, parameters[map.parameter].rank))
    reader.fail("has a tensor map that no launch can encode");
}

llvm::Expected<CacheEntry> CacheEntry::parse(llvm::StringRef bytes) {
  llvm::Expected<llvm::StringRef> payload = checkHeader(bytes);
  if (!payload)
    return payload.takeError();
  Reader reader(*payload);
  CacheEntry entry;
  entry.buildId = reader.string();
  entry.key = reader.string();
  entry.name = reader.string();
  entry.target = reader.string();
  const std::string schedule = reader.string();
  entry.artifact.entry = reader.string();
  entry.artifact.parameters.resize(reader.count(4 * sizeof(uint64_t)));
  for (Parameter &parameter : entry.artifact.parameters) {
    parameter.name = reader.string();
    parameter.access = static_cast<Parameter::Access>(reader.number(static_cast<uint64_t>(Parameter::Access::scalar)));
    parameter.type = static_cast<Type>(reader.number(static_cast<uint64_t>(Type::i1)));
    parameter.rank = static_cast<int32_t>(reader.number(ArrayView::maxRank));
  }
  entry.artifact.tensorMaps.resize(reader.count(4 * sizeof(uint64_t)));
  for (TensorMap &map : entry.artifact.tensorMaps)
    read(reader, entry.artifact.parameters, map);
  entry.artifact.resources.resize(reader.count(2 * sizeof(uint64_t)));
  for (auto &[resource, value] : entry.artifact.resources) {
    resource = reader.string();
    value = static_cast<int64_t>(reader.number());
  }
  entry.artifact.stages.resize(reader.count(3 * sizeof(uint64_t)));
  for (Stage &stage : entry.artifact.stages) {
    stage.name = reader.string();
    stage.file = reader.string();
    stage.text = reader.string();
  }
  if (reader.wrong)
    return damaged(reader.wrong);
  if (!reader.rest.empty())
    return damaged("has " + std::to_string(reader.rest.size()) + " bytes too many");
  if (entry.artifact.stages.empty())
    return damaged("has no stage");
  try {
    entry.schedule = parseSchedule(schedule);
  } catch (const std::exception &e) {
    return damaged(std::string("has a malformed schedule: ") + e.what());
  }
  if (toString(entry.schedule) != schedule)
    return damaged("has the schedule '" + schedule + "', which is not as it is written");
  return entry;
}
