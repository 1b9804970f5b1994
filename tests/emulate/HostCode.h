// The llvm stage of a kernel as code of the host, in which each instruction of the machine is a call.
#pragma once

#include "tests/emulate/Block.h"

#include <deque>
#include <memory>

namespace sectile::warps {

/// A tensor map that the kernel's parameter begins with: of which argument, and how a box of it lies.
struct TensorMapRequest {
  uint32_t argument, rows, columns, swizzle;
};

class HostCode {
public:
  /// Of the llvm stage with one kernel. Throws InternalError when it has an instruction that is not known.
  explicit HostCode(const std::string &llvmStage);
  ~HostCode();

  int threads() const { return threadCount; }
  uint32_t sharedBytes() const { return sharedSize; }
  /// Of a thread at launch; 0: as many as there are.
  uint32_t registers() const { return registerCount; }
  /// Whether blocks run one program after another.
  bool isPersistent() const { return persistent; }
  const std::vector<TensorMapRequest> &tensorMaps() const { return maps; }
  char *shared() const { return memory.get(); }
  /// Whose threads call run(): one block at a time.
  void setBlock(Block *running) { block = running; }
  /// The kernel, in one thread. `parameter`: the words that the kernel gets.
  void run(const void *parameter) const { entry(parameter); }

private:
  class Builder;
  static void execute(void *code, int32_t instruction, const uint32_t *in, uint32_t *out);
  static uint32_t resolve(void *code, uint32_t bits);

  struct Jit;
  std::unique_ptr<Jit> jit;
  struct Free {
    void operator()(char *memory) const;
  };
  std::unique_ptr<char, Free> memory; ///< shared memory
  std::deque<Instruction> instructions;
  std::vector<TensorMapRequest> maps;
  bool persistent = false;
  int threadCount = 0;
  uint32_t sharedSize = 0, registerCount = 0;
  Block *block = nullptr;
  void (*entry)(const void *parameter) = nullptr;
};

} // namespace sectile::warps
