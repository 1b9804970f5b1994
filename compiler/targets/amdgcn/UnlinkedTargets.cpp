// Only of a static LLVM. LLD, as a library, refers to more of LLVM than we link: it initializes all of LLVM's targets, of
// which we have three, and offers link-time optimization a plugin that is not packaged. Nothing is lost: what is not
// linked has nothing to initialize, and code objects need no link-time optimization.
#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "none", "0", [](llvm::PassBuilder &) {}};
}

#define UNLINKED(symbol)                                                                                               \
  extern "C" void LLVMInitialize##symbol() {}
#define UNLINKED_TARGET(name) UNLINKED(name##TargetInfo) UNLINKED(name##Target) UNLINKED(name##TargetMC) \
  UNLINKED(name##AsmPrinter)
#define UNLINKED_PARSER(name) UNLINKED(name##AsmParser)

// clang-format off
UNLINKED_TARGET(AArch64)
UNLINKED_TARGET(ARM)
UNLINKED_TARGET(AVR)
UNLINKED_TARGET(BPF)
UNLINKED_TARGET(Hexagon)
UNLINKED_TARGET(Lanai)
UNLINKED_TARGET(LoongArch)
UNLINKED_TARGET(Mips)
UNLINKED_TARGET(MSP430)
UNLINKED_TARGET(PowerPC)
UNLINKED_TARGET(RISCV)
UNLINKED_TARGET(Sparc)
UNLINKED_TARGET(SPIRV)
UNLINKED_TARGET(SystemZ)
UNLINKED_TARGET(VE)
UNLINKED_TARGET(WebAssembly)
UNLINKED_TARGET(XCore)
UNLINKED_TARGET(M68k)
UNLINKED_TARGET(Xtensa)
UNLINKED_PARSER(AArch64)
UNLINKED_PARSER(ARM)
UNLINKED_PARSER(AVR)
UNLINKED_PARSER(BPF)
UNLINKED_PARSER(Hexagon)
UNLINKED_PARSER(Lanai)
UNLINKED_PARSER(LoongArch)
UNLINKED_PARSER(Mips)
UNLINKED_PARSER(MSP430)
UNLINKED_PARSER(PowerPC)
UNLINKED_PARSER(RISCV)
UNLINKED_PARSER(Sparc)
UNLINKED_PARSER(SystemZ)
UNLINKED_PARSER(VE)
UNLINKED_PARSER(WebAssembly)
UNLINKED_PARSER(M68k)
UNLINKED_PARSER(Xtensa)
// clang-format on
