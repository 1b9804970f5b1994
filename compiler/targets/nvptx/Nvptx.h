// NVIDIA GPUs as targets.
//
//   tile --(Pipeline.cpp)--> block --(Pipeline.cpp)--> llvm --(Emit.cpp)--> PTX --(Assemble.cpp)--> cubin
//
// "block" is the program of one thread block, "llvm" that of one of its threads, in the LLVM and NVVM dialects. Where
// no assembler is found PTX is the last stage, which the driver assembles when it loads it.
//
// The kernel in "llvm" is one llvm.func with nvvm.kernel and nvvm.reqntid. Its only parameter is a struct by value: the
// tensor maps that its attribute sectile.tensor_maps asks for, 16 words of 64 bits each, then for every parameter in
// order the words of HostEntry, then the grid's x, y and z; launches are one-dimensional.
#pragma once

#include "compiler/targets/Backend.h"

namespace sectile::nvptx {

/// Describe.cpp.
llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef toolkit);
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);

/// Compile.cpp.
void registerDialects(mlir::DialectRegistry &registry);
llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages);

/// TensorMaps.cpp. The kernel's attribute sectile.tensor_maps; a user error when it is malformed.
llvm::Expected<std::vector<TensorMap>> readTensorMaps(mlir::Operation *kernel);

/// Emit.cpp. Generates PTX from a module in the LLVM and NVVM dialects.
llvm::Expected<std::string> emitPtx(mlir::ModuleOp module, const Target &target);

/// Toolkit.cpp. The assembler in a toolkit's folder; a user error when there is none. Of "": in the usual places, which
/// are libnvJitLink.so in the loader's folders, in /usr/local/cuda, where else the loader finds it, then ptxas on PATH
/// and in /usr/local/cuda. Of "none": none. One that is too old to know `ptxVersion` is passed over.
llvm::Expected<Target::Nvidia::Assembler> findAssembler(llvm::StringRef toolkit, int ptxVersion);
/// What assembles whole programs beside `assembler`: itself, or in place of nvJitLink the ptxas of the toolkit, of PATH
/// or of /usr/local/cuda, or else the driver.
Target::Nvidia::Assembler wholeProgramAssembler(const Target::Nvidia::Assembler &assembler, llvm::StringRef toolkit);
/// What assembles this PTX for the target: Target::Nvidia::assembler or wholeProgram.
const Target::Nvidia::Assembler &assemblerFor(llvm::StringRef ptx, const Target &target);
/// The newest PTX version that the tools of a toolkit know, by their own: 88 of "12.9.86", 90 of "13", 0 of what is no
/// version.
int newestPtx(llvm::StringRef toolkitVersion);
/// "nvJitLink 13 build 157d67e654e0", "nvJitLink 12.9", "ptxas 13.0.88" or "driver": goes into cache keys.
std::string assemblerName(const Target::Nvidia::Assembler &assembler);

/// Of both of a target's assemblers, where they differ: "nvJitLink 13 build 157d67e654e0+ptxas of 37741528 bytes".
std::string assemblerNames(const Target::Nvidia &gpu);

/// Assemble.cpp. Turns PTX into a cubin by the target's assembler. An internal error has the assembler's words; it is
/// one as well when the assembler notes that it serialized what should overlap, or ignored a register budget (C75xx).
llvm::Expected<std::string> assemble(llvm::StringRef ptx, const Target &target);

/// The lines of an assembler's log with a note C75xx.
std::string brokenPromises(llvm::StringRef log);

/// What a kernel takes of a multiprocessor.
struct Usage {
  int64_t threads = 0;     ///< of a block
  int64_t sharedBytes = 0; ///< of a block, static and dynamic
  int64_t registers = 0;   ///< of a thread; 0: not known yet
  int64_t stackBytes = 0;  ///< local memory of a thread: spilled registers, or arrays that did not become registers
  int64_t codeBytes = 0;
};

/// Cubin.cpp. Reads what the assembler decided from the ELF file; threads stay 0. `entry` must be defined in it.
llvm::Expected<Usage> readCubin(llvm::StringRef cubin, llvm::StringRef entry);

/// Limits.cpp. Refuses what no launch on the target could take, with numbers; `schedule` says what to change.
llvm::Error checkFits(const Usage &usage, llvm::StringRef entry, const Target &target, const Schedule &schedule);
/// How many blocks a multiprocessor runs at a time.
int64_t occupancy(const Usage &usage, const Target &target);

} // namespace sectile::nvptx
