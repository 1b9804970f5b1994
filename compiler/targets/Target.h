// What a kernel is compiled for: a plain description with the limits that passes and schedules read.
#pragma once

#include "sectile/Schedule.h"

#include "llvm/Support/Error.h"

#include <string>

namespace sectile {

struct Target {
  enum class Kind { cpu, interpret, nvptx, amdgcn } kind = Kind::cpu;
  /// cpu: an LLVM processor name. nvptx: an architecture, "sm_90a". amdgcn: a processor, "gfx942".
  std::string processor;
  /// cpu: LLVM's feature string ("+avx2,+fma,…", sorted, complete).
  std::string features;
  int vectorBits = 0;      ///< width of a vector register
  int vectorRegisters = 0; ///< how many there are
  bool hasFma = false, hasF16c = false, hasAvx512Bf16 = false, hasAmxBf16 = false;
  int64_t l1Bytes = 0, l2Bytes = 0; ///< data caches of a core

  /// nvptx: an architecture's limits and instructions; targets/nvptx/Describe.cpp has the table.
  struct Nvidia {
    int sm = 0;                ///< 90 for compute capability 9.0
    bool archSpecific = false; ///< "sm_90a": has instructions of its own, and its code runs on nothing else
    int ptxVersion = 0;        ///< 84 for PTX 8.4: the oldest one that has what code for it uses
    // Limits. A multiprocessor (SM) runs as many thread blocks at a time as its memory, registers and warps allow.
    int64_t sharedPerSm = 0;                              ///< bytes of shared memory
    int64_t sharedPerBlock = 0;                           ///< the most that one block can opt in to
    int64_t sharedReserved = 0;                           ///< what the system takes beside each block's own
    int registersPerSm = 65536, registersPerThread = 255; ///< of 32 bits
    int threadsPerBlock = 1024, warpsPerSm = 0, blocksPerSm = 0;
    // Instructions.
    bool hasCpAsync = false;    ///< cp.async: global to shared memory without registers
    bool hasLdmatrix = false;   ///< ldmatrix(.trans)
    bool hasStmatrix = false;   ///< stmatrix(.trans)
    bool hasMma16816 = false;   ///< mma.m16n8k16 of f16 (else m16n8k8)
    bool hasBf16Mma = false;    ///< mma of bf16, and packed conversions to it
    bool hasTf32Mma = false;    ///< mma.m16n8k8 of tf32
    bool hasFp8Mma = false;     ///< mma.m16n8k32 of e4m3 and e5m2, and packed conversions to them
    bool hasTma = false;        ///< cp.async.bulk.tensor, mbarrier with transaction counts
    bool hasWgmma = false;      ///< wgmma.mma_async
    bool hasSetmaxnreg = false; ///< warps may exchange registers

    /// What turns PTX into a cubin on this machine.
    struct Assembler {
      enum class Kind { none, nvJitLink, ptxas } kind = Kind::none; ///< none: the driver does, at load time
      std::string path, version;                                    ///< of the library or program; "13.0"
    } assembler;
    /// The same for kernels that must be assembled as a whole: registers change hands, or wgmma is in flight. nvJitLink
    /// makes code that is still to be linked, and gives up on both.
    Assembler wholeProgram;
    std::string toolkit; ///< where other tools are looked for, as Options::toolkit; shapes no code
  } nvidia;

  /// amdgcn: a processor's limits and instructions; targets/amdgcn/Describe.cpp has the table.
  struct Amd {
    int64_t lanes = 64; ///< of a wave, which is what we call a warp
    /// What multiplies matrices of f16 and bf16: CDNA's MFMA of 32 x 32 x 8, that with 32 x 32 x 16 as well, RDNA 3's
    /// and RDNA 4's WMMA.
    enum class MatrixUnit { mfma, mfmaWide, wmma11, wmma12 } unit = MatrixUnit::mfma;
    bool isCdna() const { return unit == MatrixUnit::mfma || unit == MatrixUnit::mfmaWide; }
    // Limits. A unit (CDNA: a compute unit, RDNA: a workgroup processor) has four SIMDs.
    int64_t ldsPerGroup = 65536, ldsPerUnit = 65536; ///< bytes
    int64_t threadsPerGroup = 1024, simdsPerUnit = 4;
    int64_t registersPerLane = 512; ///< of a SIMD, of 32 bits
    int64_t registersPerWave = 512; ///< that one wave can have
    int64_t registerGranule = 8, wavesPerSimd = 8;
    /// On a SIMD, to hide what each waits for: two on CDNA, as many as a wave's most registers leave on RDNA.
    int64_t wavesWanted() const { return isCdna() ? 2 : 4; }
  } amd;

  /// Identifies all that shapes code: "cpu:znver4:+avx512f,…", "nvptx:sm_90a:nvJitLink 12.9", "amdgcn:gfx942",
  /// "interpret".
  std::string key() const;
  /// "cpu:znver4", "nvptx:sm_90a", "amdgcn:gfx942" or "interpret": for people.
  std::string name() const;
};

/// From "cpu", "cpu:<processor>" (any x86-64 with at least AVX2 and FMA), "nvptx:<architecture>",
/// "amdgcn:<processor>", "interpret", or "" (cpu). A user error names what is unknown and what exists. `toolkit`: the
/// folder in which the tools of a GPU's vendor are looked for first (Options::toolkit).
llvm::Expected<Target> resolveTarget(llvm::StringRef name, llvm::StringRef toolkit = "");

/// The target whose code is best for an NVIDIA device of this compute capability: "nvptx:sm_90a" for 9.0. A device
/// error says what is too old or not known.
llvm::Expected<std::string> nvidiaTargetName(int major, int minor);

/// Fills the fields of a schedule that are 0, and refuses what the target cannot do, by field.
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);

} // namespace sectile
