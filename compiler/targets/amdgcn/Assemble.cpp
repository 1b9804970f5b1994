// Assembly to an object, by LLVM's assembler.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Backend.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCObjectFileInfo.h"
#include "llvm/MC/MCObjectWriter.h"
#include "llvm/MC/MCParser/MCAsmParser.h"
#include "llvm/MC/MCParser/MCTargetAsmParser.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

namespace sectile::amdgcn {

llvm::Expected<std::string> assemble(llvm::StringRef assembly, const Target &target) {
  // 1. What was wrong with the text, if anything is.
  std::string errors;
  const auto collect = [](const llvm::SMDiagnostic &diagnostic, void *context) {
    if (diagnostic.getKind() != llvm::SourceMgr::DK_Error)
      return;
    llvm::raw_string_ostream os(*static_cast<std::string *>(context));
    diagnostic.print(nullptr, os, /*ShowColors=*/false);
  };
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(assembly, "kernel.s", false), llvm::SMLoc());
  sources.setDiagHandler(collect, &errors);

  // 2. LLVM's parts of an assembler.
  const llvm::Target &llvmTarget = backend();
  const llvm::Triple triple(tripleName);
  const llvm::MCTargetOptions options;
  const std::unique_ptr<llvm::MCRegisterInfo> registers(llvmTarget.createMCRegInfo(triple));
  const std::unique_ptr<llvm::MCAsmInfo> syntax(llvmTarget.createMCAsmInfo(*registers, triple, options));
  const std::unique_ptr<llvm::MCInstrInfo> instructions(llvmTarget.createMCInstrInfo());
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvmTarget.createMCSubtargetInfo(triple, target.processor, ""));
  llvm::MCContext context(triple, syntax.get(), registers.get(), subtarget.get(), &sources, &options);
  const std::unique_ptr<llvm::MCObjectFileInfo> sections(llvmTarget.createMCObjectFileInfo(context, /*PIC=*/true));
  context.setObjectFileInfo(sections.get());
  llvm::SmallString<0> object;
  llvm::raw_svector_ostream os(object);
  std::unique_ptr<llvm::MCAsmBackend> layout(llvmTarget.createMCAsmBackend(*subtarget, *registers, options));
  std::unique_ptr<llvm::MCObjectWriter> writer = layout->createObjectWriter(os);
  std::unique_ptr<llvm::MCCodeEmitter> emitter(llvmTarget.createMCCodeEmitter(*instructions, context));
  const std::unique_ptr<llvm::MCStreamer> streamer(llvmTarget.createMCObjectStreamer(
      triple, context, std::move(layout), std::move(writer), std::move(emitter), *subtarget));
  const std::unique_ptr<llvm::MCAsmParser> parser(llvm::createMCAsmParser(sources, context, *streamer, *syntax));
  const std::unique_ptr<llvm::MCTargetAsmParser> reader(
      llvmTarget.createMCAsmParser(*subtarget, *parser, *instructions, options));
  parser->setTargetParser(*reader);

  // 3. Run it.
  if (parser->Run(/*NoInitialTextSection=*/false) || !errors.empty())
    return userError(llvm::formatv("the amdgcn stage does not assemble for {0}:\n{1}", target.processor, errors));
  return object.str().str();
}

} // namespace sectile::amdgcn
