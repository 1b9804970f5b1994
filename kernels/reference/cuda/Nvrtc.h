// CUDA C++ text to machine code, by NVIDIA's run-time compiler where it is installed.
#pragma once

#include <span>
#include <string>
#include <utility>

namespace sectile::reference::oracle {

/// A file of the program: what it is included as, and its text. The first one is compiled.
using SourceFile = std::pair<const char *, const char *>;

/// A cubin for `architecture`, such as "sm_90". Throws DeviceError: there is no libnvrtc (naming what was tried), or it
/// refused, with its messages.
std::string compileCuda(std::span<const SourceFile> files, const std::string &architecture);

/// Empty, or why compileCuda() would find no compiler.
std::string whyNoNvrtc();

} // namespace sectile::reference::oracle
