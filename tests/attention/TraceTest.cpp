// The kernel's IR: every option alone and all together make a valid kernel, and an option that is off leaves no trace.
#include "compiler/dsl/TracedKernel.h"
#include "kernels/attention/Forward.h"

#include "llvm/ADT/StringRef.h"

#include <catch2/catch.hpp>

using namespace sectile;
using attention::ForwardConfig;

namespace {

tile::Tile halve(const tile::Tile &score, const ScorePosition &) { return score * 0.5f; }
tile::Tile evenKeys(const ScorePosition &at) { return (at.key & 1) == 0; }

ForwardConfig plain(Type type) {
  ForwardConfig config{};
  config.type = type;
  config.outType = isStorageOnly(type) ? Type::bf16 : type;
  config.headDim = 64;
  config.headDimV = 32;
  return config;
}

TracedKernel traced(const ForwardConfig &config) {
  Schedule schedule;
  schedule.blockM = 32;
  schedule.blockN = 64;
  return trace("attention_forward", [&](Trace &t) { attention::forward(t, config); }, schedule, {});
}

struct Switch {
  const char *name;
  void (*turnOn)(ForwardConfig &);
};
const Switch switches[] = {
    {"queryScale", [](ForwardConfig &c) { c.queryScale = true; }},
    {"keyScale", [](ForwardConfig &c) { c.keyScale = true; }},
    {"valueScale", [](ForwardConfig &c) { c.valueScale = true; }},
    {"bias", [](ForwardConfig &c) { c.bias = true, c.biasType = Type::f32; }},
    {"alibi", [](ForwardConfig &c) { c.alibi = true; }},
    {"sink", [](ForwardConfig &c) { c.sink = true; }},
    {"softcap", [](ForwardConfig &c) { c.softcap = true; }},
    {"dropout", [](ForwardConfig &c) { c.dropout = true; }},
    {"lse", [](ForwardConfig &c) { c.lse = true; }},
    {"keyLengths", [](ForwardConfig &c) { c.keyLengths = true; }},
    {"left", [](ForwardConfig &c) { c.left = true; }},
    {"right", [](ForwardConfig &c) { c.right = true; }},
    {"keyTail", [](ForwardConfig &c) { c.keyTail = true; }},
    {"scoreModifier", [](ForwardConfig &c) { c.scoreModifier = halve; }},
    {"maskPredicate", [](ForwardConfig &c) { c.maskPredicate = evenKeys; }},
    {"longestFirst", [](ForwardConfig &c) { c.longestFirst = true; }},
    {"paired", [](ForwardConfig &c) { c.paired = true; }},
};

} // namespace

TEST_CASE("a positive scale is applied after the maximum, where nothing comes between and queries do not carry it") {
  const auto differs = [](ForwardConfig config) {
    const std::string without = traced(config).text(false);
    config.positiveScale = true;
    return traced(config).text(false) != without;
  };
  CHECK(differs(plain(Type::bf16)));
  CHECK(differs(plain(Type::f8e4m3)));
  CHECK_FALSE(differs(plain(Type::f32)));
  for (const char *name : {"queryScale", "bias", "alibi", "softcap", "scoreModifier"}) {
    ForwardConfig config = plain(Type::bf16);
    for (const Switch &option : switches)
      if (std::string_view(option.name) == name)
        option.turnOn(config);
    CAPTURE(name);
    CHECK_FALSE(differs(config));
  }
}

TEST_CASE("each option makes another valid kernel") {
  const Type type = GENERATE(Type::f32, Type::f16, Type::bf16, Type::f8e4m3, Type::f8e5m2);
  const std::string without = traced(plain(type)).text(false);
  ForwardConfig all = plain(type);
  for (const Switch &option : switches) {
    CAPTURE(option.name);
    ForwardConfig config = plain(type);
    option.turnOn(config);
    option.turnOn(all);
    CHECK(traced(config).text(false) != without);
  }
  CHECK(traced(all).parameters().size() == 23);
  all.scalars = AttentionOptions::maxScalars;
  CHECK(traced(all).parameters().size() == 23 + AttentionOptions::maxScalars);
}

TEST_CASE("the order of programs is where their numbers go") {
  ForwardConfig config = plain(Type::bf16);
  config.right = true;
  const auto count = [&](llvm::StringRef text) { return llvm::StringRef(traced(config).text(false)).count(text); };
  const auto has = [&](llvm::StringRef text) { return count(text) > 0; };
  CHECK((has("tile.program 0") && has("tile.program 1") && has("tile.program 2")));
  CHECK_FALSE(has("last_heads"));
  const size_t choices = count("arith.select");
  config.paired = true; // from which end of the blocks
  CHECK((has("tile.program 0") && has("tile.program 1") && has("tile.program 2")));
  CHECK(count("arith.select") == choices + 1);
  config.paired = false;
  config.longestFirst = true;
  CHECK((has("tile.program 0") && has("last_heads")));
  CHECK_FALSE((has("tile.program 1") || has("tile.program 2")));
}

TEST_CASE("more programs than one dimension of a grid holds start head by head") {
  const int64_t batch = int64_t{1} << 20;
  for (const auto &[heads, first] : {std::pair{int64_t{1} << 9, true}, {int64_t{1} << 12, false}}) {
    ArrayView array;
    array.type = Type::f16;
    array.rank = 4;
    array.sizes = {batch, 20, heads, 64};
    array.strides = {0, 0, 0, 1};
    const attention::ForwardProblem problem{Type::f16, Type::f16, batch, heads, heads, 20, 20, 64, 64};
    AttentionOptions options;
    options.causal = true;
    const attention::ForwardCall call(problem, {array, array, array, array, nullptr}, options,
                                      {.blockM = 16, .blockN = 16, .order = Order::longest});
    CHECK(call.config.longestFirst == first);
    CHECK(call.grid.x * call.grid.y * call.grid.z == 2 * heads * batch);
    CHECK((call.grid.x == 2) == !first);
  }
}

TEST_CASE("a plain kernel compares nothing but the running maximum and the empty row") {
  const std::string text = traced(plain(Type::bf16)).text(false);
  CHECK(text.find("cmpi") == std::string::npos);
  CHECK(text.find("tanh") == std::string::npos);
  CHECK(traced(plain(Type::bf16)).parameters().size() == 5);
}

TEST_CASE("a user's function that returns the wrong type is refused by name") {
  ForwardConfig config = plain(Type::f32);
  config.scoreModifier = [](const tile::Tile &score, const ScorePosition &) { return tile::cast(score, Type::f16); };
  CHECK_THROWS_WITH(traced(config), Catch::Contains("scoreModifier returned a tile of type f16: it must return f32"));
  config.scoreModifier = nullptr;
  config.maskPredicate = [](const ScorePosition &at) { return at.key; };
  CHECK_THROWS_WITH(traced(config), Catch::Contains("maskPredicate returned a tile of type i32: it must return i1"));
}
