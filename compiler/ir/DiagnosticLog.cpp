#include "compiler/ir/DiagnosticLog.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace sectile;

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

void DiagnosticLog::append(mlir::Diagnostic &diagnostic) {
  llvm::raw_string_ostream os(lines);
  os << (lines.empty() ? "" : "\n");
  if (auto at = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>()) {
    os << at.getFilename().getValue() << ":" << at.getLine() << ":";
    if (at.getColumn() != 0) // C++ sources that were traced have lines only
      os << at.getColumn() << ":";
    os << " ";
  }
  os << severityName(diagnostic.getSeverity()) << ": " << diagnostic.str();
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    append(note);
}
