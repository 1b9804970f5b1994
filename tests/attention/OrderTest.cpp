// Whatever the order of programs, each block of each head is computed once.
#include "tests/attention/Trial.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;

namespace {

void check(const Shape &shape, Order order, int mask) {
  Trial trial(shape);
  trial.options.causal = mask == 1;
  if (mask == 2)
    trial.options.windowLeft = 20;
  trial.schedule = {.blockM = 16, .blockN = 16, .order = order};
  if (session().target().starts_with("nvptx:"))
    trial.schedule.warps = 1;
  INFO(toString(trial.schedule) << ", mask " << mask);
  trial.check();
}

} // namespace

TEST_CASE("every order, with blocks in even and odd numbers") {
  for (const int64_t seqlenQ : {1, 30, 43})
    for (const Order order : {Order::heads, Order::longest, Order::paired})
      for (const int mask : {0, 1, 2})
        check({.type = Type::f16, .batch = 2, .seqlenQ = seqlenQ, .seqlenK = 50, .heads = 6, .headsKv = 3}, order,
              mask);
}

TEST_CASE("more heads than those whose longest blocks come first") {
  check({.type = Type::f16,
         .batch = 3,
         .seqlenQ = 20,
         .seqlenK = 20,
         .heads = 100,
         .headsKv = 50,
         .headDim = 16,
         .headDimV = 16},
        Order::longest, 1);
}
