// Interprets kernels given as text, for tests of single operations.
#pragma once

#include "tests/support/Buffer.h"

#include "sectile/Error.h"
#include "sectile/Session.h"

#include <limits>
#include <string>

namespace sectile::test {

/// The type as MLIR writes it: "f8E4M3FN".
std::string irName(Type type);

/// Runs `text`, a module with one tile.kernel, over a grid; throws UserError when the interpreter refuses. The
/// parameters' attributes tile.name and tile.access are added.
void interpretText(const std::string &text, std::vector<Argument> arguments, Grid grid = {});

/// Applies one operation to tiles of shape [n]: `op` reads %a, %b, %c and writes %r, "$" stands for the operand type.
///   evaluate("%r = arith.addf %a, %b : $", Type::f16, {{1, 2}, {3, 4}}) == Values{4, 6}
Values evaluate(const std::string &op, Type type, const std::vector<Values> &operands);
/// The same with a result of another type.
Values evaluate(const std::string &op, Type type, const std::vector<Values> &operands, Type result);

/// Equal element by element, NaN equal to NaN, and -0 apart from 0.
bool identical(const Values &a, const Values &b);

/// The message of the UserError that f throws; "" when it throws none.
template <class F> std::string userErrorOf(F f) {
  try {
    f();
  } catch (const UserError &error) {
    return error.what();
  }
  return "";
}

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double NaN = std::numeric_limits<double>::quiet_NaN();

} // namespace sectile::test
