// Runs kernels of the conformance suite on the target under test, through the compiler's own interface.
//
// The suite is one set of test bodies. `conformance --target interpret` holds the interpreter against expectations
// computed in plain C++, and `--target cpu` or `--target cuda` hold the compiled code against the very same
// expectations.
#pragma once

#include "compiler/dsl/TracedKernel.h"

#include "sectile/Session.h"

#include <functional>
#include <memory>
#include <vector>

namespace sectile::conformance {

/// A kernel traced and compiled for the target under test.
class Program {
public:
  /// `facts` by argument; a missing one guarantees nothing.
  explicit Program(const std::function<void(Trace &)> &body, std::vector<ArgumentFacts> facts = {},
                   Schedule schedule = {});
  /// A kernel as text, of operations that the compiler makes and no trace has.
  explicit Program(const std::string &text);
  ~Program();

  /// Changes the arguments once their arrays are in the target's memory.
  using Adjust = std::function<void(std::vector<Argument> &)>;
  /// Runs every program of the grid: on the host spread over four threads, on a device in one launch.
  void run(std::vector<Argument> arguments, Grid grid = {}, const Adjust &adjust = {}) const;

private:
  class Code;
  class Interpreted;
  class HostProgram;
  class CudaProgram;
  class EmulatedProgram;
  class CodeObjectProgram;
  Program(TracedKernel kernel, const Schedule &schedule);
  TracedKernel traced;
  std::unique_ptr<const Code> code;
};

/// Compiles and runs once, telling the compiler all that holds for the arguments.
void run(const std::function<void(Trace &)> &body, const std::vector<Argument> &arguments, Grid grid = {});

/// What a launch with these arguments guarantees.
std::vector<ArgumentFacts> factsOf(const std::vector<Argument> &arguments);

} // namespace sectile::conformance
