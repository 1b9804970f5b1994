// Every rule of the tile language, broken once: the message and its line.
#include "compiler/dsl/TracedKernel.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>

using namespace sectile;
using namespace sectile::tile;

namespace {

/// The message of the UserError that tracing throws.
std::string messageOf(const std::function<void(Trace &)> &body) {
  try {
    trace("kernel", body, {}, {});
  } catch (const UserError &error) {
    return error.what();
  }
  return "no error";
}

std::string at(int line, const std::string &text) {
  return "DslErrorTest.cpp:" + std::to_string(line) + ": error: " + text;
}

/// "DslErrorTest.cpp:12: error: …" is on line 12.
int lineOf(const std::string &message) {
  const size_t colon = message.find(':');
  return colon == std::string::npos ? 0 : std::atoi(message.c_str() + colon + 1);
}

} // namespace

// A statement that is refused. It may stand on a few lines, of which compilers report different ones; exact lines are
// tested further below.
#define CHECK_REFUSED(message, ...)                                                                                    \
  do {                                                                                                                 \
    const std::string text = messageOf([](Trace &t) {                                                                  \
      __VA_ARGS__;                                                                                                     \
      (void)t;                                                                                                         \
    });                                                                                                                \
    CHECK_THAT(text, Catch::Matchers::StartsWith("DslErrorTest.cpp:"));                                                \
    CHECK_THAT(text, Catch::Matchers::EndsWith(std::string(": error: ") + (message)));                                 \
    CHECK(std::abs(lineOf(text) - __LINE__) <= 3);                                                                     \
  } while (false)

TEST_CASE("broadcasting") {
  CHECK_REFUSED("'add' cannot broadcast [8, 4] with [8, 5] (axis 1)", t.full(0, {8, 4}) + t.full(0, {8, 5}));
  CHECK_REFUSED("'multiply' cannot broadcast [4] with [8, 3] (axis 1)", t.full(0, {4}) * t.full(0, {8, 3}));
  CHECK_REFUSED("'select' cannot broadcast [2] with [3] (axis 0)",
                select(t.full(0, {2}) < 1, t.full(0, {3}), t.full(0, {3})));
  CHECK_REFUSED("'broadcast' cannot stretch [2, 3] to [2, 6]", broadcast(t.full(0, {2, 3}), {2, 6}));
  CHECK_REFUSED("'broadcast' cannot stretch [2, 3] to [3]", broadcast(t.full(0, {2, 3}), {3}));
  CHECK_REFUSED("'add' makes tiles of at most 16777216 elements, got [8192, 8192]",
                t.full(0, {8192, 1}) + t.full(0, {1, 8192}));
}

TEST_CASE("element types") {
  CHECK_REFUSED("'add' needs one element type, got f32 and f16: cast one of them",
                t.full(0, {4}) + t.full(0, {4}, Type::f16));
  CHECK_REFUSED("'add' needs integers for i32, got the real number 1.5: write an integer, or cast to a float type",
                t.iota(4) + 1.5);
  CHECK_REFUSED("'divide' takes floating point, got i32: write floorDiv or ceilDiv", t.iota(4) / 2);
  CHECK_REFUSED("'divide' takes f32, f16, bf16, got i1", t.full(1, {4}, Type::i1) / t.full(1, {4}, Type::i1));
  CHECK_REFUSED("'add' takes f32, f16, bf16, i32, got f8e4m3: cast it first", t.full(1, {4}, Type::f8e4m3) + 1);
  CHECK_REFUSED("'exp2' takes f32, got bf16: cast it first", exp2(t.full(1, {4}, Type::bf16)));
  CHECK_REFUSED("'exp2' takes f32, got i32", exp2(t.iota(4)));
  CHECK_REFUSED("'floorDiv' takes i32, got f32", floorDiv(t.full(1, {4}), 2));
  CHECK_REFUSED("'&' takes i32, i1, got f32", t.full(1, {4}) & t.full(1, {4}));
  CHECK_REFUSED("'<' takes f32, f16, bf16, i32, got i1", (void)(t.full(1, {4}, Type::i1) < t.full(1, {4}, Type::i1)));
  CHECK_REFUSED("'select' needs an i1 condition, got i32 [4]", select(t.iota(4), t.iota(4), 0));
  CHECK_REFUSED("'select' needs a tile to give its numbers an element type: write t.full(…) for one of them",
                select(t.iota(4) < 2, 1.0, 0.0));
  CHECK_REFUSED("'reduceMax' takes f32, f16, bf16, i32, got i1: cast it first", maxRows(t.full(1, {4}, Type::i1)));
}

