#include "runtime/emulate/CodeObject.h"
#include "runtime/emulate/Decoder.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/Endian.h"

#include <cstring>

using namespace sectile;
using namespace sectile::emulate;
using namespace llvm::support::endian;
using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

CodeObject::~CodeObject() = default;

const WaveInstruction *CodeObject::at(uint64_t address, std::string &whyNot) const {
  return decoder->at(address, whyNot);
}

static llvm::Error invalid(const std::string &what) { return userError("emulation: the code object " + what); }

/// The processor by the machine field of e_flags.
static bool findProcessor(uint32_t flags, std::string &name, Generation &generation) {
  switch (flags & llvm::ELF::EF_AMDGPU_MACH) {
  case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A:
    return name = "gfx90a", generation = Generation::gfx90a, true;
  case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942:
    return name = "gfx942", generation = Generation::gfx940, true;
  case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950:
    return name = "gfx950", generation = Generation::gfx950, true;
  case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100:
    return name = "gfx1100", generation = Generation::gfx11, true;
  case llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201:
    return name = "gfx1201", generation = Generation::gfx12, true;
  default:
    return false;
  }
}

static KernelDescriptor readDescriptor(const uint8_t *bytes, uint64_t address) {
  KernelDescriptor kernel;
  kernel.ldsSize = read32le(bytes);
  kernel.privateSize = read32le(bytes + 4);
  kernel.kernargSize = read32le(bytes + 8);
  kernel.entry = address + read64le(bytes + 16);
  kernel.rsrc3 = read32le(bytes + 44);
  kernel.rsrc1 = read32le(bytes + 48);
  kernel.rsrc2 = read32le(bytes + 52);
  kernel.properties = read16le(bytes + 56);
  kernel.preload = read16le(bytes + 58);
  kernel.wave32 = kernel.properties >> 10 & 1;
  return kernel;
}

llvm::Expected<std::shared_ptr<const CodeObject>> CodeObject::load(llvm::StringRef bytes) {
  llvm::Expected<Elf> elf = Elf::create(bytes);
  if (!elf)
    return invalid("is no ELF file: " + toString(elf.takeError()));
  const auto &header = elf->getHeader();
  if (header.e_machine != llvm::ELF::EM_AMDGPU || header.e_type != llvm::ELF::ET_DYN)
    return invalid("is not linked for an AMD GPU (an ELF file of type ET_DYN for EM_AMDGPU)");
  std::shared_ptr<CodeObject> code(new CodeObject);
  if (!findProcessor(header.e_flags, code->processorName, code->gen))
    return invalid("is for a processor that the emulator lacks; it knows gfx90a, gfx942, gfx950, gfx1100, gfx1201");
  const unsigned abi = header.e_ident[llvm::ELF::EI_ABIVERSION];
  if (abi != llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V5 && abi != llvm::ELF::ELFABIVERSION_AMDGPU_HSA_V6)
    return invalid("has ABI version " + std::to_string(abi) + "; the emulator takes code object v5 and v6");

  // 1. The segments, where the page offsets stay the same.
  auto headers = elf->program_headers();
  if (!headers)
    return invalid("has no program headers: " + toString(headers.takeError()));
  uint64_t size = 0;
  for (const auto &segment : *headers)
    if (segment.p_type == llvm::ELF::PT_LOAD) {
      if (segment.p_filesz > segment.p_memsz || segment.p_memsz > (uint64_t(1) << 32) ||
          segment.p_vaddr > (uint64_t(1) << 32) || segment.p_offset > bytes.size() ||
          segment.p_filesz > bytes.size() - segment.p_offset)
        return invalid("has a segment outside of the file");
      size = std::max<uint64_t>(size, segment.p_vaddr + segment.p_memsz);
    }
  std::error_code error;
  code->memory = llvm::sys::OwningMemoryBlock(llvm::sys::Memory::allocateMappedMemory(
      std::max<uint64_t>(size, 1), nullptr, llvm::sys::Memory::MF_READ | llvm::sys::Memory::MF_WRITE, error));
  if (error)
    return deviceError("emulation: no memory for the code object: " + error.message());
  auto *base = static_cast<uint8_t *>(code->memory.base());
  const uint64_t origin = reinterpret_cast<uint64_t>(base);
  uint64_t codeBegin = 0, codeEnd = 0;
  for (const auto &segment : *headers)
    if (segment.p_type == llvm::ELF::PT_LOAD) {
      std::memcpy(base + segment.p_vaddr, bytes.data() + segment.p_offset, segment.p_filesz);
      const uint64_t begin = origin + segment.p_vaddr;
      const bool executable = segment.p_flags & llvm::ELF::PF_X;
      code->loaded.push_back({begin, begin + segment.p_memsz, (segment.p_flags & llvm::ELF::PF_W) != 0, executable});
      if (executable)
        codeBegin = begin, codeEnd = begin + segment.p_memsz / 4 * 4;
    }
  if (codeBegin == codeEnd || codeBegin % 4)
    return invalid("has no code");

  // 2. Relocations and kernels.
  auto sections = elf->sections();
  if (!sections)
    return invalid("has no sections: " + toString(sections.takeError()));
  for (const auto &section : *sections) {
    if (section.sh_type == llvm::ELF::SHT_RELA) {
      auto relocations = elf->relas(section);
      if (!relocations)
        return invalid("has wrong relocations: " + toString(relocations.takeError()));
      for (const auto &relocation : *relocations) {
        if (relocation.getType(false) != llvm::ELF::R_AMDGPU_RELATIVE64 || relocation.r_offset + 8 > size)
          return invalid("has a relocation that the emulator lacks (it knows R_AMDGPU_RELATIVE64)");
        write64le(base + relocation.r_offset, origin + relocation.r_addend);
      }
    }
    if (section.sh_type != llvm::ELF::SHT_DYNSYM)
      continue;
    auto symbols = elf->symbols(&section);
    auto names = elf->getStringTableForSymtab(section);
    if (!symbols || !names) {
      llvm::consumeError(symbols.takeError());
      llvm::consumeError(names.takeError());
      return invalid("has a wrong table of symbols");
    }
    for (const auto &symbol : *symbols) {
      auto name = symbol.getName(*names);
      if (!name) {
        llvm::consumeError(name.takeError());
        continue;
      }
      llvm::StringRef kernel = *name;
      if (kernel.consume_back(".kd") && symbol.st_value + 64 <= size)
        code->kernelsByName[kernel] = readDescriptor(base + symbol.st_value, origin + symbol.st_value);
    }
  }
  if (code->kernelsByName.empty())
    return invalid("has no kernel (a symbol that ends in .kd)");
  auto decoder = Decoder::create(code->processorName, code->gen, codeBegin, codeEnd);
  if (!decoder)
    return decoder.takeError();
  code->decoder = std::move(*decoder);
  return code;
}
