// The interpreter as a target: the tile stage is what runs.
#pragma once

#include "compiler/targets/Backend.h"

namespace sectile::interpreter {

llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef toolkit);
llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &target);
void registerDialects(mlir::DialectRegistry &registry);
llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                       const Schedule &schedule, StageRecorder &stages);

} // namespace sectile::interpreter
