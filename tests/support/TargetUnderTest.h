// What a suite that runs once a target is told on its command line: --target.
#pragma once

#include <optional>
#include <string>

namespace sectile::test {

/// "interpret", "cpu", "cpu:x86-64-v3", "cuda", "nvptx:sm_80", "emulate:sm_80", "emulate:gfx942" …
const std::string &targetUnderTest();

/// "nvptx:sm_80" where "emulate:sm_80" is tested: the code for that architecture, run by tests/emulate.
std::optional<std::string> emulatedTarget();

/// Whether it is slow: also "emulate:gfx942", which sessions know by themselves.
bool isEmulated();

} // namespace sectile::test
