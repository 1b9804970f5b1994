// The cache on disk: found again, never trusted, never in the way.
#include "runtime/CacheEntry.h"
#include "tests/support/Buffer.h"
#include "tests/support/Environment.h"
#include "tests/support/RuntimeKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <sys/mount.h>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// A session of its own over a cache, one launch, and what came of it.
struct Run {
  explicit Run(const std::string &cache, const std::string &target = "interpret") {
    Options options;
    options.target = target;
    options.cache = cache;
    options.threads = 1;
    options.log = [&](int level, const std::string &line) {
      if (level == 1)
        warnings.push_back(line);
    };
    Session session(options);
    location = session.cacheLocation();
    Buffer x(Type::f32, {4}, Values{1, 2, 3, 4}), y(Type::f32, {4});
    session.launch(Stream::host(), scaleKernel, {4, 0}, {1}, {x.view(), y.view(), 3.0f});
    right = y.values() == Values{3, 6, 9, 12};
    counters = session.counters();
    record = session.history().at(0);
  }
  bool compiled() const { return counters.compilations == 1 && counters.diskHits == 0; }
  bool loaded() const { return counters.compilations == 0 && counters.diskHits == 1; }

  std::vector<std::string> warnings;
  std::string location;
  bool right;
  CacheCounters counters;
  LaunchRecord record;
};

std::vector<fs::path> filesIn(const fs::path &folder) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder))
    files.push_back(entry.path());
  return files;
}

} // namespace

TEMPLATE_TEST_CASE_SIG("a second session loads what the first one compiled", "", ((bool cpu), cpu), false, true) {
  ScratchFolder folder;
  const std::string target = cpu ? "cpu" : "interpret";
  const Run first(folder / "cache", target), second(folder / "cache", target);
  CHECK(first.compiled());
  CHECK(first.location == folder / "cache");
  CHECK(first.warnings.empty());
  CHECK(second.loaded());
  CHECK(second.right);
  CHECK(second.warnings.empty());
  CHECK(second.record.source == LaunchRecord::Source::disk);
  CHECK(second.record.reason == "first use of kernel");
  CHECK(second.record.compileMs == 0);
  CHECK(second.record.loadMs > 0);
  REQUIRE(filesIn(folder.path() / "cache").size() == 1);
  CHECK(filesIn(folder.path() / "cache")[0].filename() == first.record.key + ".sectile");
}

TEST_CASE("a copied and touched cache is still good") {
  ScratchFolder folder;
  CHECK(Run(folder / "a").compiled());
  fs::copy(folder / "a", folder / "b", fs::copy_options::recursive);
  for (const fs::path &file : filesIn(folder.path() / "b"))
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(24));
  Environment environment({{"PATH", "/nowhere"}, {"XDG_CACHE_HOME", "/nowhere"}});
  CHECK(Run(folder / "b").loaded());
}

TEST_CASE("a damaged entry is a miss with one warning, and is replaced") {
  ScratchFolder folder;
  const Run first(folder / "cache");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  const std::string good = readFile(file);
  std::string bad = good;
  SECTION("truncated") { bad.resize(good.size() / 2); }
  SECTION("empty") { bad.clear(); }
  SECTION("a flipped byte in the header") { bad[9] = static_cast<char>(bad[9] ^ 1); }
  SECTION("a flipped byte in the middle") { bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 0x40); }
  SECTION("a flipped byte at the end") { bad.back() = static_cast<char>(bad.back() ^ 1); }
  SECTION("something else") { bad = "hello"; }
  SECTION("longer") { bad += "tail"; }
  writeFile(file, bad);
  const Run second(folder / "cache");
  CHECK(second.compiled());
  CHECK(second.right);
  REQUIRE(second.warnings.size() == 1);
  CHECK_THAT(second.warnings[0], Contains("'" + file.string() + "' is not used and will be replaced: "));
  CHECK(readFile(file) == good);
  CHECK(Run(folder / "cache").loaded());
}

TEST_CASE("an entry under another entry's name is not used") {
  ScratchFolder folder;
  const Run scale(folder / "cache");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  const std::string renamed = folder / "cache/" + std::string(32, '0') + ".sectile";
  fs::rename(file, renamed);
  CHECK(Run(folder / "cache").compiled());
  fs::remove(file);
  // The other way round: the right name, the wrong content.
  ScratchFolder other;
  CHECK(Run(other / "cache", "cpu").compiled());
  fs::copy_file(filesIn(other.path() / "cache").at(0), file);
  const Run again(folder / "cache");
  CHECK(again.compiled());
  CHECK(again.right);
  REQUIRE(again.warnings.size() == 1);
  CHECK_THAT(again.warnings[0], Contains("it holds kernel 'scale' with key"));
}

