// sectile devices: what was found, what each can run, and why something is missing.

#include "Command.h"
#include "Output.h"

#include "sectile/Error.h"
#include "sectile/Session.h"

using namespace sectile;
using namespace sectile::cli;

static Outcome listDevices(Output &output) {
  const Options environment = Options::fromEnvironment();
  for (const char *target : {"cpu", "interpret"}) {
    Options options = environment;
    options.target = target;
    options.cache = "off";
    const std::string runs = std::string("attention in f32 f16 bf16; kernels also in f8e4m3 f8e5m2 i32 i1") +
                             (target == std::string("interpret") ? "; slowly: the definition of each operation" : "");
    try {
      const Session session(options);
      output.result(llvm::json::Object{{"device", target},
                                       {"available", true},
                                       {"target", session.target()},
                                       {"threads", session.threads()},
                                       {"runs", runs}},
                    format("%-9s  %s\n           %d threads; %s", target, shortTarget(session.target()).c_str(),
                           session.threads(), runs.c_str()));
    } catch (const Error &error) {
      output.result(llvm::json::Object{{"device", target}, {"available", false}, {"reason", error.what()}},
                    format("%-9s  not available: %s", target, error.what()));
    }
  }
  for (const char *target : {"cuda", "hip"})
    output.result(llvm::json::Object{{"device", target}, {"available", false}, {"reason", "not in this version"}},
                  format("%-9s  not in this version, which runs on cpu and interpret", target));
  return Outcome::ok;
}

void sectile::cli::addDevices(CLI::App &program, Action &action) {
  CLI::App *app = program.add_subcommand("devices", "List what kernels can run on.");
  app->callback([&action] { action = listDevices; });
}
