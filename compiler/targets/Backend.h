// One way of turning a traced module into something that runs: a folder of targets/ and a line of the table in
// Target.cpp.
#pragma once

#include "compiler/support/TensorMap.h"
#include "compiler/targets/StageRecorder.h"
#include "compiler/targets/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sectile {

/// What a backend says of a kernel beside its stages.
struct CompiledKernel {
  Resources resources;
  std::string entry; ///< the symbol to call, empty when there is none
  std::vector<TensorMap> tensorMaps;
};

struct Backend {
  Target::Kind kind;
  llvm::StringLiteral name;   ///< what Options::target begins with: "cpu"
  llvm::StringLiteral legal;  ///< for messages: how a target of this backend is written
  llvm::StringLiteral fields; ///< of a schedule, that it has: "blockM, blockN"; others are refused
  /// Describes the target named `processor`, the text after "name:"; empty: the machine at hand. `toolkit` as for
  /// resolveTarget().
  llvm::Expected<Target> (*describe)(llvm::StringRef processor, llvm::StringRef toolkit);
  llvm::Expected<Schedule> (*complete)(const Schedule &schedule, const Target &target);
  /// Adds the dialects and interfaces that compile() creates operations of.
  void (*registerDialects)(mlir::DialectRegistry &registry);
  /// Consumes a module whose tile stage is recorded; records the stages that follow.
  llvm::Expected<CompiledKernel> (*compile)(mlir::OwningOpRef<mlir::ModuleOp> module, const Target &target,
                                            const Schedule &schedule, StageRecorder &stages);
};

/// The table, and the row of a target.
llvm::ArrayRef<Backend> backends();
const Backend &backendOf(const Target &target);

} // namespace sectile
