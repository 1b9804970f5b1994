#include "compiler/dsl/CapturedDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace sectile::dsl;

static const char *severityName(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Note:
    return "note";
  case mlir::DiagnosticSeverity::Warning:
    return "warning";
  case mlir::DiagnosticSeverity::Remark:
    return "remark";
  case mlir::DiagnosticSeverity::Error:
    break;
  }
  return "error";
}

CapturedDiagnostics::CapturedDiagnostics(mlir::MLIRContext *context)
    : handler(context, [this](mlir::Diagnostic &diagnostic) {
        add(diagnostic);
        for (const mlir::Diagnostic &note : diagnostic.getNotes())
          add(note);
        return mlir::success();
      }) {}

void CapturedDiagnostics::add(const mlir::Diagnostic &diagnostic) {
  llvm::raw_string_ostream stream(lines);
  stream << (lines.empty() ? "" : "\n");
  if (auto at = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
    stream << at.getFilename().getValue() << ":" << at.getLine() << ":" << at.getColumn() << ": ";
  stream << severityName(diagnostic.getSeverity()) << ": " << diagnostic.str();
}
