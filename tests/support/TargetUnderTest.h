// What a suite that runs once a target is told on its command line: --target.
#pragma once

#include <string>

namespace sectile::test {

/// "interpret", "cpu", "cpu:x86-64-v3", "cuda", "nvptx:sm_80" …
const std::string &targetUnderTest();

} // namespace sectile::test
