// Errors inside the compiler: values, never exceptions. The public interface turns them into Error.h's types.
#pragma once

#include "llvm/Support/Error.h"

#include <string>

namespace sectile {

/// A failure with its cause. `user`: the input is at fault; `internal`: Sectile is; `device`: the machine is.
class CompileError : public llvm::ErrorInfo<CompileError> {
public:
  enum class Cause { user, internal, device };
  static char ID;
  CompileError(Cause cause, std::string message) : cause(cause), message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  const Cause cause;
  const std::string message;
};

llvm::Error userError(std::string message);
llvm::Error internalError(std::string message);
llvm::Error deviceError(std::string message);

/// Throws UserError, InternalError or DeviceError for a failure; anything that is not a CompileError is internal.
[[noreturn]] void throwError(llvm::Error error);
template <class T> T valueOrThrow(llvm::Expected<T> value) {
  if (!value)
    throwError(value.takeError());
  return std::move(*value);
}

} // namespace sectile
