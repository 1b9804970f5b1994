// One role of a kernel, run on paper: what it does with rings, and with products in flight.
//
// Rings count iterations from 0, one after another, so each has a record of who did what to which:
//
//     acquire -> copy_bulk -> wait_full -> reads, products -> release       and iteration i + stages after i's release
//
// What is not known is chosen so that all is well as long as it can be: an index is the one that comes next, a loop
// whose trips are not known takes five passes, a condition is true.
#pragma once

#include "compiler/ir/Block.h"
#include "compiler/transforms/PaperScalars.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include <deque>

namespace sectile {

/// How errors go out: each operation is at fault once, however many passes find it.
class Faults {
public:
  void operator()(mlir::Operation *op, const llvm::Twine &message, mlir::Operation *other = nullptr,
                  llvm::StringRef note = "") {
    if (!reported.insert(op).second)
      return;
    mlir::InFlightDiagnostic error = op->emitOpError(message);
    if (other)
      error.attachNote(other->getLoc()) << note;
  }
  bool none() const { return reported.empty(); }

private:
  llvm::SmallPtrSet<mlir::Operation *, 4> reported;
};

/// What a role did for one iteration of a ring.
struct Iteration {
  mlir::Operation *acquired = nullptr, *copied = nullptr, *full = nullptr, *released = nullptr;
};

/// What a role did with one ring. Each step is given its iteration, and refused when it cannot be right.
struct RingRecord {
  std::deque<Iteration> iterations; ///< from 0 on
  int64_t acquired = 0, full = 0;   ///< how many were
  bool isWrong = false;             ///< was refused: nothing more is said of this ring

  void acquire(ir::AcquireOp op, int64_t index, Faults &refuse);
  void copy(ir::CopyBulkOp op, int64_t index, Faults &refuse);
  void waitFull(ir::WaitFullOp op, int64_t index, Faults &refuse);
  void release(ir::ReleaseOp op, int64_t index, Faults &refuse);
  void finish(Faults &refuse);

  Iteration &operator[](int64_t index) {
    if (index >= static_cast<int64_t>(iterations.size()))
      iterations.resize(index + 1);
    return iterations[index];
  }

private:
  /// That iteration `index` can come: the one before it in the same stage is not held by this role.
  bool canCome(mlir::Operation *op, int64_t stages, int64_t index, llvm::StringRef what, Faults &refuse);
  void wrong(Faults &refuse, mlir::Operation *op, const llvm::Twine &message, mlir::Operation *other,
             llvm::StringRef note) {
    isWrong = true;
    refuse(op, message, other, note);
  }
};

struct Role {
  llvm::StringRef name;
  llvm::MapVector<mlir::Value, RingRecord> rings;
  bool isGuessed = false; ///< the number of its iterations
};

/// Runs the body of a kernel. Roles come on top of the one that all warps have; what is wrong is refused.
std::deque<Role> runOnPaper(ir::BlockKernelOp kernel, Faults &refuse);

} // namespace sectile
