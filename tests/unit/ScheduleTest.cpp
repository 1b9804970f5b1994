// Schedules as text.
#include "sectile/Schedule.h"
#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;

TEST_CASE("a schedule is read back as it was written") {
  for (const Schedule &schedule :
       {Schedule{}, Schedule{.blockM = 64}, Schedule{.blockM = 128, .blockN = 32},
        Schedule{.blockN = 1, .threads = 7, .vectorWidth = 16}, Schedule{.blockM = 128, .warps = 8, .stages = 3},
        Schedule{.specialize = Specialize::producer, .softmax = Softmax::exact, .registers = 232}})
    CHECK(parseSchedule(toString(schedule)) == schedule);
  CHECK(toString(Schedule{}).empty());
  CHECK(toString(Schedule{.blockM = 64, .blockN = 128}) == "blockM=64,blockN=128");
  CHECK(toString(Schedule{.specialize = Specialize::producer, .overlap = Overlap::none, .softmax = Softmax::stale}) ==
        "specialize=producer,overlap=none,softmax=stale");
  CHECK(parseSchedule(" blockN = 3 , blockM=2") == Schedule{.blockM = 2, .blockN = 3});
}

TEST_CASE("malformed schedules are refused by field") {
  CHECK_THROWS_WITH(parseSchedule("blockX=3"),
                    "schedule 'blockX=3': there is no field 'blockX'; fields are blockM, "
                    "blockN, order, warps, stages, specialize, overlap, softmax, persistent, registers, "
                    "threads, vectorWidth, each as name=value, separated by commas");
  CHECK_THROWS_WITH(parseSchedule("blockM=-1"), "schedule 'blockM=-1': field 'blockM' needs a whole number from 0 "
                                                "(chosen by the target) to 4096, got '-1'");
  CHECK_THROWS_AS(parseSchedule("blockM=99999999999999999999"), UserError);
  CHECK_THROWS_WITH(parseSchedule("warps=33"),
                    Catch::Contains("'warps' needs a whole number from 0") && Catch::Contains("to 32, got '33'"));
  CHECK_THROWS_WITH(parseSchedule("softmax=2"), "schedule 'softmax=2': field 'softmax' needs exact or stale, got '2'");
  CHECK_THROWS_AS(parseSchedule("blockM="), UserError);
  CHECK_THROWS_AS(parseSchedule("blockM"), UserError);
  CHECK_THROWS_AS(parseSchedule("blockM=1,"), UserError);
  CHECK_THROWS_AS(parseSchedule(","), UserError);
  CHECK_THROWS_WITH(parseSchedule("blockM=1,blockM=2"), "schedule 'blockM=1,blockM=2': field 'blockM' is given twice");
}
