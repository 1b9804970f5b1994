// SUITE [--target interpret|cpu|cuda|nvptx:sm_80|emulate:sm_80|emulate:gfx942|…] [Catch2's options]
//
// Exits with 77, which ctest reports as skipped, when the target needs a device that is not there.
#include "tests/support/CudaDevice.h"
#include "tests/support/TargetMemory.h"
#include "tests/support/TargetUnderTest.h"

#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <iostream>

static std::string target = "interpret";

const std::string &sectile::test::targetUnderTest() { return target; }

std::optional<std::string> sectile::test::emulatedTarget() {
  const std::string_view prefix = "emulate:sm_";
  return target.starts_with(prefix) ? std::optional("nvptx:sm_" + target.substr(prefix.size())) : std::nullopt;
}

bool sectile::test::isEmulated() { return target.starts_with("emulate:"); }

int main(int argc, char **argv) {
  Catch::Session session;
  session.cli(session.cli() | Catch::clara::Opt(target, "target")["--target"]("the target under test"));
  if (const int error = session.applyCommandLine(argc, argv))
    return error;
  const Catch::ConfigData &asked = session.configData();
  const bool lists = asked.listTests || asked.listTags || asked.listTestNamesOnly || asked.showHelp;
  if (sectile::test::isCudaTarget(target) && !lists)
    if (const std::string why = sectile::test::CudaDevice::whyNot(); !why.empty()) {
      std::cout << "skipped, target " << target << ": " << why << '\n';
      return 77;
    }
  return session.run();
}
