// Runs the llvm stage of an NVIDIA kernel on the host: every thread of a block is a fiber, and what the machine has
// instructions for (mma.sync, wgmma, ldmatrix, shfl, cp.async, TMA, barriers …) is done by functions of this folder,
// written from the PTX manual and not from our own headers. Threads meet at the instructions of a warp, and warps at
// those of four of them, as they do on the machine.
//
// It shows that code computes the right thing, on machines without a GPU; not that it is fast. A barrier or a wait that
// is missing shows as a wrong result or an error, more often than on the machine: until they wait for each other, warps
// run one after another, in an order that changes each time, and so do lanes between two instructions of the warp;
// what is asynchronous happens as late as it may (Block.h). All of it is the same in every run.
//
//     Block        the threads, and what they wait for          HostCode, ProductUses   from LLVM IR to calls of
//     Mbarrier     barriers in memory                           BlockInstructions,      instructions by name,
//     BulkCopy     copies by TMA                                Instructions, Assembly  and as inline assembly
//     Wgmma        one product of a group of four warps
//     Products     those that are in flight
#pragma once

#include "sectile/Session.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sectile::warps {

class HostCode;

class BlockProgram {
public:
  /// Of the llvm stage with one kernel. Throws InternalError when it has an instruction that is not known.
  explicit BlockProgram(const std::string &llvmStage);
  ~BlockProgram();
  BlockProgram(BlockProgram &&) noexcept;

  /// Runs all blocks of a launch, one after another. Throws InternalError when an instruction is used as it must not
  /// be, such as a row of ldmatrix that is not aligned, or a write to what a product still reads; and when no thread
  /// can go on, with what each of them waits for.
  void launch(std::span<const Argument> arguments, Grid grid) const;
  /// The same for kernels without tensor maps. `words`: the kernel's parameter, the grid's x, y, z last.
  void launch(int64_t blocks, const std::vector<int64_t> &words) const;

private:
  void runBlocks(int64_t blocks, const void *parameter) const;
  std::unique_ptr<HostCode> code;
};

} // namespace sectile::warps
