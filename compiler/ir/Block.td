// The block dialect: how one thread block computes a kernel. Its tensors have layouts (which thread holds which element
// in which register), its shared memory is explicit, and so are asynchronous copies and barriers. Arithmetic is still
// arith and math, control flow scf, and what moves no data between threads keeps the tile dialect's operations:
// splat, iota, broadcast, reshape, transpose, reduce, any, cast, extract, dim, program, load, store, atomic_add. In it
//
//   operation        layouts (of compiler/ir/Layout.h)
//   arith, math, select, cast, for, if    one layout of operands and results
//   reduce           result: the source's, reduced along the axis; across warps it takes scratch memory
//   any              any; each warp looks at what it holds, so one may be alone in a branch on it
//   broadcast        source: the result's, sliced along the stretched dimensions
//   transpose        result: the source's, transposed
//   reshape          any two; it moves nothing when the result's is the source's, reshaped; else it takes scratch memory
//   extract          the source is held by every thread: no bit moves anything
//   load, iota, splat, constant           any
//   store, atomic_add                     any; of several holders of an element one writes
//
// Scratch memory: see compiler/analysis/Scratch.h. sectile-check-layouts verifies the table.
#ifndef SECTILE_IR_BLOCK_TD
#define SECTILE_IR_BLOCK_TD

include "compiler/ir/TileTypes.td"
include "mlir/IR/TensorEncoding.td"

def Block_Dialect : Dialect {
  let name = "block";
  let cppNamespace = "::sectile::ir";
  let summary = "How a thread block computes a kernel";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::sectile::ir::TileDialect"];
}

//===-- layouts and shared memory ------------------------------------------------------------------------------------===//

def Block_LayoutAttr : AttrDef<Block_Dialect, "Layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>, DeclareAttrInterfaceMethods<OpAsmAttrInterface, ["getAlias"]>]> {
  let mnemonic = "layout";
  let summary = "which thread of the block holds which element of a tensor";
  let description = [{
    The encoding of a tensor: the bases of the atom of a `Layout` (compiler/ir/Layout.h), a list of coordinates for each
    bit of the register, the lane and the warp. The shape that the atom is repeated over is the tensor's.

    Example: `tensor<64x128xf32, #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0],
    [4, 0]], warp = [[16, 0], [32, 0]]>>` is the accumulator of a matrix product in four warps.
  }];
  // Coordinates one after another, `rank` for each basis.
  let parameters = (ins "int64_t":$rank, ArrayRefParameter<"int64_t">:$registers, ArrayRefParameter<"int64_t">:$lanes,
                        ArrayRefParameter<"int64_t">:$warps);
  let hasCustomAssemblyFormat = 1;
  let skipDefaultBuilders = 1;
  let builders = [AttrBuilder<(ins "const ::sectile::ir::Layout &":$layout)>];
  let extraClassDeclaration = [{
    /// How many warps hold tensors of this layout.
    int64_t warpCount() const { return int64_t{1} << (getWarps().size() / getRank()); }
    /// How many lanes a warp has.
    int64_t laneCount() const { return int64_t{1} << (getLanes().size() / getRank()); }
    /// Of a tensor with this shape, which verifyEncoding() has accepted.
    ::sectile::ir::Layout over(::llvm::ArrayRef<int64_t> shape) const;
  }];
}

def Block_Tensor : RankedTensorOf<[F32, F16, BF16, F8E4M3FN, F8E5M2, I32, I1], [
    CPred<"::sectile::ir::isTileShape(::llvm::cast<::mlir::ShapedType>($_self).getShape())">,
    CPred<"::llvm::isa_and_nonnull<::sectile::ir::LayoutAttr>("
          "::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">],
    "tile with a layout">;

