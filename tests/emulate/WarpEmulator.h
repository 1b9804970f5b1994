// Runs the llvm stage of an NVIDIA kernel on the host: every thread of a block is a fiber, and what the machine has
// instructions for (mma.sync, ldmatrix, shfl, cp.async, barriers …) is done by functions below, written from the PTX
// manual and not from our own headers. Threads meet at the instructions of a warp as they do on the machine.
//
// It shows that code computes the right thing, on machines without a GPU; not that it is fast. A barrier or a wait that
// is missing shows as a wrong result, more often than on the machine: between two barriers warps run one after another,
// in an order that changes each time, and so do lanes between two instructions of the warp; asynchronous copies arrive
// when they are waited for and not before. All of it is the same in every run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sectile::emulate {

class BlockProgram {
public:
  /// Of the llvm stage with one kernel. Throws InternalError when it has an instruction that is not known.
  explicit BlockProgram(const std::string &llvmStage);
  ~BlockProgram();
  BlockProgram(BlockProgram &&) noexcept;

  /// Runs all blocks of a launch, one after another. `words`: the kernel's parameter, the grid's x, y, z last. Throws
  /// InternalError when an instruction is used as it must not be: a row of ldmatrix or a vector that is not aligned,
  /// threads that end while others wait for them.
  void launch(int64_t blocks, const std::vector<int64_t> &words) const;

  struct Impl;

private:
  std::unique_ptr<Impl> impl;
};

} // namespace sectile::emulate
