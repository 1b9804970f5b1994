// AMD GPUs as targets.
//
//   tile --(Pipeline.cpp)--> block --(Pipeline.cpp)--> llvm --(Emit.cpp)--> amdgcn --(Assemble.cpp, Link.cpp)--> hsaco
//
// "block" is the program of one work-group, "llvm" that of one of its lanes, in the LLVM and ROCDL dialects, "amdgcn"
// its assembly and "hsaco" a code object (ELF) that ROCm loads and the emulator runs.
//
// The kernel in "llvm" is one llvm.func with rocdl.kernel. Its only parameter is a record by reference in the argument
// segment: for every parameter in order the words of HostEntry, then the grid's x, y and z; launches are
// one-dimensional.
#pragma once

#include "compiler/targets/Backend.h"

namespace sectile::amdgcn {

/// Describe.cpp.
llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef toolkit);
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);

/// Compile.cpp.
void registerDialects(mlir::DialectRegistry &registry);
llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages);

/// Emit.cpp. Generates assembly from a module in the LLVM and ROCDL dialects, with so few registers that `waves` are on
/// a SIMD.
llvm::Expected<std::string> emitAssembly(mlir::ModuleOp module, const Target &target, int64_t waves);

/// Assemble.cpp. An object that is still to be linked; a user error with the assembler's words, for the text may have
/// been edited.
llvm::Expected<std::string> assemble(llvm::StringRef assembly, const Target &target);

/// Link.cpp. The code object, by LLD.
llvm::Expected<std::string> link(llvm::StringRef object);

/// What a kernel takes of a compute unit.
struct Usage {
  int64_t threads = 0;                                                        ///< of a group
  int64_t sharedBytes = 0;                                                    ///< of a group: LDS
  int64_t vectorRegisters = 0, accumulatorRegisters = 0, scalarRegisters = 0; ///< of a wave's lanes; 0: not known yet
  int64_t vectorSpills = 0, scalarSpills = 0;                                 ///< registers
  int64_t scratchBytes = 0; ///< of a lane: what does not fit into registers
  int64_t kernargBytes = 0, codeBytes = 0;
};

/// Metadata.cpp. What the code object says of a kernel; an internal error when it does not.
llvm::Expected<Usage> readUsage(llvm::StringRef codeObject, llvm::StringRef kernel);

/// Limits.cpp. Refuses what no launch on the target could take, with numbers; `schedule` says what to change.
llvm::Error checkFits(const Usage &usage, llvm::StringRef entry, const Target &target, const Schedule &schedule);
/// How many groups a compute unit (RDNA: a workgroup processor) runs at a time.
int64_t occupancy(const Usage &usage, const Target &target);
/// How many waves are then on a SIMD, at least one.
int64_t wavesPerSimd(const Usage &usage, const Target &target);

} // namespace sectile::amdgcn