TEST_CASE("numbers") {
  CHECK_REFUSED("'add' takes numbers from -2147483648 to 4294967295 beside i32, got 4294967296",
                t.iota(4) + 4294967296);
  CHECK_REFUSED("'<' takes numbers from -2147483648 to 2147483647 beside i32, got 2147483648",
                (void)(t.iota(4) < 2147483648));
  CHECK_REFUSED("'|' takes numbers from 0 to 1 beside i1, got 2", t.full(1, {4}, Type::i1) | 2);
  CHECK_REFUSED("'add' cannot hold 257 in bf16 exactly: write it with a decimal point to round it",
                t.full(0, {4}, Type::bf16) + 257);
  CHECK_REFUSED("'multiply' cannot hold 100000.5 in f16, it is out of range", t.full(0, {4}, Type::f16) * 100000.5);
  CHECK_REFUSED("'full' needs integers for i32, got the real number 0.5: write an integer, or cast to a float type",
                t.full(0.5, {4}, Type::i32));
  CHECK_REFUSED("'full' cannot hold 1000 in f8e4m3, it is out of range", t.full(1000, {4}, Type::f8e4m3));
  CHECK_REFUSED("'floorMod' needs a divisor other than 0, got 0", floorMod(t.iota(4), 0));
  CHECK_REFUSED("'>>' needs a distance from 0 to 31, got 32", t.iota(4) >> 32);
  CHECK_REFUSED("'<<' needs a distance from 0 to 31, got -1", t.iota(4) << -1);
  CHECK_REFUSED("'max' needs a tile, got only numbers", tile::max(1, 2));
}

TEST_CASE("shapes") {
  CHECK_REFUSED("'dot' needs [m,k] x [k,n], got [128,64] x [128,64]", dot(t.full(0, {128, 64}), t.full(0, {128, 64})));
  CHECK_REFUSED("'dot' needs [m,k] x [k,n], got [4] x [4]", dot(t.full(0, {4}), t.full(0, {4})));
  CHECK_REFUSED("'dot' multiplies floats, got i32 [4, 4]",
                dot(t.full(0, {4, 4}, Type::i32), t.full(0, {4, 4}, Type::i32)));
  CHECK_REFUSED("'dot' needs an accumulator of f32 [2, 2], got f16 [2, 2]",
                dot(t.full(0, {2, 4}), t.full(0, {4, 2}), t.full(0, {2, 2}, Type::f16)));
  CHECK_REFUSED("'dot' needs an accumulator of f32 [2, 2], got f32 [2, 1]",
                dot(t.full(0, {2, 4}), t.full(0, {4, 2}), t.full(0, {2, 1})));
  CHECK_REFUSED("'reshape' keeps the number of elements, got [4, 4] to [8]", reshape(t.full(0, {4, 4}), {8}));
  CHECK_REFUSED("'row' needs a tile of rank 1, got f32 [4, 4]", row(t.full(0, {4, 4})));
  CHECK_REFUSED("'column' needs a tile of rank 1, got f32 scalar", column(t.full(0, {})));
  CHECK_REFUSED("'transpose' needs a tile of rank 2 or more, got i32 [4]", transpose(t.iota(4)));
  CHECK_REFUSED("'transpose' needs each axis of [2, 3] once, got the order [0, 0]",
                transpose(t.full(0, {2, 3}), {0, 0}));
  CHECK_REFUSED("'reduceSum' needs an axis from -2 to 1, got 2", reduceSum(t.full(0, {2, 3}), 2));
  CHECK_REFUSED("'reduceMax' needs a tile of rank 1 or more, got a scalar", maxRows(t.full(0, {})));
  CHECK_REFUSED("'iota' makes tiles with sizes from 1 on, got [0]", t.iota(0));
  CHECK_REFUSED("'full' makes tiles with sizes from 1 on, got [4, -1]", t.full(0, {4, -1}));
  CHECK_REFUSED("'full' makes tiles of at most 16777216 elements, got [4294967296, 4294967296]",
                t.full(0, {int64_t{1} << 32, int64_t{1} << 32}));
}

TEST_CASE("arguments") {
  CHECK_REFUSED("'input' declares a view of rank 1 to 6, got 0", t.input("x", Type::f32, 0));
  CHECK_REFUSED("'inout' declares a view of rank 1 to 6, got 7", t.inout("x", Type::f32, 7));
  CHECK_REFUSED("'scalar' declares an f32 or i32, got f16", t.scalar("s", Type::f16));
  CHECK_REFUSED("'scalar' declares \"x\" a second time: argument names are unique", t.input("x", Type::f32, 1);
                t.scalar("x"));
  const std::string rule = "needs a name made of letters, digits and '_' that does not begin with a digit, got ";
  CHECK_REFUSED("'input' " + rule + "\"\"", t.input("", Type::f32, 1));
  CHECK_REFUSED("'output' " + rule + "\"2x\"", t.output("2x", Type::f32, 1));
  CHECK_REFUSED("'scalar' " + rule + "\"a b\"", t.scalar("a b"));
  CHECK_REFUSED("'program' needs a grid axis from 0 to 2, got 3", t.program(3));
}

