#include "runtime/emulate/Decoder.h"
#include "runtime/emulate/Semantics.h"
#include "runtime/emulate/Wave.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"

using namespace sectile;
using namespace sectile::emulate;
using llvm::StringRef;

struct Decoder::Llvm {
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};

Decoder::Decoder(uint64_t begin, uint64_t end, Generation generation)
    : begin(begin), end(end), generation(generation),
      slots(new std::atomic<const WaveInstruction *>[(end - begin) / 4]()) {}
Decoder::~Decoder() = default;

llvm::Expected<std::unique_ptr<Decoder>> Decoder::create(StringRef processor, Generation generation, uint64_t begin,
                                                         uint64_t end) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  const llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return internalError("emulation: this LLVM has no AMDGPU target: " + error);
  auto llvm = std::make_unique<Llvm>();
  llvm->registers.reset(target->createMCRegInfo(triple));
  llvm->asmInfo.reset(target->createMCAsmInfo(*llvm->registers, triple, llvm->options));
  llvm->instructions.reset(target->createMCInstrInfo());
  llvm->subtarget.reset(target->createMCSubtargetInfo(triple, processor, ""));
  llvm->context =
      std::make_unique<llvm::MCContext>(triple, llvm->asmInfo.get(), llvm->registers.get(), llvm->subtarget.get());
  llvm->disassembler.reset(target->createMCDisassembler(*llvm->subtarget, *llvm->context));
  llvm->printer.reset(target->createMCInstPrinter(triple, 0, *llvm->asmInfo, *llvm->instructions, *llvm->registers));
  if (!llvm->disassembler || !llvm->printer)
    return internalError("emulation: this LLVM has no disassembler for AMDGPU");
  std::unique_ptr<Decoder> decoder(new Decoder(begin, end, generation));
  decoder->llvm = std::move(llvm);
  return decoder;
}

static Class classOf(StringRef name, const Access &access) {
  switch (access.space) {
  case Access::Space::none:
    break;
  case Access::Space::lds:
    return access.kind == Access::Kind::load ? Class::ldsRead : Class::ldsWrite;
  case Access::Space::scalar:
    return Class::scalarLoad;
  case Access::Space::scratch:
    return Class::scratch;
  default:
    return access.kind == Access::Kind::load ? Class::globalLoad : Class::globalStore;
  }
  if (name.starts_with("v_mfma") || name.starts_with("v_wmma") || name.starts_with("v_smfmac"))
    return Class::matrix;
  if (name.starts_with("v_"))
    return Class::valu;
  if (name.starts_with("s_barrier"))
    return Class::barrier;
  if (name.starts_with("s_wait"))
    return Class::wait;
  if (name.starts_with("s_branch") || name.starts_with("s_cbranch"))
    return Class::branch;
  if (name == "s_nop" || name == "s_endpgm" || name == "s_clause" || name == "s_delay_alu" || !name.starts_with("s_"))
    return Class::other;
  return Class::salu;
}

/// Both halves of a dual issue read before either writes.
static void executeBoth(Wave &wave, const WaveInstruction &inst) {
  const unsigned reg = inst[0].reg;
  uint32_t before[maxLanes], result[maxLanes];
  const Poison poisonBefore = wave.poison[reg];
  std::memcpy(before, wave.v[reg], sizeof before);
  const WaveInstruction &second = *inst.second;
  inst.first(wave, inst);
  const Poison poison = wave.poison[reg];
  std::memcpy(result, wave.v[reg], sizeof result);
  std::memcpy(wave.v[reg], before, sizeof before);
  wave.poison[reg] = poisonBefore;
  wave.clearPoisonIn();
  second.execute(wave, second);
  std::memcpy(wave.v[reg], result, sizeof result);
  wave.poison[reg] = poison;
}

const WaveInstruction *Decoder::decode(uint64_t address, std::string &whyNot) {
  const std::lock_guard lock(mutex);
  std::atomic<const WaveInstruction *> &slot = slots[(address - begin) / 4];
  if (const WaveInstruction *known = slot.load(std::memory_order_acquire))
    return known;
  const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t *>(address), size_t(end - address));
  llvm::MCInst mcInst;
  uint64_t size = 0;
  if (llvm->disassembler->getInstruction(mcInst, size, bytes, address, llvm::nulls()) == llvm::MCDisassembler::Fail)
    return whyNot = "these bytes are no instruction of this processor", nullptr;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm->printer->printInst(&mcInst, address, "", *llvm->subtarget, os);
  auto inst = std::make_unique<WaveInstruction>();
  std::replace(text.begin(), text.end(), '\t', ' ');
  inst->text = StringRef(text).trim().str();
  inst->address = address;
  inst->size = uint8_t(size);
  inst->immediate = uint16_t(bytes[0] | bytes[1] << 8);

  auto complete = [&](WaveInstruction &part, StringRef partText) {
    const std::string unknown = parseInstruction(partText, generation, part, permutations);
    part.execute = unknown.empty() ? findSemantics(part, generation) : nullptr;
    part.kind = classOf(part.mnemonic, part.access);
    if (!part.execute)
      whyNot = "the emulator lacks " +
               (unknown.empty() ? "the instruction" : "the " + unknown + " of the instruction") + " '" + inst->text +
               "'";
    return part.execute != nullptr;
  };
  auto [first, second] = StringRef(inst->text).split(" :: ");
  if (second.empty()) {
    if (!complete(*inst, first))
      return nullptr;
  } else {
    auto other = std::make_unique<WaveInstruction>();
    other->text = inst->text, other->address = address, other->size = inst->size;
    auto withoutDual = [](StringRef part) {
      part = part.trim();
      part.consume_front("v_dual_");
      return ("v_" + part + (part.starts_with("cndmask_b32") && part.count(',') == 2 ? ", vcc_lo" : "")).str();
    };
    if (!complete(*inst, withoutDual(first)) || !complete(*other, withoutDual(second)))
      return nullptr;
    inst->first = inst->execute;
    inst->execute = executeBoth;
    inst->second = instructions.emplace_back(std::move(other)).get();
  }
  const WaveInstruction *result = instructions.emplace_back(std::move(inst)).get();
  slot.store(result, std::memory_order_release);
  return result;
}
