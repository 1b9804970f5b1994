// sectile tune: refused by name, so that nobody takes silence for a tuned kernel.

#include "Command.h"

#include "sectile/Error.h"

using namespace sectile;
using namespace sectile::cli;

void sectile::cli::addTune(CLI::App &program, Action &action) {
  CLI::App *app = program.add_subcommand("tune", "Not in this version: schedules come from a table and --schedule.");
  app->fallthrough(false)->allow_extras(); // whatever the user asks of it
  app->callback([&action] {
    action = [](Output &) -> Outcome {
      throw UserError("tune: this version has no tuner; schedules come from a built-in table, or from "
                      "--schedule blockM=…,blockN=… of 'attention' and 'compile'");
    };
  });
}