TEST_CASE("an entry of another build is not used") {
  ScratchFolder folder;
  const Run first(folder / "cache");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  const std::string good = readFile(file);
  llvm::Expected<CacheEntry> entry = CacheEntry::parse(good);
  REQUIRE(bool(entry));
  entry->buildId = "another build";
  writeFile(file, entry->serialize());
  const Run second(folder / "cache");
  CHECK(second.compiled());
  REQUIRE(second.warnings.size() == 1);
  CHECK_THAT(second.warnings[0], Contains("by build another build"));
  CHECK(readFile(file) == good);
}

TEST_CASE("an entry whose code does not load is not used") {
  ScratchFolder folder;
  const Run first(folder / "cache", "cpu");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  llvm::Expected<CacheEntry> entry = CacheEntry::parse(readFile(file));
  REQUIRE(bool(entry));
  entry->artifact.stages.back().text = "no object"; // and yet its checksum is right
  writeFile(file, entry->serialize());
  const Run second(folder / "cache", "cpu");
  CHECK(second.compiled());
  CHECK(second.right);
  CHECK(second.warnings.size() == 1);
}

TEST_CASE("a directory in the place of an entry does not fail the call") {
  ScratchFolder folder;
  const Run first(folder / "cache");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  fs::remove(file);
  fs::create_directories(file / "inside");
  const Run second(folder / "cache");
  CHECK(second.compiled());
  CHECK(second.right);
  CHECK(second.warnings.size() == 2); // not readable, not replaceable
}

TEST_CASE("a failed write leaves no temporary file") {
  ScratchFolder folder;
  const Run first(folder / "cache");
  const fs::path file = filesIn(folder.path() / "cache").at(0);
  fs::remove(file);
  fs::create_directories(file / "inside"); // the rename fails
  const Run second(folder / "cache");
  CHECK(filesIn(folder.path() / "cache").size() == 1);
}

TEST_CASE("temporary files of dead writers go after an hour, and not before") {
  ScratchFolder folder;
  writeFile(folder / "cache/dead-12345678.tmp", "half");
  writeFile(folder / "cache/alive-12345678.tmp", "half");
  writeFile(folder / "cache/other.txt", "not ours");
  const auto hours = std::chrono::hours(2);
  for (const char *name : {"cache/dead-12345678.tmp", "cache/other.txt"})
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - hours);
  CHECK(Run(folder / "cache").compiled());
  CHECK_FALSE(fs::exists(folder / "cache/dead-12345678.tmp"));
  CHECK(fs::exists(folder / "cache/alive-12345678.tmp"));
  CHECK(fs::exists(folder / "cache/other.txt"));
}

//===-- choosing the directory ----------------------------------------------------------------------------------===//

TEST_CASE("the directory comes from XDG_CACHE_HOME, else HOME") {
  ScratchFolder folder;
  SECTION("XDG_CACHE_HOME") {
    Environment environment({{"XDG_CACHE_HOME", folder.path().c_str()}, {"HOME", "/nowhere"}});
    CHECK(Run("").location == folder / "sectile");
  }
  SECTION("HOME") {
    Environment environment({{"XDG_CACHE_HOME", nullptr}, {"HOME", folder.path().c_str()}});
    CHECK(Run("").location == folder / ".cache/sectile");
  }
  SECTION("a relative XDG_CACHE_HOME does not count") {
    Environment environment({{"XDG_CACHE_HOME", "here"}, {"HOME", folder.path().c_str()}});
    CHECK(Run("").location == folder / ".cache/sectile");
  }
}

