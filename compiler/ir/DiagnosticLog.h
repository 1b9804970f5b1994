// Collects what MLIR reports while it is alive, instead of printing it on stderr.
#pragma once

#include "mlir/IR/Diagnostics.h"

#include <string>

namespace sectile {

class DiagnosticLog {
public:
  explicit DiagnosticLog(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) { append(diagnostic); }) {}

  /// One line a message, without a line break at the end: "tile.mlir:41:7: error: …".
  const std::string &text() const { return lines; }

private:
  void append(mlir::Diagnostic &diagnostic);

  std::string lines;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace sectile
