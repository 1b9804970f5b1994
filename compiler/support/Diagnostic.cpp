#include "compiler/support/Diagnostic.h"

#include "sectile/Error.h"

using namespace sectile;

char CompileError::ID;

llvm::Error sectile::userError(std::string message) {
  return llvm::make_error<CompileError>(CompileError::Cause::user, std::move(message));
}
llvm::Error sectile::internalError(std::string message) {
  return llvm::make_error<CompileError>(CompileError::Cause::internal, std::move(message));
}
llvm::Error sectile::deviceError(std::string message) {
  return llvm::make_error<CompileError>(CompileError::Cause::device, std::move(message));
}

void sectile::throwError(llvm::Error error) {
  CompileError::Cause cause = CompileError::Cause::internal;
  std::string message;
  llvm::handleAllErrors(
      std::move(error),
      [&](const CompileError &e) {
        cause = e.cause;
        message = e.message;
      },
      [&](const llvm::ErrorInfoBase &e) { message = e.message(); });
  switch (cause) {
  case CompileError::Cause::user:
    throw UserError(message);
  case CompileError::Cause::device:
    throw DeviceError(message);
  case CompileError::Cause::internal:
    break;
  }
  throw InternalError(message);
}
