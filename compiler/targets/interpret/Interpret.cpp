#include "compiler/targets/interpret/Interpret.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::interpreter {

llvm::Expected<Target> describe(llvm::StringRef processor, llvm::StringRef /*toolkit*/) {
  if (!processor.empty())
    return userError(
        llvm::formatv("target 'interpret:{0}': the interpreter has no processor; legal: 'interpret'", processor));
  Target target;
  target.kind = Target::Kind::interpret;
  return target;
}

llvm::Expected<Schedule> completeSchedule(const Schedule &schedule, const Target &) {
  Schedule complete = schedule;
  complete.blockM = schedule.blockM ? schedule.blockM : 32;
  complete.blockN = schedule.blockN ? schedule.blockN : 32;
  // Nothing is executed in vectors, so that every legal width is honoured alike.
  complete.vectorWidth = schedule.vectorWidth ? schedule.vectorWidth : 4;
  if (!llvm::is_contained({4, 8, 16}, complete.vectorWidth))
    return userError(llvm::formatv(
        "schedule field 'vectorWidth' is {0}; legal: 4, 8 or 16, or 0 for the target's choice", schedule.vectorWidth));
  return complete;
}

void registerDialects(mlir::DialectRegistry &) {}

llvm::Expected<CompiledKernel> compile(mlir::OwningOpRef<mlir::ModuleOp>, const Target &, const Schedule &,
                                       StageRecorder &) {
  return CompiledKernel{};
}

} // namespace sectile::interpreter
