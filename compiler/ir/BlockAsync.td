// The block dialect's asynchronous part, as sm_90 has it: bulk copies that arrive at barriers in memory, matrix products
// in flight, and warps with roles. A schedule of the general path uses none of it. Lowerings that do not know an
// operation refuse it by name.
//
// A ring is then handed to and fro: a producer acquires a stage, and copies into it; consumers wait until it is full,
// read it and release it. Indices count iterations from 0; which stage that is, and the parity of its barriers, is
// arithmetic that only the lowering sees. sectile-check-rings verifies who does what.
//
//     producer                       consumer
//     block.acquire %k[%j]           %K = block.wait_full %k[%j]
//     block.copy_bulk … -> %k[%j]    … = block.dot_async %q, %K, …
//                                    block.release %k[%j]
#ifndef SECTILE_IR_BLOCK_ASYNC_TD
#define SECTILE_IR_BLOCK_ASYNC_TD

//===-- rings that are handed to and fro -----------------------------------------------------------------------------===//

class Block_RingOp<string mnemonic, list<Trait> traits = []> : Block_Op<mnemonic, traits # [
    MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>]> {
  let hasVerifier = 1;
}

def Block_AcquireOp : Block_RingOp<"acquire"> {
  let summary = "waits until the stage of an iteration may be filled";
  let description = [{
    Until all consumers have released what iteration `index` - stages was there for; at once in the first iterations.

    Example: `block.acquire %k[%j] : !block.shared<2x128x128xbf16, step = 1, span = 8>`
  }];
  let arguments = (ins Block_SharedType:$ring, I32:$index);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring)";
}

def Block_CopyBulkOp : Block_RingOp<"copy_bulk"> {
  let summary = "one thread begins to copy a tile from a view to an acquired stage";
  let description = [{
    Indices as in `tile.load`; elements outside of the view become 0. The stage is full once all of its bytes have
    arrived. The hardware copies boxes of up to 256 rows, with rows of up to 128 bytes swizzled in units of 16; the
    view has `tile.unit_stride` and `tile.aligned16`.

    Example: `block.copy_bulk %x[%b, %h, %row, %c0] -> %k[%j] : !tile.view<4xbf16> -> !block.shared<2x128x64xbf16, step = 1, span = 8>`
  }];
  let arguments = (ins Tile_ViewType:$view, Variadic<I32>:$indices, Block_SharedType:$ring, I32:$index);
  let assemblyFormat = "$view `[` $indices `]` `->` $ring `[` $index `]` attr-dict `:` type($view) `->` type($ring)";
}

def Block_WaitFullOp : Block_RingOp<"wait_full"> {
  let summary = "the stage of an iteration, once it is full";
  let description = [{
    It may be read until it is released.

    Example: `%K = block.wait_full %k[%j] : !block.shared<2x128x64xbf16> -> !block.shared<128x64xbf16>`
  }];
  let arguments = (ins Block_SharedType:$ring, I32:$index);
  let results = (outs Block_SharedType:$stage);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring) `->` type($stage)";
}

def Block_ReleaseOp : Block_RingOp<"release"> {
  let summary = "the stage of an iteration is not read any more";
  let description = [{
    By this warp; the producer goes on when all warps of all consumers have said so.

    Example: `block.release %k[%j] : !block.shared<2x128x64xbf16>`
  }];
  let arguments = (ins Block_SharedType:$ring, I32:$index);
  let assemblyFormat = "$ring `[` $index `]` attr-dict `:` type($ring)";
}

//===-- products in flight -------------------------------------------------------------------------------------------===//

def Block_TokenType : TypeDef<Block_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a matrix product in flight, and the tensor that it will be";
  let description = [{
    The tensor cannot be used before `block.dot_wait` gives it, and neither can the accumulator's registers, which it
    takes over.

    Example: `!block.token<tensor<64x128xf32, #acc>>`
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tensor);
  let assemblyFormat = "`<` $tensor `>`";
}

def Block_DotAsyncOp : Block_Op<"dot_async", [
    MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>,
    TypesMatchWith<"the token is of the accumulator's type", "accumulator", "token",
                   "TokenType::get($_self.getContext(), ::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "begins a matrix product plus accumulator: [m,k] x [k,n] + [m,n]";
  let description = [{
    By wgmma, 64 rows for each group of four warps: the accumulator has the layout wgmmaAccumulator of
    compiler/ir/Fragments.h; A is a buffer, or a tensor in the layout wgmmaOperandA; B is a buffer of shape [k,n], or
    [n,k] with `transposed_b`. Products of a thread complete in the order in which they began.

    Example: `%t = block.dot_async %p, %V, %acc : tensor<64x64xbf16, #a>, !block.shared<64x128xbf16>, tensor<64x128xf32, #c>`
  }];
  let arguments = (ins AnyTypeOf<[Block_Tensor, Block_SharedType]>:$a, Block_SharedType:$b, Block_Tensor:$accumulator,
                   UnitAttr:$transposed_b);
  let results = (outs Block_TokenType:$token);
  let assemblyFormat = "$a `,` $b `,` $accumulator attr-dict `:` type($a) `,` type($b) `,` type($accumulator)";
  let hasVerifier = 1;
}

def Block_DotWaitOp : Block_Op<"dot_wait", [
    MemoryEffects<[MemRead<Block_SharedMemory>, MemWrite<Block_SharedMemory>]>,
    TypesMatchWith<"gives the token's tensor", "token", "result", "::llvm::cast<TokenType>($_self).getTensor()">]> {
  let summary = "the result of a product, once at most `pending` later ones are in flight";
  let description = [{
    Example: `%s = block.dot_wait %t pending 1 : !block.token<tensor<64x128xf32, #acc>>`
  }];
  let arguments = (ins Block_TokenType:$token, I32Attr:$pending);
  let results = (outs Block_Tensor:$result);
  let assemblyFormat = "$token `pending` $pending attr-dict `:` type($token)";
  let hasVerifier = 1;
}

//===-- roles --------------------------------------------------------------------------------------------------------===//

def Block_SpecializeOp : Block_Op<"specialize", [HasParent<"BlockKernelOp">, NoTerminator, SingleBlock, NoRegionArguments,
                                                  RecursiveMemoryEffects]> {
  let summary = "groups of warps go different ways";
  let description = [{
    A role is a number of warps, in whole groups of four that come one after another, how many registers each of its
    threads may use, and what it does. Its tensors are held by its warps; of what is outside it sees scalars, views and
    shared memory. Roles meet at the stages of rings only: a barrier of all threads would wait forever.

    Example:
    ```mlir
    block.specialize roles ["producer", "consumer"] warps [4, 8] registers [24, 240] {
      block.acquire %k[%c0] : !block.shared<2x128x64xbf16>
      block.copy_bulk %x[%c0, %c0] -> %k[%c0] : !tile.view<2xbf16> -> !block.shared<2x128x64xbf16>
    }, {
      %K = block.wait_full %k[%c0] : !block.shared<2x128x64xbf16> -> !block.shared<128x64xbf16>
      block.release %k[%c0] : !block.shared<2x128x64xbf16>
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$roles, DenseI32ArrayAttr:$warps, DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let assemblyFormat = "`roles` $roles `warps` $warps `registers` $registers $bodies attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // SECTILE_IR_BLOCK_ASYNC_TD
