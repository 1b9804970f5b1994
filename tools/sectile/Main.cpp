// sectile: the library on the command line.
//
// Exit codes: 0 done; 1 a check failed, or Sectile or the machine did; 2 the command line or a file is wrong.

#include "Command.h"
#include "Output.h"

#include "sectile/Error.h"

#include <cstdio>

using namespace sectile;
using namespace sectile::cli;

namespace {

constexpr int userErrorCode = 2, failureCode = 1;

/// The long options of a command, for messages.
std::string legalOptions(const CLI::App &command) {
  std::string names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names += " --" + name;
  return names + " --json";
}

std::string legalSubcommands(const CLI::App &command) {
  std::string names;
  for (const CLI::App *subcommand : command.get_subcommands({}))
    names += " " + subcommand->get_name();
  return names;
}

/// The command that the user wrote: the innermost one that was parsed.
const CLI::App &chosenCommand(const CLI::App &program) {
  const CLI::App *command = &program;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return *command;
}

int explain(const CLI::App &program, const CLI::ParseError &error) {
  const CLI::App &command = chosenCommand(program);
  std::string message = error.what();
  const bool wantsSubcommand = !command.get_subcommands({}).empty();
  if (dynamic_cast<const CLI::ExtrasError *>(&error) || wantsSubcommand) {
    std::string unknown;
    for (const std::string &word : program.remaining(true))
      unknown += " " + word;
    message = unknown.empty() ? "a subcommand is missing" : "not known here:" + unknown;
    message += wantsSubcommand ? "; legal subcommands:" + legalSubcommands(command)
                               : "; legal options:" + legalOptions(command);
  }
  std::fprintf(stderr, "sectile: error: %s\nsee: sectile %s--help\n", message.c_str(),
               &command == &program ? "" : (command.get_name() + " ").c_str());
  return userErrorCode;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App program("Sectile compiles attention kernels at run time and runs them.", "sectile");
  program.set_version_flag("--version", SECTILE_VERSION, "print the version");
  bool json = false;
  program.add_flag("--json", json, "results as JSON, one object a line on stdout");
  program.require_subcommand(1);
  program.fallthrough();
  program.get_formatter()->column_width(34);
  program.footer("Environment: SECTILE_TARGET, SECTILE_CACHE, SECTILE_DUMP, SECTILE_OVERRIDE, SECTILE_LOG, "
                 "SECTILE_AUTOTUNE; see README.md.");

  Action action;
  addAttention(program, action);
  addCompile(program, action);
  addTune(program, action);
  addCache(program, action);
  addDevices(program, action);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success &success) { // --help and --version
    return program.exit(success);
  } catch (const CLI::ParseError &error) {
    return explain(program, error);
  }

  Output output(json);
  try {
    return action(output) == Outcome::ok ? 0 : failureCode;
  } catch (const UserError &error) {
    output.message(std::string("error: ") + error.what());
    return userErrorCode;
  } catch (const std::exception &error) { // the device, the system or Sectile itself
    output.message(std::string("failed: ") + error.what());
    return failureCode;
  }
}
