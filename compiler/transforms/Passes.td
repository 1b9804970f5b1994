// The passes over the tile dialect and the block dialect, alphabetical.
#ifndef SECTILE_TRANSFORMS_PASSES_TD
#define SECTILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def AssignLayouts : Pass<"sectile-assign-layouts", "::mlir::ModuleOp"> {
  let summary = "tile.kernel becomes block.kernel, every tensor gets a layout";
  let description = [{
    From the matrix products outward: accumulators lie in the registers of mma.sync, warps along m; what meets them takes
    their layout, row statistics its slices. The rest is blocked, in vectors as wide as loads and stores allow. Constants,
    indices and masks are made anew in each layout; other tensors are converted where that is cheapest: outside of loops,
    before they are stretched or widened; and for a store, when lanes of a warp can trade what they hold for vectors of 16
    bytes. Every tile program gets layouts.

    Products of f16, of bf16 (from sm_80 on), of f8 with any of them, and of f32 (as tf32, from sm_80 on) use matrix
    instructions, others `fma`. On AMD's GPUs f16, bf16 and f8 do.
  }];
  let options = [
    Option<"warps", "warps", "int32_t", "4", "of the thread block: a power of two up to 32">,
    Option<"sm", "sm", "int32_t", "80", "the compute capability, 75 or more">,
    Option<"wgmma", "wgmma", "bool", "false", "whether products that can are computed by wgmma: all of a kernel or none">,
    Option<"amd", "amd", "std::string", [{""}], "AMD's matrix unit: mfma, wmma11 or wmma12; none: NVIDIA's">];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

def CheckLayouts : Pass<"sectile-check-layouts"> {
  let summary = "layouts of operands and results agree";
  let description = [{
    The table at the head of Block.td, which no operation can verify by itself as long as tile operations do not know of
    layouts. Changes nothing.
  }];
}

def CheckRings : Pass<"sectile-check-rings"> {
  let summary = "rings that are handed to and fro do not stop, and no stage is read after it was given back";
  let description = [{
    Runs each role of a kernel on paper and finds: iterations that do not count from 0 one by one; copies into a stage that
    was not acquired, or twice; stages that are acquired and not filled, waited for and not released, released twice,
    without having been waited for, or before a product in flight has read them; reads after the release; waits that
    cannot end because the stage is still held; products that are waited for twice, never, or with too many pending;
    accumulators in use meanwhile; roles that differ in the number of iterations; rings that two fill, or nobody; scratch
    memory in roles. What is not known is chosen in the kernel's favour: what cannot be decided passes. Changes nothing.
  }];
}

def CheckShared : Pass<"sectile-check-shared"> {
  let summary = "nobody reads shared memory too early or overwrites it too early";
  let description = [{
    Finds reads of a copy without a wait for its group, or of anything without a barrier after it was stored, and buffers
    that are filled again before a barrier has come after their readers; each with both operations. Follows slots of
    rings as far as they are constants around a loop; what cannot be decided passes. Changes nothing.
  }];
}

def DeferSums : Pass<"sectile-defer-sums"> {
  let summary = "row sums of a loop are added up across threads after it";
  let description = [{
    A loop that carries l, one number a row, as

      l' = l * f + reduce sum x              (or without the factor f, one number a row, too)

    and does not use it otherwise, carries `parts` numbers a row instead: what each of the threads that share a row has
    summed. They add up once, after the loop, instead of in every pass.
  }];
  let options = [Option<"parts", "parts", "int32_t", "4", "of a row: as many as lanes share one in an accumulator">];
  let dependentDialects = ["::sectile::ir::TileDialect", "::mlir::arith::ArithDialect"];
}

def FuseAccumulator : Pass<"sectile-fuse-accumulator"> {
  let summary = "x + dot(a, b, 0) becomes dot(a, b, x)";
  let description = [{
    Matrix units and register-blocked loops add to an accumulator for free. Only a product whose accumulator is zero
    and whose single use is the addition is rewritten, and only when x is what a loop carries, or that times something: a
    sum of products, too. An x that is far larger than the product would cost its accuracy.
  }];
  let dependentDialects = ["::sectile::ir::TileDialect"];
}

