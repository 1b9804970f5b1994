// What a code object says of its kernels: a note in MessagePack (LLVM's "User Guide for AMDGPU Backend", Code Object V3
// to V6 Metadata).
#include "compiler/support/Diagnostic.h"
#include "compiler/targets/amdgcn/Amdgcn.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

namespace sectile::amdgcn {
namespace {

using Elf = llvm::object::ELF64LEFile;

/// The text of the note, empty when there is none.
llvm::Expected<std::string> metadataNote(const Elf &elf) {
  auto headers = elf.program_headers();
  if (!headers)
    return headers.takeError();
  for (const auto &header : *headers) {
    if (header.p_type != llvm::ELF::PT_NOTE)
      continue;
    llvm::Error error = llvm::Error::success();
    std::string text;
    for (const auto &note : elf.notes(header, error))
      if (note.getName() == "AMDGPU" && note.getType() == llvm::ELF::NT_AMDGPU_METADATA)
        text = note.getDescAsStringRef(header.p_align).str();
    if (error)
      return error;
    if (!text.empty())
      return text;
  }
  return std::string();
}

int64_t codeBytes(const Elf &elf) {
  auto sections = elf.sections();
  int64_t bytes = 0;
  if (!sections) {
    llvm::consumeError(sections.takeError());
    return 0;
  }
  for (const auto &section : *sections)
    if (section.sh_flags & llvm::ELF::SHF_EXECINSTR)
      bytes += static_cast<int64_t>(section.sh_size);
  return bytes;
}

} // namespace

llvm::Expected<Usage> readUsage(llvm::StringRef codeObject, llvm::StringRef kernel) {
  const auto malformed = [](const std::string &what) { return internalError("the code object " + what); };
  llvm::Expected<Elf> elf = Elf::create(codeObject);
  if (!elf)
    return malformed("is no ELF file: " + llvm::toString(elf.takeError()));
  llvm::Expected<std::string> note = metadataNote(*elf);
  if (!note)
    return malformed("has damaged notes: " + llvm::toString(note.takeError()));
  llvm::msgpack::Document document;
  if (note->empty() || !document.readFromBlob(*note, /*Multi=*/false) || !document.getRoot().isMap())
    return malformed("has no metadata");
  auto kernels = document.getRoot().getMap()["amdhsa.kernels"];
  if (!kernels.isArray())
    return malformed("lists no kernels");
  for (auto &entry : kernels.getArray()) {
    if (!entry.isMap() || entry.getMap()[".name"].toString() != kernel)
      continue;
    const auto number = [&](llvm::StringRef name) -> int64_t {
      auto node = entry.getMap()[name];
      return node.getKind() == llvm::msgpack::Type::UInt  ? static_cast<int64_t>(node.getUInt())
             : node.getKind() == llvm::msgpack::Type::Int ? node.getInt()
                                                          : 0;
    };
    return Usage{.threads = number(".max_flat_workgroup_size"),
                 .sharedBytes = number(".group_segment_fixed_size"),
                 .vectorRegisters = number(".vgpr_count"),
                 .accumulatorRegisters = number(".agpr_count"),
                 .scalarRegisters = number(".sgpr_count"),
                 .vectorSpills = number(".vgpr_spill_count"),
                 .scalarSpills = number(".sgpr_spill_count"),
                 .scratchBytes = number(".private_segment_fixed_size"),
                 .kernargBytes = number(".kernarg_segment_size"),
                 .codeBytes = codeBytes(*elf)};
  }
  return malformed(llvm::formatv("has no kernel '{0}'", kernel));
}

} // namespace sectile::amdgcn