TEST_CASE("memory") {
  CHECK_REFUSED("'load' needs 2 indices for view 'x', got 1", t.input("x", Type::f32, 2).load({0}, {4}));
  CHECK_REFUSED("'load' needs a tile of rank 1 or less for view 'x', got [4, 4]",
                t.input("x", Type::f32, 1).load({0}, {4, 4}));
  CHECK_REFUSED("'load' takes i32 scalars, got i32 [4]", t.input("x", Type::f32, 1).load({t.iota(4)}, {4}));
  CHECK_REFUSED("'load' takes i32 scalars, got f32 scalar", t.input("x", Type::f32, 1).load({t.scalar("s")}, {4}));
  CHECK_REFUSED("'load' needs integers for i32, got the real number 0.5: write an integer, or cast to a float type",
                t.input("x", Type::f32, 1).load({0.5}, {4}));
  CHECK_REFUSED("'load' needs integers for i32, got the real number 0.5: write an integer, or cast to a float type",
                t.input("x", Type::i32, 1).load({0}, {4}, 0.5));
  CHECK_REFUSED("'load' reads view 'x', which is declared as output: declare it as inout",
                t.output("x", Type::f32, 1).load({0}, {4}));
  CHECK_REFUSED("'store' writes view 'x', which is declared as input: declare it as output or inout",
                t.input("x", Type::f32, 1).store({0}, t.full(0, {4})));
  CHECK_REFUSED("'store' needs tiles of f16 for view 'x', got f32 [4]: cast it first",
                t.output("x", Type::f16, 1).store({0}, t.full(0, {4})));
  CHECK_REFUSED("'store' needs a tile, got the number 0", t.output("x", Type::f32, 1).store({0}, 0));
  CHECK_REFUSED("'atomicAdd' reads and writes view 'x': declare it as inout",
                t.output("x", Type::f32, 1).atomicAdd({0}, t.full(0, {4})));
  CHECK_REFUSED("'atomicAdd' takes f32, i32, got view 'x' of f16",
                t.inout("x", Type::f16, 1).atomicAdd({0}, t.full(0, {4}, Type::f16)));
  CHECK_REFUSED("'dim' needs an axis from -2 to 1, got 2", t.input("x", Type::f32, 2).dim(2));
}

TEST_CASE("variables keep their shape and type") {
  const int line = __LINE__ + 2;
  auto shape = [](Trace &t) {
    Var v = t.full(0, {8, 5});
    v = t.full(0, {8, 4});
  };
  const std::string rule =
      " [8, 5], as the variable declared at DslErrorTest.cpp:" + std::to_string(line) + " has, got ";
  CHECK(messageOf(shape) == at(line + 1, "'=' needs f32" + rule + "f32 [8, 4]"));
  auto type = [](Trace &t) {
    Var v = t.iota(4);
    v = t.full(0, {4});
  };
  CHECK_THAT(messageOf(type), Catch::Matchers::EndsWith("has, got f32 [4]"));
}

TEST_CASE("a message has the line of the first operand") {
  const int line = __LINE__ + 3;
  auto sum = [](Trace &t) {
    const Tile a = t.full(0, {8, 4}), b = t.full(0, {8, 5});
    a + b;
  };
  CHECK(messageOf(sum) == at(line, "'add' cannot broadcast [8, 4] with [8, 5] (axis 1)"));
  auto product = [](Trace &t) {
    const Tile a = t.full(0, {128, 64});
    maxRows( //
        dot(a, a));
  };
  CHECK(messageOf(product) == at(line + 6, "'dot' needs [m,k] x [k,n], got [128,64] x [128,64]"));
}

TEST_CASE("loops and conditions") {
  CHECK_REFUSED("'range' needs a step from 1 to 2147483647, got 0", t.range(0, 4, 0));
  CHECK_REFUSED("'range' needs a step from 1 to 2147483647, got -1", t.range(0, 4, -1));
  CHECK_REFUSED("'range' takes i32 scalars, got f32 scalar", t.range(0, t.scalar("s")));
  CHECK_REFUSED("'when' needs an i1 scalar, got i32 scalar", t.when(t.program(0), [] {}));
  CHECK_REFUSED("'when' needs an i1 scalar, got i1 [4]", t.when(t.iota(4) < 2, [] {}));
  CHECK_REFUSED("'when' needs a tile, got the number 1", t.when(1, [] {}));
  CHECK_REFUSED("'range' loop was iterated before: write t.range(…) again", auto &&r = t.range(0, 4);
                for ([[maybe_unused]] Tile i : r)(void) i; for ([[maybe_unused]] Tile i : r)(void) i);
}

