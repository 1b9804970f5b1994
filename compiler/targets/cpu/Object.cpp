#include "compiler/support/Diagnostic.h"
#include "compiler/targets/cpu/Cpu.h"

#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile::cpu {

/// An unreadable object can only be an edited one.
static llvm::Error unreadable(llvm::Error error) {
  return userError("stage 'object' is no valid ELF object: " + llvm::toString(std::move(error)));
}

llvm::Expected<int64_t> checkObject(llvm::StringRef bytes, llvm::StringRef entry) {
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "kernel.o"));
  if (!object)
    return unreadable(object.takeError());

  std::string undefined;
  bool found = false;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return unreadable(flags.takeError());
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    if (!name)
      return unreadable(name.takeError());
    if (name->empty())
      continue;
    if (*flags & llvm::object::SymbolRef::SF_Undefined)
      undefined += (undefined.empty() ? "'" : ", '") + name->str() + "'";
    else if (*name == entry)
      found = true;
  }
  if (!undefined.empty())
    return internalError(llvm::formatv("kernel '{0}' calls {1}, but a compiled kernel must not need a library: some "
                                       "operation was not expanded",
                                       entry, undefined));
  if (!found)
    return internalError(llvm::formatv("the object of kernel '{0}' does not define '{0}'", entry));

  int64_t codeBytes = 0;
  for (const llvm::object::SectionRef &section : (*object)->sections())
    if (section.isText())
      codeBytes += static_cast<int64_t>(section.getSize());
  return codeBytes;
}

} // namespace sectile::cpu
