// ORC would bring a session, dylibs and materialization threads for what is one object that refers to nothing outside:
// its linker, RuntimeDyld, alone loads it in well under a millisecond.
#include "runtime/host/HostCode.h"

#include "compiler/support/Diagnostic.h"

#include "llvm/ExecutionEngine/RuntimeDyld.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FormatVariadic.h"

namespace sectile {
namespace {

/// Finds no symbol, and remembers what was asked for.
class NothingOutside : public llvm::JITSymbolResolver {
public:
  void lookup(const LookupSet &symbols, OnResolvedFunction resolved) override {
    for (llvm::StringRef symbol : symbols)
      missing += (missing.empty() ? "'" : ", '") + symbol.str() + "'";
    resolved(llvm::createStringError("symbols from outside"));
  }
  llvm::Expected<LookupSet> getResponsibilitySet(const LookupSet &) override { return LookupSet(); }

  std::string missing;
};

} // namespace

/// One mapping for all sections: code reaches its constants with 32-bit displacements.
struct HostCode::Memory {
  llvm::SectionMemoryManager sections{/*MM=*/nullptr, /*ReserveAlloc=*/true};
};

HostCode::HostCode(std::unique_ptr<Memory> memory, HostEntry function)
    : memory(std::move(memory)), function(function) {}
HostCode::~HostCode() = default;

llvm::Expected<std::shared_ptr<HostCode>> HostCode::load(llvm::StringRef bytes, const std::string &entry) {
  auto failure = [&](const std::string &what) {
    return internalError("the machine code of kernel '" + entry + "' " + what);
  };
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, entry));
  if (!object)
    return failure("is no valid ELF object: " + llvm::toString(object.takeError()));

  auto memory = std::make_unique<Memory>();
  NothingOutside outside;
  llvm::RuntimeDyld linker(memory->sections, outside);
  std::unique_ptr<llvm::RuntimeDyld::LoadedObjectInfo> loaded = linker.loadObject(**object);
  if (loaded && !linker.hasError())
    linker.resolveRelocations();
  if (!outside.missing.empty())
    return failure("needs " + outside.missing + ", which it does not define");
  if (!loaded || linker.hasError())
    return failure("cannot be linked: " + linker.getErrorString().str());

  llvm::JITEvaluatedSymbol symbol = linker.getSymbol(entry);
  if (!symbol.getAddress())
    return failure("does not define it");
  std::string error;
  if (memory->sections.finalizeMemory(&error))
    return deviceError("the system refused to make the code of kernel '" + entry + "' executable: " + error);
  auto function = reinterpret_cast<HostEntry>(static_cast<uintptr_t>(symbol.getAddress()));
  return std::shared_ptr<HostCode>(new HostCode(std::move(memory), function));
}

} // namespace sectile
