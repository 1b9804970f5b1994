// SECTILE_DUMP and SECTILE_OVERRIDE: stages out to files, edited files back in.
#include "tests/support/Buffer.h"
#include "tests/support/Environment.h"
#include "tests/support/RuntimeKernels.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;
namespace fs = std::filesystem;

namespace {

/// A session that scales by 3, and what it said.
struct Scaled {
  explicit Scaled(Options options) {
    if (options.target.empty())
      options.target = "interpret";
    if (options.cache.empty())
      options.cache = "off";
    options.log = [&](int level, const std::string &line) {
      if (level == 1)
        warnings.push_back(line);
    };
    Session session(options);
    session.launch(Stream::host(), scaleKernel, {4, 0}, {1}, {x.view(), y.view(), 3.0f});
    key = session.history().at(0).key;
    counters = session.counters();
    executable = session.prepare(scaleKernel, {4, 0}, {x.view(), y.view(), 3.0f});
  }
  Buffer x{Type::f32, {4}, Values{1, 2, 3, 4}}, y{Type::f32, {4}};
  std::vector<std::string> warnings;
  std::string key;
  CacheCounters counters;
  std::shared_ptr<const Executable> executable;
};

/// The one folder in a folder.
fs::path only(const fs::path &folder) {
  fs::path found;
  for (const auto &entry : fs::directory_iterator(folder)) {
    REQUIRE(found.empty());
    found = entry.path();
  }
  return found;
}

void replaceIn(const fs::path &file, const std::string &from, const std::string &to) {
  std::string text = readFile(file);
  REQUIRE(text.find(from) != std::string::npos);
  text.replace(text.find(from), from.size(), to);
  writeFile(file, text);
}

} // namespace

TEMPLATE_TEST_CASE_SIG("a dump has every stage and a description", "", ((bool cpu), cpu), false, true) {
  ScratchFolder folder;
  Options options;
  options.target = cpu ? "cpu" : "interpret";
  options.dump = folder / "dump";
  const Scaled run(options);
  const fs::path kernel = only(folder.path() / "dump");
  CHECK(kernel.filename() == "scale-" + run.key.substr(0, 12));
  CHECK(run.executable->stages().size() == (cpu ? run.executable->stages().size() : 1));
  for (const Stage &stage : run.executable->stages())
    CHECK(readFile(kernel / stage.file) == stage.text);
  const std::string description = readFile(kernel / "schedule.json");
  for (const std::string &part : {"\"key\": \"" + run.key + "\"", std::string("\"kernel\": \"scale\""),
                                  std::string("\"schedule\": "), std::string("\"resources\": ")})
    CHECK_THAT(description, Contains(part));
}

TEST_CASE("a cache hit is dumped as well") {
  ScratchFolder folder;
  Options options;
  options.cache = folder / "cache";
  CHECK(Scaled(options).counters.compilations == 1);
  options.dump = folder / "dump";
  const Scaled hit(options);
  CHECK(hit.counters.diskHits == 1);
  const fs::path kernel = only(folder.path() / "dump");
  CHECK(fs::exists(kernel / "tile.mlir"));
  CHECK(fs::exists(kernel / "schedule.json"));
}

TEST_CASE("a dump can be limited to some kernels") {
  ScratchFolder folder;
  Options options;
  options.dump = folder / "dump:att*";
  const Scaled other(options);
  CHECK(fs::is_empty(folder.path() / "dump"));
  options.dump = folder / "dump:sc*";
  const Scaled wanted(options);
  CHECK_FALSE(fs::is_empty(folder.path() / "dump"));
}

TEST_CASE("a dump that cannot be written costs one warning") {
  ScratchFolder folder;
  Options options;
  options.dump = folder / "dump";
  const Scaled first(options);
  const fs::path kernel = only(folder.path() / "dump");
  fs::remove_all(kernel);
  writeFile(kernel, "a file where the folder should be");
  const Scaled second(options);
  CHECK(second.y.values() == Values{3, 6, 9, 12});
  REQUIRE(second.warnings.size() == 1);
  CHECK_THAT(second.warnings[0], Contains("cannot be written"));
}

TEST_CASE("an edited dump replaces the stage, under a key of its own") {
  ScratchFolder folder;
  Options options;
  options.cache = folder / "cache";
  options.dump = folder / "edited";
  const Scaled original(options);
  options.dump.clear();
  replaceIn(only(folder.path() / "edited") / "tile.mlir", "arith.mulf", "arith.addf");

  options.overrides = folder / "edited";
  const Scaled edited(options);
  CHECK(edited.y.values() == Values{4, 5, 6, 7});
  CHECK(edited.key != original.key);
  REQUIRE(edited.warnings.size() == 1);
  CHECK_THAT(edited.warnings[0], Contains("tile.mlir' replaces what the compiler would have produced"));
  // Without the override the cache still has the original.
  options.overrides.clear();
  const Scaled after(options);
  CHECK(after.y.values() == Values{3, 6, 9, 12});
  CHECK(after.counters.diskHits == 1);
  CHECK(after.key == original.key);
  // With it, the edited one is cached too; another edit is another key.
  options.overrides = folder / "edited";
  CHECK(Scaled(options).counters.diskHits == 1);
  replaceIn(only(folder.path() / "edited") / "tile.mlir", "arith.addf", "arith.subf");
  CHECK(Scaled(options).y.values() == Values{-2, -1, 0, 1});
}