TEST_CASE("each step down is logged once and fails nothing") {
  ScratchFolder folder;
  const std::string mine = folder / ("sectile-" + std::to_string(::geteuid()));
  SECTION("no HOME: the private temporary directory") {
    Environment environment({{"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}, {"TMPDIR", folder.path().c_str()}});
    const Run run("");
    CHECK(run.right);
    CHECK(run.location == mine);
    REQUIRE(run.warnings.size() == 2);
    CHECK(run.warnings[0] == "no cache directory: neither XDG_CACHE_HOME nor HOME is an absolute path");
    CHECK(run.warnings[1] == "compiled kernels are cached in '" + mine + "'");
    CHECK((fs::status(mine).permissions() & fs::perms::all) == fs::perms::owner_all);
  }
  SECTION("a HOME that cannot be written") {
    Environment environment({{"XDG_CACHE_HOME", nullptr}, {"HOME", "/proc"}, {"TMPDIR", folder.path().c_str()}});
    const Run run("");
    CHECK(run.right);
    CHECK(run.location == mine);
    REQUIRE(run.warnings.size() == 2);
    CHECK_THAT(run.warnings[0], Contains("cache directory '/proc/.cache/sectile' cannot be used: "));
  }
  SECTION("a temporary directory that others may write to") {
    fs::create_directories(mine);
    fs::permissions(mine, fs::perms::all);
    Environment environment({{"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}, {"TMPDIR", folder.path().c_str()}});
    const Run run("");
    CHECK(run.right);
    CHECK(run.location == "memory");
    REQUIRE(run.warnings.size() == 3);
    CHECK_THAT(run.warnings[1], Contains("'" + mine + "' is not private"));
    CHECK(run.warnings[2] == "compiled kernels are kept in memory only");
  }
  SECTION("a temporary directory that is somebody's link") {
    fs::create_directories(folder / "elsewhere");
    fs::permissions(folder / "elsewhere", fs::perms::owner_all);
    fs::create_directory_symlink(folder / "elsewhere", mine);
    Environment environment({{"XDG_CACHE_HOME", nullptr}, {"HOME", nullptr}, {"TMPDIR", folder.path().c_str()}});
    CHECK(Run("").location == "memory");
  }
  SECTION("nothing at all") {
    Environment environment({{"XDG_CACHE_HOME", "/proc"}, {"HOME", "/proc"}, {"TMPDIR", "/proc"}});
    const Run run("");
    CHECK(run.right);
    CHECK(run.location == "memory");
    CHECK(run.warnings.size() == 3);
  }
  SECTION("a named directory under a file") {
    writeFile(folder / "file", "");
    const Run run(folder / "file/cache");
    CHECK(run.right);
    CHECK(run.location == "memory");
    REQUIRE(run.warnings.size() == 2);
    CHECK_THAT(run.warnings[0], Contains("cannot be used"));
  }
}

TEST_CASE("'off' keeps to memory without a word") {
  const Run run("off");
  CHECK(run.right);
  CHECK(run.location == "memory");
  CHECK(run.warnings.empty());
}

//===-- file systems that refuse --------------------------------------------------------------------------------===//

namespace {
/// A small file system of its own; `mounted` is false where mounting is not allowed.
struct SmallDisk {
  explicit SmallDisk(const std::string &where, const char *options) : where(where) {
    fs::create_directories(where);
    mounted = ::mount("tmpfs", where.c_str(), "tmpfs", 0, options) == 0;
    if (!mounted)
      WARN("skipped: cannot mount a tmpfs here");
  }
  ~SmallDisk() {
    if (mounted)
      ::umount2(where.c_str(), MNT_DETACH);
  }
  std::string where;
  bool mounted;
};
} // namespace

TEST_CASE("a full disk costs a warning") {
  ScratchFolder folder;
  SmallDisk disk(folder / "disk", "size=4k");
  if (!disk.mounted)
    return;
  const Run run(disk.where, "cpu");
  CHECK(run.compiled());
  CHECK(run.right);
  REQUIRE(run.warnings.size() == 1);
  CHECK_THAT(run.warnings[0], Contains("cannot be written: No space left on device"));
  CHECK(filesIn(disk.where).empty());
}

TEST_CASE("a read-only directory is read") {
  ScratchFolder folder;
  SmallDisk disk(folder / "disk", "size=4m");
  if (!disk.mounted)
    return;
  CHECK(Run(disk.where).compiled());
  REQUIRE(::mount("", disk.where.c_str(), "", MS_REMOUNT | MS_RDONLY, "") == 0);
  const Run run(disk.where);
  CHECK(run.loaded());
  CHECK(run.right);
  REQUIRE(run.warnings.size() == 1);
  CHECK_THAT(run.warnings[0], Contains("is read, not written: Read-only file system"));
  CHECK(Run(disk.where, "cpu").compiled());
}
