#include "compiler/targets/DiagnosticLog.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"

#include "llvm/Support/raw_ostream.h"

namespace sectile {

static const char *severity(const mlir::Diagnostic &diagnostic) {
  switch (diagnostic.getSeverity()) {
  case mlir::DiagnosticSeverity::Error:
    return "error: ";
  case mlir::DiagnosticSeverity::Warning:
    return "warning: ";
  case mlir::DiagnosticSeverity::Note:
    return "note: ";
  case mlir::DiagnosticSeverity::Remark:
    return "remark: ";
  }
  return "";
}

void DiagnosticLog::append(mlir::Diagnostic &diagnostic) {
  llvm::raw_string_ostream os(lines);
  if (!lines.empty())
    os << '\n';
  if (auto place = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
    os << place.getFilename().getValue() << ':' << place.getLine() << ": ";
  os << severity(diagnostic) << diagnostic.str();
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    append(note);
}

} // namespace sectile
