// The subcommands of `sectile`, one file each. A function here adds one to the program.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace sectile::cli {

class Output;

/// What a subcommand found: `failed` becomes exit code 1. A UserError that it throws becomes 2.
enum class Outcome { ok, failed };

/// Set by the subcommand that was chosen, run after the whole command line was read.
using Action = std::function<Outcome(Output &)>;

void addAttention(CLI::App &program, Action &action);
void addCompile(CLI::App &program, Action &action);
void addTune(CLI::App &program, Action &action);
void addCache(CLI::App &program, Action &action);
void addDevices(CLI::App &program, Action &action);

} // namespace sectile::cli
