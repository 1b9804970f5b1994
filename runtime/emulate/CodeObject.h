// A code object for amdgcn-amd-amdhsa, loaded: its segments, its kernels and its instructions as they are decoded.
#pragma once

#include "runtime/emulate/WaveInstruction.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Memory.h"

#include <memory>

namespace sectile::emulate {

class Decoder;

enum class Generation : uint8_t { gfx90a, gfx940, gfx950, gfx11, gfx12 };

/// What a kernel descriptor says.
struct KernelDescriptor {
  uint64_t entry = 0; ///< address in this process
  uint32_t ldsSize = 0, privateSize = 0, kernargSize = 0;
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint16_t properties = 0, preload = 0;
  bool wave32 = false;
};

class CodeObject {
public:
  struct Segment {
    uint64_t begin, end; ///< addresses in this process
    bool writable, executable;
  };

  static llvm::Expected<std::shared_ptr<const CodeObject>> load(llvm::StringRef elf);
  ~CodeObject();

  llvm::StringRef processor() const { return processorName; } ///< such as gfx942
  Generation generation() const { return gen; }
  const llvm::StringMap<KernelDescriptor> &kernels() const { return kernelsByName; }
  llvm::ArrayRef<Segment> segments() const { return loaded; }

  /// The instruction at an address, or none with the reason.
  const WaveInstruction *at(uint64_t address, std::string &whyNot) const;

private:
  CodeObject() = default;
  std::string processorName;
  Generation gen = Generation::gfx90a;
  llvm::StringMap<KernelDescriptor> kernelsByName;
  std::vector<Segment> loaded;
  llvm::sys::OwningMemoryBlock memory;
  std::unique_ptr<Decoder> decoder;
};

} // namespace sectile::emulate