def Block_SharedType : TypeDef<Block_Dialect, "Shared"> {
  let mnemonic = "shared";
  let summary = "a buffer in the block's shared memory";
  let description = [{
    `!block.shared<64x128xbf16, step = 1, span = 8>`: rows one after another, whose chunks of `unit` bytes (16 when left
    out) are permuted: see compiler/ir/Swizzle.h. Without `step` and `span` nothing is permuted. i1 takes a byte.
    Three dimensions make a ring: the first counts its stages.

    `panel = 64`: panels of 64 columns lie one after another, each with all rows. The hardware of sm_90 swizzles rows of
    up to 128 bytes, so that wider tiles come in panels: `!block.shared<128x128xbf16, step = 1, span = 8, panel = 64>`.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$step,
                        "int64_t":$span, "int64_t":$unit, "int64_t":$panel);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType,
                                                      "const ::sectile::ir::Swizzle &":$swizzle)>];
  let extraClassDeclaration = [{
    bool isRing() const { return getShape().size() == 3; }
    int64_t getStages() const { return isRing() ? getShape().front() : 1; }
    /// Of one stage.
    int64_t getRows() const { return getShape().drop_back().back(); }
    int64_t getColumns() const { return getShape().back(); }
    int64_t elementBytes() const { return (getElementType().getIntOrFloatBitWidth() + 7) / 8; }
    int64_t stageBytes() const { return getRows() * getColumns() * elementBytes(); }
    int64_t bytes() const { return getStages() * stageBytes(); }
    bool hasPanels() const { return getPanel() != getColumns(); }
    int64_t panelBytes() const { return getRows() * getPanel() * elementBytes(); } ///< without panels, of a stage
    /// Of the rows of a panel; without panels, of the rows.
    ::sectile::ir::Swizzle swizzle() const;
    /// The bytes of a row, when TMA and wgmma know the swizzle: 128, 64 or 32. 0: nothing is permuted.
    std::optional<int64_t> hardwareSwizzle() const;
    SharedType stage() const; ///< one stage of a ring
    SharedType ring(int64_t stages) const;
  }];
}

def Block_SharedMemory : Resource<"::sectile::ir::SharedMemory">;

//===-- kernel -------------------------------------------------------------------------------------------------------===//

class Block_Op<string mnemonic, list<Trait> traits = []> : Op<Block_Dialect, mnemonic, traits>;

