// PTX -> cubin.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/NvJitLink.h"
#include "compiler/targets/nvptx/Nvptx.h"
#include "compiler/targets/nvptx/Program.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

namespace sectile::nvptx {
namespace {

/// An assembler's outcome: machine code and what it said.
struct Assembled {
  std::string cubin, log;
};

llvm::Expected<Assembled> byLibrary(llvm::StringRef path, llvm::StringRef ptx, const Target &target) {
  llvm::Expected<NvJitLink> library = NvJitLink::open(path.str());
  if (!library)
    return library.takeError();
  const std::string architecture = "-arch=" + target.processor;
  NvJitLink::Linked linked = library->link(ptx, {architecture.c_str(), "-O3", "-verbose"});
  if (!linked.succeeded)
    return llvm::createStringError(linked.log);
  return Assembled{std::move(linked.cubin), std::move(linked.log)};
}

llvm::Expected<Assembled> byProgram(llvm::StringRef path, llvm::StringRef ptx, const Target &target) {
  llvm::Expected<TemporaryFile> input = TemporaryFile::create("ptx", ptx);
  if (!input)
    return input.takeError();
  llvm::Expected<TemporaryFile> output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  const std::string architecture = "-arch=" + target.processor;
  llvm::Expected<std::string> log =
      runProgram(path.str(), {architecture, "-O3", "-v", "-o", output->name(), input->name()});
  if (!log)
    return log.takeError();
  llvm::Expected<std::string> cubin = output->read();
  if (!cubin)
    return cubin.takeError();
  return Assembled{std::move(*cubin), std::move(*log)};
}

} // namespace

// The assembler gave up on what makes a kernel fast, and says so in passing:
//   ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to …
std::string brokenPromises(llvm::StringRef log) {
  const llvm::Regex note("\\(C75[0-9][0-9]\\)");
  std::string lines;
  for (llvm::StringRef line : llvm::split(log, '\n'))
    if (note.match(line))
      lines += line.str() + '\n';
  return lines;
}

llvm::Expected<std::string> assemble(llvm::StringRef ptx, const Target &target) {
  const Target::Nvidia::Assembler &assembler = assemblerFor(ptx, target);
  const std::string name = assemblerName(assembler);
  llvm::Expected<Assembled> assembled = assembler.kind == Target::Nvidia::Assembler::Kind::nvJitLink
                                            ? byLibrary(assembler.path, ptx, target)
                                            : byProgram(assembler.path, ptx, target);
  if (!assembled)
    return internalError(name + " cannot assemble the kernel for '" + target.name() + "':\n" +
                         llvm::toString(assembled.takeError()));
  if (std::string notes = brokenPromises(assembled->log); !notes.empty())
    return internalError(name + " did not assemble the kernel for '" + target.name() + "' as it is written:\n" + notes);
  return std::move(assembled->cubin);
}

} // namespace sectile::nvptx
