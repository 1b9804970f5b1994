// What the environment and the options of a session may say.
#include "tests/support/Environment.h"

#include "sectile/Error.h"
#include "sectile/Options.h"
#include "sectile/Session.h"

#include <catch2/catch.hpp>

using namespace sectile;
using namespace sectile::test;
using Catch::Matchers::Contains;

TEST_CASE("the six variables become options") {
  Environment environment({{"SECTILE_TARGET", "interpret"},
                           {"SECTILE_AUTOTUNE", "TRUE"},
                           {"SECTILE_CACHE", "off"},
                           {"SECTILE_DUMP", "/somewhere:attention*"},
                           {"SECTILE_OVERRIDE", "/tmp"},
                           {"SECTILE_LOG", "3"}});
  const Options options = Options::fromEnvironment();
  CHECK(options.target == "interpret");
  CHECK(options.autotune == Options::Autotune::on);
  CHECK(options.cache == "off");
  CHECK(options.dump == "/somewhere:attention*");
  CHECK(options.overrides == "/tmp");
  CHECK(options.logLevel == 3);
}

TEST_CASE("without variables, and with empty ones, options have their defaults") {
  Environment environment({{"SECTILE_TARGET", ""}, {"SECTILE_LOG", ""}, {"SECTILE_CACHE", ""}});
  const Options options = Options::fromEnvironment();
  CHECK(options.target.empty());
  CHECK(options.autotune == Options::Autotune::off);
  CHECK(options.cache.empty());
  CHECK(options.logLevel == 1);
}

TEST_CASE("autotune values") {
  auto read = [](const char *value) {
    Environment environment({{"SECTILE_AUTOTUNE", value}});
    return Options::fromEnvironment().autotune;
  };
  for (const char *off : {"0", "off", "false", "OFF"})
    CHECK(read(off) == Options::Autotune::off);
  for (const char *on : {"1", "on", "true", "TRUE"})
    CHECK(read(on) == Options::Autotune::on);
  CHECK(read("force") == Options::Autotune::force);
}

static std::string refusal(std::initializer_list<std::pair<const char *, const char *>> variables) {
  Environment environment(variables);
  try {
    Options::fromEnvironment();
  } catch (const UserError &e) {
    return e.what();
  }
  return "accepted";
}

TEST_CASE("malformed variables are refused with their name, value and what is legal") {
  CHECK(refusal({{"SECTILE_TARGET", "gpu"}}) == "environment variable SECTILE_TARGET is 'gpu'; legal: cpu, "
                                                "cpu:<processor>, interpret, cuda, cuda:<n>, nvptx:<architecture>");
  CHECK(refusal({{"SECTILE_AUTOTUNE", "yes"}}) ==
        "environment variable SECTILE_AUTOTUNE is 'yes'; legal: 0, false, off; 1, true, on; force");
  CHECK_THAT(refusal({{"SECTILE_LOG", "4"}}), Contains("environment variable SECTILE_LOG is '4'; legal: 0 (errors)"));
  CHECK_THAT(refusal({{"SECTILE_LOG", "verbose"}}), Contains("SECTILE_LOG is 'verbose'"));
  CHECK_THAT(refusal({{"SECTILE_DUMP", ":x"}}), Contains("SECTILE_DUMP is ':x'; legal: a directory"));
  CHECK_THAT(refusal({{"SECTILE_DUMP", "/d:"}}), Contains("the glob after ':' is empty"));
  CHECK_THAT(refusal({{"SECTILE_DUMP", "/d:[a"}}), Contains("SECTILE_DUMP is '/d:[a'"));
  CHECK_THAT(refusal({{"SECTILE_OVERRIDE", "/no/such/place"}}), Contains("SECTILE_OVERRIDE is '/no/such/place'"));
  CHECK(refusal({{"SECTILE_CASH", "x"}}) ==
        "environment variable SECTILE_CASH is not known; variables are SECTILE_TARGET, SECTILE_AUTOTUNE, "
        "SECTILE_CACHE, SECTILE_DUMP, SECTILE_OVERRIDE, SECTILE_LOG");
}

/// The message with which a session refuses the options.
template <class E> static std::string sessionRefusal(const Options &options) {
  try {
    Session session(options);
  } catch (const E &e) {
    return e.what();
  }
  return "accepted";
}

TEST_CASE("a session refuses what it cannot honour") {
  Environment environment({});
  Options options;
  options.cache = "off";
  options.target = "interpret";
  CHECK(sessionRefusal<Error>(options) == "accepted");

  auto with = [&](auto change) {
    Options changed = options;
    change(changed);
    return changed;
  };
  CHECK(sessionRefusal<UserError>(with([](Options &o) { o.autotune = Options::Autotune::on; })) ==
        "option 'autotune' (SECTILE_AUTOTUNE) is on (1): autotuning is not part of this version; legal: off (0)");
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.autotune = Options::Autotune::force; })),
             Contains("is force"));
  CHECK(sessionRefusal<DeviceError>(with([&](Options &o) { o.target = "hip:0"; })) ==
        "target 'hip:0' is not part of this version; legal: cuda, cuda:<n>, nvptx:<architecture>, "
        "amdgcn:<processor>, emulate:<processor>, cpu, cpu:<processor>, interpret");
  for (const char *target : {"amdgcn:gfx942", "emulate:gfx942"})
    CHECK(sessionRefusal<Error>(with([&](Options &o) { o.target = target; })) == "accepted");
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.target = "emulate"; })),
             Contains("target 'emulate' lacks a processor"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.target = "emulate:sm_80"; })),
             Contains("there is no such processor; legal: amdgcn:gfx90a"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.target = "toaster"; })), Contains("'toaster'"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.threads = -1; })), Contains("option 'threads' is -1"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.logLevel = 7; })), Contains("option 'logLevel'"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.overrides = "/no/such/place"; })),
             Contains("option 'overrides' (SECTILE_OVERRIDE) is '/no/such/place', which is not a directory"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.dump = "/proc/nowhere"; })),
             Contains("option 'dump' (SECTILE_DUMP) is '/proc/nowhere': directory '/proc/nowhere' cannot be made"));
  CHECK_THAT(sessionRefusal<UserError>(with([](Options &o) { o.dump = "/tmp:["; })), Contains("option 'dump'"));
}
