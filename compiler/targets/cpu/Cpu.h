// The host's x86-64 processor as a target.
//
//   tile --(Pipeline.cpp)--> vector --(Pipeline.cpp)--> llvm --(Emit.cpp)--> an ELF object
//
// "vector" is a func.func over scalars, one-dimensional vectors and raw pointers, "llvm" the same in the LLVM dialect.
#pragma once

#include "compiler/targets/Backend.h"

namespace sectile::cpu {

/// Describe.cpp. A device error says which feature this machine lacks.
llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef toolkit);
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);

/// Compile.cpp.
void registerDialects(mlir::DialectRegistry &registry);
llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages);

/// Emit.cpp. Generates an ELF object from a module in the LLVM dialect.
llvm::Expected<std::string> emitObject(mlir::ModuleOp module, const Target &target);

/// Object.cpp. Checks that an object needs nothing from outside (no library call may remain in a kernel) and defines
/// `entry`; returns the size of its code.
llvm::Expected<int64_t> checkObject(llvm::StringRef object, llvm::StringRef entry);

} // namespace sectile::cpu