def Block_BlockKernelOp : Block_Op<"kernel", [IsolatedFromAbove, FunctionOpInterface, OpAsmOpInterface, SingleBlock]> {
  let summary = "a kernel: the program of one thread block";
  let description = [{
    Arguments and their attributes as in `tile.kernel`. `warps` of 32 threads, or of `lanes = 64`, run it together; every
    tensor in it has a layout for so many. All threads take the same way: conditions and loop bounds are scalars, equal
    in all of them. `shared_bytes`: the shared memory that it takes, once planned.

    Example, four warps that copy 128 numbers through shared memory:
    ```mlir
    #flat = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [64]]>
    #row = #block.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], warp = [[0, 32], [0, 64]]>
    block.kernel @copy(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) attributes {warps = 4 : i32} {
      %p = tile.program 0
      %c128 = arith.constant 128 : i32
      %i = arith.muli %p, %c128 : i32
      %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<128xf32, #flat>
      %r = tile.reshape %t : tensor<128xf32, #flat> -> tensor<1x128xf32, #row>
      %buffer = block.alloc : !block.shared<1x128xf32>
      block.write %r -> %buffer : tensor<1x128xf32, #row> -> !block.shared<1x128xf32>
      block.barrier
      %s = block.read %buffer : !block.shared<1x128xf32> -> tensor<1x128xf32, #row>
      %u = tile.reshape %s : tensor<1x128xf32, #row> -> tensor<128xf32, #flat>
      tile.store %u, %y[%i] : tensor<128xf32, #flat>, !tile.view<1xf32>
      block.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                   OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs, I32Attr:$warps,
                   OptionalAttr<I64Attr>:$shared_bytes, DefaultValuedOptionalAttr<I32Attr, "32">:$lanes);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Block_BlockReturnOp : Block_Op<"return", [Pure, Terminator, HasParent<"BlockKernelOp">]> {
  let summary = "the end of a kernel";
  let description = [{
    Example: `block.return`
  }];
  let assemblyFormat = "attr-dict";
}

// A kernel with the attribute `persistent` is launched with fewer thread blocks than its grid has programs, each of which
// runs one program after another: those with the numbers worker, worker + workers, worker + 2 workers, … or the same of
// chunks of programs. The attribute's number is that of the loops around a program.

class Block_LaunchOp<string mnemonic> : Block_Op<mnemonic, [Pure]> {
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, $_builder.getI32Type()); }]>];
}

def Block_WorkerOp : Block_LaunchOp<"worker"> {
  let summary = "the number of this thread block among those of the launch";
  let description = [{
    Example: `%w = block.worker`
  }];
}

def Block_WorkersOp : Block_LaunchOp<"workers"> {
  let summary = "how many thread blocks the launch has";
  let description = [{
    Example: `%n = block.workers`
  }];
}

def Block_ProgramsOp : Block_LaunchOp<"programs"> {
  let summary = "how many programs the grid has";
  let description = [{
    Example: `%n = block.programs`
  }];
}

def Block_ProgramIndexOp : Block_Op<"program_index", [Pure]> {
  let summary = "the index of the program with this number along a grid axis";
  let description = [{
    Programs are numbered along axis 0 first, then 1, then 2.

    Example: `%row = block.program_index %t axis 0`
  }];
  let arguments = (ins I32:$program, I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$program `axis` $axis attr-dict";
  let builders = [OpBuilder<(ins "::mlir::Value":$program, "uint32_t":$axis), [{
    build($_builder, $_state, $_builder.getI32Type(), program, axis);
  }]>];
}

//===-- tensors ------------------------------------------------------------------------------------------------------===//

def Block_ConvertOp : Block_Op<"convert", [Pure]> {
  let summary = "the same tensor in another layout";
  let description = [{
    Free, within threads, by shuffles or through shared memory: conversion() in compiler/ir/LayoutConversion.h tells.
    In the last case it takes scratch memory (compiler/analysis/Scratch.h), and no thread may pass it alone.

    Example: `%p = block.convert %s : tensor<64x64xbf16, #accumulator> -> tensor<64x64xbf16, #operandA>`
  }];
  let arguments = (ins Block_Tensor:$source);
  let results = (outs Block_Tensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Block_DotKind : I32EnumAttr<"DotKind", "what multiplies", [
  I32EnumAttrCase<"mma", 0>, I32EnumAttrCase<"fma", 1>, I32EnumAttrCase<"wgmma", 2>, I32EnumAttrCase<"mfma", 3>,
  I32EnumAttrCase<"wmma", 4>]> {
  let cppNamespace = "::sectile::ir";
}

def Block_BlockDotOp : Block_Op<"dot", [AlwaysSpeculatable, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                        AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "matrix product plus accumulator: [m,k] x [k,n] + [m,n]";
  let description = [{
    `mma`: by matrix instructions. The accumulator has the layout mmaAccumulator of compiler/ir/Fragments.h, the
    operands, of one type, mmaOperandA and mmaOperandB of the same warps, with k of 256 bits (instructions with half of
    that take the same registers). f32 is multiplied as three products of tf32.

    `mfma`, `wmma`: by those of AMD's CDNA and RDNA. The accumulator has the layout amdAccumulator of
    compiler/ir/AmdFragments.h, which tells RDNA3 from RDNA4; the operands, both f16 or both bf16, are amdOperandA and
    amdOperandB of the same warps and of one order of k.

    `fma`: by scalar instructions. Operands are two tensors of any layout, or, once staged, two buffers in shared memory
    of shapes [m,k] and [k,n]; with `transposed_a` and `transposed_b` the buffers hold the transposes.

    `wgmma`: what sectile-stage-rings makes a `block.dot_async` of. The accumulator has the layout wgmmaAccumulator; B is
    a tile that TMA brings, in any layout, or its transpose; A is another one, or has the layout wgmmaOperandA.

    Columns of k past the shape count as 0; their registers are undefined.

    Example: `%r = block.dot mma %p, %v, %acc : tensor<64x64xbf16, #a>, tensor<64x128xbf16, #b>, tensor<64x128xf32, #c>`
  }];
  let arguments = (ins Block_DotKind:$kind, AnyTypeOf<[Block_Tensor, Block_SharedType]>:$a,
                   AnyTypeOf<[Block_Tensor, Block_SharedType]>:$b, Block_Tensor:$accumulator,
                   UnitAttr:$transposed_a, UnitAttr:$transposed_b);
  let results = (outs Block_Tensor:$result);
  let assemblyFormat = "$kind $a `,` $b `,` $accumulator attr-dict `:` type($a) `,` type($b) `,` type($accumulator)";
  let hasVerifier = 1;
}

//===-- shared memory ------------------------------------------------------------------------------------------------===//

def Block_AllocOp : Block_Op<"alloc"> {
  let summary = "a buffer in shared memory";
  let description = [{
    Its contents are undefined. `offset`, once planned: where it begins in the block's shared memory, in bytes. Buffers
    may overlap when one is dead before the other is first written, with a barrier between. `barriers`, once planned:
    where those of a ring that is handed to and fro begin, 8 bytes each, that which tells that it is full for each stage,
    then that which tells that it is empty.

    Example: `%ring = block.alloc : !block.shared<3x64x128xbf16, step = 1, span = 8>`
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers);
  let results = (outs Res<Block_SharedType, "", [MemAlloc<Block_SharedMemory>]>:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::IntegerAttr":$offset), [{
    build($_builder, $_state, type, offset, ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Block_StageOp : Block_Op<"stage", [Pure]> {
  let summary = "one stage of a ring";
  let description = [{
    Example: `%k = block.stage %ring[%slot] : !block.shared<3x64x128xbf16> -> !block.shared<64x128xbf16>`
  }];
  let arguments = (ins Block_SharedType:$ring, I32:$index);
  let results = (outs Block_SharedType:$result);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($result)";
  let hasVerifier = 1;
}

def Block_WriteOp : Block_Op<"write", [MemoryEffects<[MemWrite<Block_SharedMemory>]>]> {
  let summary = "writes a tensor to shared memory";
  let description = [{
    Every thread writes what it holds. Others may read it after a barrier.

    Example: `block.write %v -> %buffer : tensor<64x128xf16, #layout> -> !block.shared<64x128xf16>`
  }];
  let arguments = (ins Block_Tensor:$value, Block_SharedType:$buffer);
  let assemblyFormat = "$value `->` $buffer attr-dict `:` type($value) `->` type($buffer)";
  let hasVerifier = 1;
}

def Block_ReadOp : Block_Op<"read", [MemoryEffects<[MemRead<Block_SharedMemory>]>]> {
  let summary = "reads a tensor from shared memory";
  let description = [{
    `transposed`: the tensor is the transpose of the buffer. By ldmatrix where the result is a fragment.

    Example: `%kt = block.read %k transposed : !block.shared<64x128xbf16> -> tensor<128x64xbf16, #operandB>`
  }];
  let arguments = (ins Block_SharedType:$buffer, UnitAttr:$transposed);
  let results = (outs Block_Tensor:$result);
  let assemblyFormat = "$buffer (`transposed` $transposed^)? attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

//===-- asynchronous copies and barriers -----------------------------------------------------------------------------===//

def Block_CopyAsyncOp : Block_Op<"copy_async", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite<Block_SharedMemory>]>]> {
  let summary = "begins to copy a tile from a view to shared memory";
  let description = [{
    Indices as in `tile.load`; elements outside of the view become 0. Where `if` is false nothing is read, and the
    buffer's contents are undefined. The copy belongs to the next `block.commit`. It goes by chunks of 16 bytes: the
    view has `tile.unit_stride` and `tile.aligned16`, the tile's last index is a multiple of 16 bytes.

    Example: `block.copy_async %k[%b, %h, %j, %c0] -> %stage if %more : !tile.view<4xbf16> -> !block.shared<64x128xbf16>`
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<I32>:$indices, Block_SharedType:$buffer, Optional<I1>:$condition);
  let assemblyFormat = "$view `[` $indices `]` `->` $buffer (`if` $condition^)? attr-dict `:` type($view) `->` type($buffer)";
  let hasVerifier = 1;
}

def Block_CommitOp : Block_Op<"commit", [MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>]> {
  let summary = "makes the copies begun since the last commit a group, which may be empty";
  let description = [{
    Example: `block.commit`
  }];
  let assemblyFormat = "attr-dict";
}

def Block_WaitOp : Block_Op<"wait", [MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>]> {
  let summary = "waits until at most `pending` groups, the latest ones, are not complete";
  let description = [{
    Of this thread's copies: the other threads' are seen after a barrier that follows the wait.

    Example: `block.wait pending 1`
  }];
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "`pending` $pending attr-dict";
  let hasVerifier = 1;
}

def Block_BarrierOp : Block_Op<"barrier", [MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>]> {
  let summary = "all threads of the block arrive before one goes on; what they wrote to shared memory is seen by all";
  let description = [{
    Example: `block.barrier`
  }];
  let assemblyFormat = "attr-dict";
}

include "compiler/ir/BlockAsync.td"

#endif // SECTILE_IR_BLOCK_TD
