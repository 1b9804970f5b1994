#include "compiler/targets/Target.h"
#include "compiler/support/Diagnostic.h"

#include "sectile/Error.h"

#include <catch2/catch.hpp>

using namespace sectile;
using Catch::Contains;

static Target target(const char *name) { return valueOrThrow(resolveTarget(name)); }

TEST_CASE("this machine is described with every feature") {
  Target host = target("cpu");
  CHECK(target("").key() == host.key());
  CHECK(host.name() == "cpu:" + host.processor);
  CHECK_THAT(host.features, Contains("+avx2") && Contains("+fma"));
  CHECK_THAT(host.key(), Contains(host.features));
  CHECK(host.l1Bytes >= 16 << 10);
  CHECK(host.l2Bytes >= host.l1Bytes);
  CHECK(host.vectorRegisters * 16 == host.vectorBits);
}

TEST_CASE("named processors come from LLVM's definitions") {
  Target haswell = target("cpu:haswell");
  CHECK(haswell.vectorBits == 256);
  CHECK(haswell.vectorRegisters == 16);
  CHECK(!haswell.hasAvx512Bf16);
  Target sapphireRapids = target("cpu:sapphirerapids");
  CHECK(sapphireRapids.vectorBits == 512);
  CHECK(sapphireRapids.vectorRegisters == 32);
  CHECK(sapphireRapids.hasAvx512Bf16);
  CHECK(sapphireRapids.hasAmxBf16);
  Target znver4 = target("cpu:znver4");
  CHECK(znver4.hasAvx512Bf16);
  CHECK(!znver4.hasAmxBf16);
  CHECK(znver4.key() != haswell.key());
}

TEST_CASE("what is no target is refused with what would be one") {
  CHECK_THROWS_WITH(target("gpu"),
                    Contains("target 'gpu' is unknown") && Contains("'cpu:<processor>'") && Contains("'interpret'"));
  CHECK_THROWS_AS(target("gpu"), UserError);
  CHECK_THROWS_WITH(target("cpu:nonesuch"), Contains("'cpu:nonesuch'") && Contains("haswell"));
  CHECK_THROWS_WITH(target("cpu:nehalem"), Contains("lacks avx2, fma, f16c") && Contains("haswell"));
  CHECK_THROWS_WITH(target("interpret:x"), Contains("has no processor"));
}

TEST_CASE("unset schedule fields are chosen by the target, illegal ones refused by name") {
  auto complete = [](const Schedule &schedule, const char *name) {
    return valueOrThrow(completeSchedule(schedule, target(name)));
  };
  Schedule chosen = complete({}, "cpu:znver4");
  CHECK(chosen.blockM > 0);
  CHECK(chosen.blockN > 0);
  CHECK(chosen.vectorWidth == 16);
  CHECK(complete({}, "cpu:haswell").vectorWidth == 8);
  CHECK(complete(chosen, "cpu:znver4") == chosen);
  CHECK(complete({.blockM = 32}, "cpu:haswell").blockM == 32);
  CHECK_THROWS_WITH(complete({.vectorWidth = 16}, "cpu:haswell"), Contains("'vectorWidth' is 16") && Contains("4, 8"));
  CHECK_THROWS_WITH(complete({.vectorWidth = 3}, "cpu:znver4"), Contains("'vectorWidth' is 3"));
  CHECK_THROWS_WITH(complete({.blockN = -1}, "interpret"), Contains("'blockN' is -1"));
}
