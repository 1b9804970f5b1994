// What the assembler decided, from the cubin: an ELF file with, of each kernel, its code in ".text.<kernel>" and a
// symbol. The section ".nv.info" is a list of attributes,
//
//   u8 format | u8 attribute | u16 value                          formats 1 to 3: nothing follows
//   u8 format | u8 attribute | u16 bytes | that many bytes        format 4
//
// of which those named below hold a u32 index of the kernel's symbol and a u32 number.
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/nvptx/Nvptx.h"

#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFTypes.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::nvptx {
namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;

constexpr uint8_t formatWithBytes = 4, frameSize = 0x11, registerCount = 0x2f; // EIFMT_SVAL, EIATTR_…

/// An unreadable cubin can only be an edited one.
llvm::Error unreadable(const llvm::Twine &why) { return userError(("stage 'cubin' is no valid cubin: " + why).str()); }

struct KernelSymbol {
  uint32_t index = 0;
  uint64_t bytes = 0;
};

/// The number of the function symbol `entry`.
llvm::Expected<KernelSymbol> findSymbol(const Elf &elf, const Elf::Elf_Shdr &table, llvm::StringRef entry) {
  auto symbols = elf.symbols(&table);
  if (!symbols)
    return symbols.takeError();
  auto names = elf.getStringTableForSymtab(table);
  if (!names)
    return names.takeError();
  for (auto [index, symbol] : llvm::enumerate(*symbols)) {
    llvm::Expected<llvm::StringRef> name = symbol.getName(*names);
    if (!name)
      return name.takeError();
    if (*name == entry && symbol.getType() == llvm::ELF::STT_FUNC)
      return KernelSymbol{static_cast<uint32_t>(index), symbol.st_size};
  }
  return llvm::createStringError("it does not define the kernel '" + entry + "'");
}

/// Reads the attributes that `symbol` has into `usage`.
llvm::Error readAttributes(llvm::ArrayRef<uint8_t> bytes, uint32_t symbol, Usage &usage) {
  using namespace llvm::support::endian;
  while (!bytes.empty()) {
    if (bytes.size() < 4)
      return llvm::createStringError("its section .nv.info ends in the middle of an attribute");
    const uint8_t format = bytes[0], attribute = bytes[1];
    const size_t length = format == formatWithBytes ? read16le(&bytes[2]) : 0;
    bytes = bytes.drop_front(4);
    if (length > bytes.size())
      return llvm::createStringError("its section .nv.info ends in the middle of an attribute");
    if (length >= 8 && read32le(&bytes[0]) == symbol) {
      if (attribute == registerCount)
        usage.registers = read32le(&bytes[4]);
      else if (attribute == frameSize)
        usage.stackBytes = read32le(&bytes[4]);
    }
    bytes = bytes.drop_front(length);
  }
  return llvm::Error::success();
}

llvm::Expected<Usage> read(llvm::StringRef bytes, llvm::StringRef entry) {
  llvm::Expected<Elf> elf = Elf::create(bytes);
  if (!elf)
    return elf.takeError();
  auto sections = elf->sections();
  if (!sections)
    return sections.takeError();
  // 1. The kernel's symbol.
  const auto *table = llvm::find_if(*sections, [](const auto &s) { return s.sh_type == llvm::ELF::SHT_SYMTAB; });
  if (table == sections->end())
    return llvm::createStringError("it has no symbols");
  llvm::Expected<KernelSymbol> symbol = findSymbol(*elf, *table, entry);
  if (!symbol)
    return symbol.takeError();
  // 2. Its attributes.
  Usage usage;
  usage.codeBytes = static_cast<int64_t>(symbol->bytes);
  for (const auto &section : *sections) {
    llvm::Expected<llvm::StringRef> name = elf->getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name != ".nv.info")
      continue;
    auto contents = elf->getSectionContents(section);
    if (!contents)
      return contents.takeError();
    if (llvm::Error error = readAttributes(*contents, symbol->index, usage))
      return error;
  }
  if (usage.registers == 0)
    return llvm::createStringError("it does not say how many registers '" + entry + "' has");
  return usage;
}

} // namespace

llvm::Expected<Usage> readCubin(llvm::StringRef cubin, llvm::StringRef entry) {
  llvm::Expected<Usage> usage = read(cubin, entry);
  if (!usage)
    return unreadable(llvm::toString(usage.takeError()));
  return usage;
}

} // namespace sectile::nvptx
