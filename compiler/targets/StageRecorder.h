// Collects the stages of one compilation, shows each to the sink, and puts an edited one in its place.
#pragma once

#include "compiler/support/StageSink.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/Error.h"

namespace sectile {

class StageRecorder {
public:
  explicit StageRecorder(StageSink *sink) : sink(sink) {}

  /// Records `text`, or what replaces it. Returns what is compiled further.
  const Stage &record(std::string name, std::string file, std::string text);
  /// Records a module, printed without locations. When an edited text replaces it, that is parsed and verified into
  /// `module`; a user error shows the parser's message when it is malformed.
  llvm::Error record(std::string name, std::string file, mlir::OwningOpRef<mlir::ModuleOp> &module);

  std::vector<Stage> take() { return std::move(stages); }

private:
  std::optional<std::string> replacement(const std::string &file) const;
  const Stage &append(Stage stage);

  StageSink *sink;
  std::vector<Stage> stages;
};

} // namespace sectile
