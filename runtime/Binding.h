// From the arguments of a launch to the machine words that a kernel reads, checking everything on the way.
//
// Messages name the kernel, the argument, the rule, the actual values and the legal ones. All functions throw
// UserError.
#pragma once

#include "compiler/dsl/TracedKernel.h"
#include "sectile/Session.h"

#include "llvm/ADT/SmallVector.h"

namespace sectile {

/// 64-bit words as in HostEntry.
using ArgumentWords = llvm::SmallVector<int64_t, 128>;

/// How many of them a parameter has.
inline size_t argumentWords(const Parameter &parameter) {
  return 1 + (parameter.access == Parameter::Access::scalar ? 0 : 2 * static_cast<size_t>(parameter.rank));
}

/// Count, kind, type, rank, sizes and strides: what a compilation needs.
void checkArguments(const std::string &kernel, const std::vector<Parameter> &parameters,
                    std::span<const Argument> arguments);

/// All of that and the memory as well: what a launch needs. Fills `words`.
void bindArguments(const std::string &kernel, const std::vector<Parameter> &parameters,
                   std::span<const Argument> arguments, ArgumentWords &words);

/// Whether there is a program to run.
bool checkGrid(std::string_view kernel, const Grid &grid);

} // namespace sectile