def GuardMasks : Pass<"sectile-guard-masks"> {
  let summary = "tiles that need no mask pay for none";
  let description = [{
    `select(mask, x, padding)` with a mask of comparisons between affine i32 tiles becomes

      scf.if (the mask holds for every element) { x } else { select(mask, x, padding) }

    where the condition compares the smallest and largest element of each side, as scalars. Conjuncts whose range is not
    known stay in a plain select around it. In attention, only blocks on the diagonal, at a window's edges and at
    the end of the keys evaluate their mask.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def MakePersistent : Pass<"sectile-make-persistent"> {
  let summary = "thread blocks stay, and run one program after another";
  let description = [{
    What each role does becomes the body of a loop over programs. Rings go on where the program before has left them, so
    that a producer copies for the next program while the consumer ends this one. A kernel without roles stays as it is.
  }];
  let options = [Option<"chunk", "chunk", "int32_t", "1", "programs that a block takes at a time">];
  let dependentDialects = ["::sectile::ir::BlockDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def PeelFirst : Pass<"sectile-peel-first"> {
  let summary = "the first pass of a loop of matrix products stands before it";
  let description = [{
      for i = a to b step s            if a < b { pass a; for i = a + s to b step s } else { the initial values }

    What holds after a first pass can be relied on in the loop then, and what is different in it costs nothing there.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

def PipelineLoads : Pass<"sectile-pipeline-loads"> {
  let summary = "a loop's asynchronous copies run ahead, in rings";
  let description = [{
    In a loop whose copies have indices that depend on the induction variable alone, the copies of the next `stages - 1`
    iterations are under way while one is computed. With one stage a buffer is filled again while the next one is in use.
    Each copy is a group of its own, so that one is waited for while the others are still coming.
    Other copies stay as they are.
  }];
  let options = [Option<"stages", "stages", "int32_t", "2", "of a ring; 1: no ring">];
  let dependentDialects = ["::sectile::ir::BlockDialect", "::mlir::arith::ArithDialect"];
}

def PlanShared : Pass<"sectile-plan-shared"> {
  let summary = "offsets in shared memory, by liveness";
  let description = [{
    Buffers (`offset` of block.alloc) and scratch memory (`block.scratch`) that do not live at the same time share
    memory, with a barrier before a buffer that takes over. The kernel gets `shared_bytes`; one that needs more than
    `limit` is refused with the sizes of all that it consists of.
  }];
  let options = [Option<"limit", "limit", "int64_t", "0", "bytes a block may have; 0: any number">];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

def PrefetchLoads : Pass<"sectile-prefetch-loads"> {
  let summary = "what a loop's next pass writes to shared memory first is loaded ahead, in registers";
  let description = [{
    For loads without asynchronous copies (before sm_80, unaligned arrays): those of inputs, with indices that depend on
    the induction variable alone, that the first product of a pass waits for. The tile takes its registers all
    through the loop.
  }];
  let dependentDialects = ["::sectile::ir::BlockDialect", "::mlir::arith::ArithDialect"];
}

def PipelineProducts : Pass<"sectile-pipeline-products"> {
  let summary = "a loop's last product runs beside what comes before the next one";
  let description = [{
    A product in flight at the end of a loop's body, whose result goes around the loop as the accumulator, is begun in the
    next iteration, after the products that come first there, and once more after the loop. Its operand from registers
    goes around in its place. The same product of the iteration before the loop, which was peeled, makes the loop's
    first one.
  }];
  let dependentDialects = ["::sectile::ir::BlockDialect", "::mlir::arith::ArithDialect"];
}

def PlaceWaits : Pass<"sectile-place-waits"> {
  let summary = "products in flight are waited for as late as they may be";
  let description = [{
    Just before the first use of the result. Where that is in a branch which some warps take alone and the other way
    only passes the result on, both ways: the branch hands on a token. What makes the operand of the next iteration's
    product comes after the waits, and takes the registers of this one's. Stages are released when their last reader is
    done.
  }];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

def SpecializeWarps : Pass<"sectile-specialize-warps"> {
  let summary = "four more warps fill the rings";
  let description = [{
    A kernel with bulk copies becomes a `block.specialize` of two roles: the consumer has the kernel's warps and does all
    but the copies; the producer has the copies, and of loops, branches and scalars what they need.
  }];
  let options = [
    Option<"registers", "registers", "int32_t", "240", "of a consumer's thread">,
    Option<"producerRegisters", "producer-registers", "int32_t", "24", "of a producer's thread">];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

def StageOperands : Pass<"sectile-stage-operands"> {
  let summary = "operands of matrix products go through shared memory";
  let description = [{
    A conversion to the layout of an operand becomes a buffer that is written, or filled by an asynchronous copy, and
    read as fragments. Copies need a load of nothing but zeros outside of the view, of an input with `tile.unit_stride`
    and `tile.aligned16`, in whole chunks of 16 bytes; other operands are loaded to registers and written, which
    any strides and types allow. What is made outside of a loop is staged once.
  }];
  let options = [
    Option<"asyncCopies", "async-copies", "bool", "true", "whether there is cp.async (from sm_80 on)">,
    Option<"operandRegisters", "operand-registers", "int32_t", "32",
           "an operand from outside of a loop that takes at most so many registers of a thread is read outside of it">];
  let dependentDialects = ["::sectile::ir::BlockDialect"];
}

def StageRings : Pass<"sectile-stage-rings"> {
  let summary = "operands of wgmma come through rings that TMA fills";
  let description = [{
    A load that `block.dot wgmma` reads becomes acquire, copy and wait of a ring's next iteration where it was, and a
    release after its last reader; the product becomes one in flight that is waited for at once. Loads of one view that
    come one after another share a ring: those of a loop and of the iteration that was peeled. Products by mma.sync read
    fragments of the same stages. One role does all: sectile-specialize-warps makes the copies run ahead.
  }];
  let options = [Option<"stages", "stages", "int32_t", "2", "of a ring that a loop goes through; others have one">,
                 Option<"sharedForTwo", "shared-for-two", "int64_t", "0", "bytes; others have two where all fit">];
  let dependentDialects = ["::sectile::ir::BlockDialect", "::mlir::arith::ArithDialect"];
}

def StaleMaximum : Pass<"sectile-stale-maximum"> {
  let summary = "a running maximum that only keeps exponentials in range is raised only when they leave it";
  let description = [{
    A softmax is the same whatever number is subtracted from a row's scores: the running maximum m of

      m' = max(m, reduce max y),  P = exp2(y - m'),  alpha = exp2(m - m'),  l' = l * alpha + reduce sum P, …

    has but to keep P in range. In a loop that follows on a peeled first pass, P is computed with the m of the passes
    before, without a maximum, without alpha, without what alpha scales. Then it is asked whether that was good enough:

      need = any(row sums > 2^10 or NaN, or no m yet)

    and where it was not, that pass is computed again as it stands, from the products on. So the result is right for all
    scores; a row sum of 2^10 bounds P for weights of 16 bits. Loops that do not have this form stay as they are, with a
    remark that says why.
  }];
  let options = [Option<"limit", "limit", "int32_t", "10", "log2 of the row sums, or of parts of them, that are good enough">];
  let dependentDialects = ["::sectile::ir::TileDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect"];
}

#endif // SECTILE_TRANSFORMS_PASSES_TD
