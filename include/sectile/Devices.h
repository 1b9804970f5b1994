// What this machine has to run kernels on.
#pragma once

#include "sectile/Options.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sectile {

/// One thing that a session can be on, or could be if it were not for `obstacle`.
struct DeviceInfo {
  std::string target;      ///< for Options::target: "cpu", "interpret", "cuda:0"
  std::string name;        ///< "znver5", "NVIDIA H200"
  std::string code;        ///< what its kernels are compiled for: "cpu:znver5", "nvptx:sm_90a"
  std::string obstacle;    ///< why no session can be on it; empty: one can
  bool preferred = false;  ///< a session whose options name no target is on it
  int multiprocessors = 0; ///< of a GPU
  int64_t memoryBytes = 0; ///< of a GPU
  int sharedPerBlock = 0;  ///< of a GPU: bytes of shared memory that a thread block can have
  int driverVersion = 0;   ///< of a GPU: 13000 when its driver supports CUDA 13.0
};

/// The host's processor, the interpreter, and the GPUs, or one line for each kind of them with the reason why there is
/// none. Reads `options.cudaDriver` and `options.toolkit` only. No GPU is used for it.
std::vector<DeviceInfo> findDevices(const Options &options = Options::fromEnvironment());

} // namespace sectile