TEST_CASE("a loop that is left early is reported with its line") {
  const std::string early =
      "'range' loop was left early (break, return, goto or an exception): its body is traced once "
      "and stands for every iteration; use Trace::when or a Var instead";
  SECTION("at the end of the trace") {
    const int line = __LINE__ + 2;
    auto kernel = [](Trace &t) {
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        break;
    };
    CHECK(messageOf(kernel) == at(line, early));
  }
  SECTION("by return") {
    const int line = __LINE__ + 2;
    auto kernel = [](Trace &t) {
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        return;
    };
    CHECK(messageOf(kernel) == at(line, early));
  }
  SECTION("at the next operation, from an inner loop") {
    const int line = __LINE__ + 4;
    bool reached = false;
    auto kernel = [&](Trace &t) {
      for ([[maybe_unused]] Tile i : t.range(0, 4)) {
        for ([[maybe_unused]] Tile j : t.range(0, 4))
          break;
        t.iota(4);
        reached = true;
      }
    };
    CHECK(messageOf(kernel) == at(line, early));
    CHECK_FALSE(reached);
  }
}

TEST_CASE("a tile does not leave the body in which it was made") {
  auto ended = [](const char *name, int use, int made) {
    return at(use, std::string("'") + name + "' got a tile made at DslErrorTest.cpp:" + std::to_string(made) +
                       " inside a loop or condition that has ended: only a Var carries values out of it");
  };
  SECTION("a loop") {
    const int line = __LINE__ + 5;
    auto kernel = [](Trace &t) {
      const Tile one = t.full(1, {4});
      std::optional<Tile> kept;
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        kept.emplace(one + cast(i, Type::f32));
      exp2(*kept);
    };
    CHECK(messageOf(kernel) == ended("exp2", line + 1, line));
  }
  SECTION("the value of a variable inside a loop") {
    const int line = __LINE__ + 2;
    auto kernel = [](Trace &t) {
      Var v = t.full(0, {4});
      std::optional<Tile> kept;
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        kept.emplace(v);
      exp2(*kept);
    };
    CHECK(messageOf(kernel) == ended("exp2", line + 4, line));
  }
  SECTION("one side of a condition, into the other") {
    const int line = __LINE__ + 4;
    auto kernel = [](Trace &t) {
      std::optional<Tile> kept;
      auto otherwise = [&] { exp2(*kept); };
      t.when(t.program(0) < 1, [&] { kept.emplace(t.full(1, {4})); }, otherwise);
    };
    CHECK(messageOf(kernel) == ended("exp2", line - 1, line));
  }
  SECTION("a variable made in a loop") {
    const int line = __LINE__ + 4;
    auto kernel = [](Trace &t) {
      std::unique_ptr<Var> kept;
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        kept = std::make_unique<Var>(t.full(1, {4}));
      for ([[maybe_unused]] Tile i : t.range(0, 4))
        exp2(*kept);
    };
    CHECK(messageOf(kernel) == ended("exp2", line + 2, line));
  }
}

TEST_CASE("a tile of another trace is refused") {
  trace("outer",
        [](Trace &outer) {
          const Tile foreign = outer.iota(4);
          std::string message;
          const int line = __LINE__ + 1;
          message = messageOf([&](Trace &t) { t.iota(4) + foreign; });
          CHECK(message == at(line, "'add' got a tile of another trace"));
        },
        {}, {});
}

TEST_CASE("an exception of the kernel's own passes through") {
  struct Own {};
  CHECK_THROWS_AS(trace("kernel", [](Trace &) { throw Own(); }, {}, {}), Own);
  auto insideALoop = [](Trace &t) {
    Var v = t.full(0, {4});
    for ([[maybe_unused]] Tile i : t.range(0, 4))
      throw Own();
  };
  CHECK_THROWS_AS(trace("kernel", insideALoop, {}, {}), Own);
  auto insideACondition = [](Trace &t) { t.when(t.program(0) < 1, [] { throw Own(); }); };
  CHECK_THROWS_AS(trace("kernel", insideACondition, {}, {}), Own);
}

TEST_CASE("a condition that an exception left is reported") {
  const int line = __LINE__ + 3;
  auto kernel = [](Trace &t) {
    try {
      t.when(t.program(0) < 1, [] { throw 1; });
    } catch (int) {
    }
  };
  CHECK(messageOf(kernel) == at(line, "'when' was left before its end"));
}

TEST_CASE("facts that do not fit the kernel are an internal error") {
  auto kernel = [](Trace &t) { t.scalar("s"); };
  CHECK_THROWS_AS(trace("kernel", kernel, {}, {{.unitStride = true}}), InternalError);
  CHECK_THROWS_AS(trace("kernel", kernel, {}, {{}, {}}), InternalError);
}
