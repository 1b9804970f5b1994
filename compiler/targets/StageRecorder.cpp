#include "compiler/targets/StageRecorder.h"

#include "compiler/ir/DiagnosticLog.h"
#include "compiler/support/Diagnostic.h"

#include "mlir/Parser/Parser.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

namespace sectile {

std::optional<std::string> StageRecorder::replacement(const std::string &file) const {
  return sink ? sink->replacement(file) : std::nullopt;
}

const Stage &StageRecorder::append(Stage stage) {
  stages.push_back(std::move(stage));
  if (sink)
    sink->produced(stages.back());
  return stages.back();
}

const Stage &StageRecorder::record(std::string name, std::string file, std::string text) {
  if (std::optional<std::string> edited = replacement(file))
    text = std::move(*edited);
  return append({std::move(name), std::move(file), std::move(text)});
}

llvm::Error StageRecorder::record(std::string name, std::string file, mlir::OwningOpRef<mlir::ModuleOp> &module) {
  std::string text;
  if (std::optional<std::string> edited = replacement(file)) {
    llvm::SourceMgr source; // so that messages carry the file's name and line
    source.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(*edited, file), llvm::SMLoc());
    mlir::MLIRContext *context = module->getContext();
    DiagnosticLog diagnostics(*context);
    mlir::OwningOpRef<mlir::ModuleOp> parsed = mlir::parseSourceFile<mlir::ModuleOp>(source, context);
    if (!parsed)
      return userError(
          llvm::formatv("the edited stage '{0}' does not parse as an MLIR module:\n{1}", file, diagnostics.text()));
    module = std::move(parsed);
    text = std::move(*edited);
  } else {
    llvm::raw_string_ostream os(text);
    // Operations verify between passes already; a second time here would only cost.
    module->print(os, mlir::OpPrintingFlags().assumeVerified());
  }
  append({std::move(name), std::move(file), std::move(text)});
  return llvm::Error::success();
}

} // namespace sectile
