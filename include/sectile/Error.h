// The three kinds of errors that the public interface throws.
#pragma once

#include <stdexcept>
#include <string>

namespace sectile {

/// The base: catch this to catch whatever Sectile throws.
class Error : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something illegal. The message names the culprit, the rule, the actual values and what
/// would be legal. Nothing was written.
class UserError : public Error {
public:
  using Error::Error;
};

/// A fault of Sectile itself, such as a pass that failed on valid input. Please report it with the message.
class InternalError : public Error {
public:
  using Error::Error;
};

/// The device or the operating system refused: no memory, no driver, a launch that failed.
class DeviceError : public Error {
public:
  using Error::Error;
};

} // namespace sectile
