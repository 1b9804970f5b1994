// LLVM's disassembler finds the instruction; its printed operands, which name every modifier, become an
// WaveInstruction.
#pragma once

#include "runtime/emulate/CodeObject.h"

#include "llvm/ADT/ArrayRef.h"

#include <atomic>
#include <mutex>

namespace sectile::emulate {

class Decoder {
public:
  /// For the instructions in [begin, end), of which each is decoded when it is first executed.
  static llvm::Expected<std::unique_ptr<Decoder>> create(llvm::StringRef processor, Generation generation,
                                                         uint64_t begin, uint64_t end);
  ~Decoder();

  /// None, with the reason, outside of the code, for bytes that are no instruction and for what the emulator lacks.
  const WaveInstruction *at(uint64_t address, std::string &whyNot) {
    if (address < begin || address >= end || address % 4)
      return whyNot = "there is no code at this address", nullptr;
    if (const WaveInstruction *known = slots[(address - begin) / 4].load(std::memory_order_acquire))
      return known;
    return decode(address, whyNot);
  }

private:
  struct Llvm;
  Decoder(uint64_t begin, uint64_t end, Generation generation);
  const WaveInstruction *decode(uint64_t address, std::string &whyNot);

  const uint64_t begin, end;
  const Generation generation;
  std::unique_ptr<std::atomic<const WaveInstruction *>[]> slots;
  std::mutex mutex; ///< of what follows
  std::unique_ptr<Llvm> llvm;
  std::vector<std::unique_ptr<WaveInstruction>> instructions;
  std::vector<std::unique_ptr<Dpp>> permutations;
};

/// What parses the text of one instruction (without its prefix "v_dual_" and what follows "::").
/// Returns the reason when it does not know a part of it.
std::string parseInstruction(llvm::StringRef text, Generation generation, WaveInstruction &result,
                             std::vector<std::unique_ptr<Dpp>> &permutations);

/// What a memory mnemonic moves; false: it is none.
bool parseAccess(llvm::StringRef mnemonic, Access &access);

} // namespace sectile::emulate
