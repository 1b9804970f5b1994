// sectile compile: every stage of a kernel to files; needs no device.

#include "Command.h"
#include "Output.h"
#include "Problem.h"

#include "sectile/Error.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace sectile;
using namespace sectile::cli;

namespace {

struct CompileCommand {
  ProblemArguments arguments;
  std::string kernel, folder;

  Outcome run(Output &output) const;
};

void writeFile(const std::filesystem::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    throw DeviceError(path.string() + ": cannot be written: " + std::strerror(errno));
}

/// Without a disassembler there is no listing of a cubin, and why.
void reportListing(const Stage &last, Output &output) {
  if (last.name == "cubin")
    output.message(
        "no stage 'sass': there is neither nvdisasm nor cuobjdump in the toolkit (--toolkit), or on PATH and "
        "in /usr/local/cuda without one");
  else if (last.name == "sass" && last.text.starts_with("// not disassembled"))
    output.message("stage 'sass': " + last.text.substr(3));
}

Outcome CompileCommand::run(Output &output) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UserError("-o " + folder + ": cannot be made: " + error.message());

  ProblemArguments::Problem problem = arguments.make();
  Session session(arguments.sessionOptions());
  const Progress progress("compiling");
  const std::shared_ptr<const Executable> executable =
      prepareAttentionForward(session, problem.q.view(), problem.k.view(), problem.v.view(), problem.out.view(),
                              problem.lse.view(), problem.options, arguments.schedule());

  llvm::json::Object resources;
  std::string text = format("target    %s\nschedule  %s\nkey       %s\n", shortTarget(executable->target()).c_str(),
                            toString(executable->schedule()).c_str(), executable->key().c_str());
  for (const auto &[name, value] : executable->resources()) {
    resources[name] = value;
    text += format("%-16s %lld\n", name.c_str(), static_cast<long long>(value));
  }
  llvm::json::Array files;
  reportListing(executable->stages().back(), output);
  for (const Stage &stage : executable->stages()) {
    const std::filesystem::path path = std::filesystem::path(folder) / stage.file;
    writeFile(path, stage.text);
    files.push_back(path.string());
    text += format("%-9s %s (%zu bytes)\n", stage.name.c_str(), path.c_str(), stage.text.size());
  }
  text.pop_back();
  output.result(llvm::json::Object{{"target", executable->target()},
                                   {"schedule", toString(executable->schedule())},
                                   {"key", executable->key()},
                                   {"resources", std::move(resources)},
                                   {"files", std::move(files)}},
                text);
  return Outcome::ok;
}

} // namespace

void sectile::cli::addCompile(CLI::App &program, Action &action) {
  auto command = std::make_shared<CompileCommand>();
  CLI::App *app = program.add_subcommand("compile", "Write every stage of a compiled kernel to files.");
  app->add_option("kernel", command->kernel, "which kernel")
      ->required()
      ->check(CLI::IsMember({"attention-forward"}))
      ->type_name("KERNEL");
  app->add_option("-o,--output", command->folder, "the folder to write to")->required()->type_name("DIR");
  command->arguments.addTo(*app, false);
  app->callback([command, &action] { action = [command](Output &output) { return command->run(output); }; });
}
