// Collects what MLIR reports, as "file:line:column: error: message" lines.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace sectile::dsl {

class CapturedDiagnostics {
public:
  explicit CapturedDiagnostics(mlir::MLIRContext *context);
  /// The lines so far, without a line break at the end.
  const std::string &text() const { return lines; }

private:
  void add(const mlir::Diagnostic &diagnostic);

  std::string lines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sectile::dsl