TEST_CASE("a dump that was not edited replaces nothing") {
  ScratchFolder folder;
  Options options;
  options.dump = folder / "dump";
  const Scaled original(options);
  options.dump.clear();
  options.overrides = folder / "dump";
  const Scaled same(options);
  CHECK(same.key == original.key);
  CHECK(same.warnings.empty());
}

TEST_CASE("an edited dump of another variant is named") {
  ScratchFolder folder;
  writeFile(folder / "scale-0123456789ab/tile.mlir", "not read");
  writeFile(folder / "scale-notes/tile.mlir", "not read");
  Options options;
  options.overrides = folder.path();
  const Scaled run(options);
  CHECK(run.y.values() == Values{3, 6, 9, 12});
  REQUIRE(run.warnings.size() == 1);
  CHECK_THAT(run.warnings[0], Contains("scale-0123456789ab' is of another variant of kernel 'scale'") &&
                                  Contains("which is 'scale-" + run.key.substr(0, 12) + "'"));
}

TEST_CASE("a folder with the kernel's name applies to every variant of it") {
  ScratchFolder folder;
  const Scaled original{Options()};
  std::string text = original.executable->stages()[0].text;
  text.replace(text.find("arith.mulf"), 10, "arith.addf");
  writeFile(folder / "scale/tile.mlir", text);
  writeFile(folder / "other/tile.mlir", "not read");
  Options options;
  options.overrides = folder.path();
  CHECK(Scaled(options).y.values() == Values{4, 5, 6, 7});
}

TEST_CASE("a malformed override is the user's error, with the parser's message") {
  ScratchFolder folder;
  writeFile(folder / "scale/tile.mlir", "tile.kernel @scale(%x: !tile.view<1xf32>) {\n  nonsense\n}\n");
  Options options;
  options.overrides = folder.path();
  try {
    const Scaled run(options);
    FAIL("accepted");
  } catch (const UserError &e) {
    CHECK_THAT(e.what(), Contains("tile.mlir:2") && Contains("nonsense"));
  }
}

TEST_CASE("later stages can be edited as well, and a broken one is the user's error") {
  ScratchFolder folder;
  Options options;
  options.target = "cpu";
  options.dump = folder / "edited";
  const Scaled original(options);
  options.dump.clear();
  options.overrides = folder / "edited";
  const fs::path kernel = only(folder.path() / "edited");
  auto refusal = [&]() -> std::string {
    try {
      const Scaled run(options);
    } catch (const UserError &e) {
      return e.what();
    }
    return "accepted";
  };
  SECTION("the vector stage") {
    replaceIn(kernel / "vector.mlir", "arith.mulf", "arith.addf");
    CHECK(Scaled(options).y.values() == Values{4, 5, 6, 7});
  }
  SECTION("the llvm stage, then the object that came of it") {
    replaceIn(kernel / "llvm.mlir", "llvm.fmul", "llvm.fadd");
    const Scaled added(options);
    CHECK(added.y.values() == Values{4, 5, 6, 7});
    writeFile(folder / "objects/scale/kernel.o", added.executable->stages().back().text);
    options.overrides = folder / "objects";
    CHECK(Scaled(options).y.values() == Values{4, 5, 6, 7});
  }
  SECTION("without the function") {
    replaceIn(kernel / "llvm.mlir", "llvm.func @scale", "llvm.func @other");
    CHECK_THAT(refusal(), Contains("kernel 'scale' with edited stages: ") && Contains("does not define"));
  }
  SECTION("not an object") {
    writeFile(kernel / "kernel.o", "hello");
    CHECK_THAT(refusal(), Contains("object"));
  }
}

TEST_CASE("a failed compilation leaves the stages so far, reaches all who wait, and is tried again") {
  ScratchFolder folder;
  writeFile(folder / "edited/scale/llvm.mlir", "nonsense");
  Options options;
  options.target = "cpu";
  options.cache = "off";
  options.logLevel = 0;
  options.dump = folder / "dump";
  options.overrides = folder / "edited";
  Session session(options);
  std::atomic<int> failures = 0;
  auto fail = [&] {
    Buffer x(Type::f32, {4}, Values{1, 2, 3, 4}), y(Type::f32, {4});
    try {
      session.launch(Stream::host(), scaleKernel, {4, 0}, {1}, {x.view(), y.view(), 3.0f});
    } catch (const UserError &e) {
      failures += std::string(e.what()).find("nonsense") != std::string::npos && y.unchanged();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(fail);
  for (std::thread &thread : threads)
    thread.join();
  CHECK(failures == 4);
  const fs::path dumped = only(folder.path() / "dump") / "vector.mlir";
  CHECK(fs::exists(dumped));
  fs::remove(dumped);
  fail();
  CHECK(failures == 5);
  CHECK(fs::exists(dumped));
  CHECK(session.counters().compilations == 0);
}

TEST_CASE("an override that no stage asks for is said") {
  ScratchFolder folder;
  writeFile(folder / "scale/tiles.mlir", "misspelt");
  Options options;
  options.overrides = folder.path();
  const Scaled run(options);
  CHECK(run.y.values() == Values{3, 6, 9, 12});
  REQUIRE(run.warnings.size() == 2);
  CHECK_THAT(run.warnings[1], Contains("override 'tiles.mlir' replaces nothing; its stages are tile.mlir"));
}
