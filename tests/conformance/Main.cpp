// conformance [--target interpret|cpu|…] [Catch2's options]
#include "tests/conformance/Harness.h"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

int main(int argc, char **argv) {
  Catch::Session session;
  std::string target = "interpret";
  session.cli(session.cli() | Catch::clara::Opt(target, "target")["--target"]("the target under test"));
  if (const int error = session.applyCommandLine(argc, argv))
    return error;
  sectile::conformance::setTargetName(target);
  return session.run();
}
