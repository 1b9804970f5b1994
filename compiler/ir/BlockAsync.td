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
    arrived. The hardware (TMA) copies a box for each panel, of up to 256 rows and columns; it needs views that it can
    map (`tile.bulk`). Rows lie as they are, or, of 128, 64 or 32 bytes, in the swizzle that Swizzle::forRows has for them.

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
    [n,k] with `transposed_b`, which elements of 8 bits need. Buffers have swizzled rows of 128, 64 or 32 bytes; wider ones
    have panels. Products of a thread complete in the order in which they began.

    Example: `%t = block.dot_async %p, %V, %acc : tensor<64x64xbf16, #a>, !block.shared<64x128xbf16, step = 1, span = 8,
    panel = 64>, tensor<64x128xf32, #c>`
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
    Products complete in order, so this one has when `pending` or more were begun after it.

    Example: `%s = block.dot_wait %t pending 1 : !block.token<tensor<64x128xf32, #acc>>`
  }];
  let arguments = (ins Block_TokenType:$token, I32Attr:$pending);
  let results = (outs Block_Tensor:$result);
  let assemblyFormat = "$token `pending` $pending attr-dict `:` type($token)";
  let hasVerifier = 1;
}

def Block_TokenOp : Block_Op<"token", [Pure,
    TypesMatchWith<"the token is of the tensor's type", "tensor", "token",
                   "TokenType::get($_self.getContext(), ::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "a product that is complete already";
  let description = [{
    For branches of which one has waited and the other has not.

    Example: `%t = block.token %acc : tensor<64x128xf32, #acc>`
  }];
  let arguments = (ins Block_Tensor:$tensor);
  let results = (outs Block_TokenType:$token);
  let assemblyFormat = "$tensor attr-dict `:` type($tensor)";
}

//===-- roles --------------------------------------------------------------------------------------------------------===//

def Block_SpecializeOp : Block_Op<"specialize", [HasParent<"BlockKernelOp">, NoTerminator, SingleBlock, NoRegionArguments,
                                                  RecursiveMemoryEffects]> {
  let summary = "groups of warps go different ways";
  let description = [{
    A role is a number of warps, in whole groups of four that come one after another, how many registers each of its
    threads may use (24 to 240, in steps of 8; in all no more than the block has at launch), and what it does. Its tensors are held by its warps; of what is outside it sees scalars, views and
    shared memory. Roles meet at the stages of rings only: a barrier of all threads would wait forever.

    Example, four warps that copy the rows of %k and four that sum up q * k:
    ```mlir
    #acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]],
                         warp = [[16, 0], [32, 0]]>
    !one = !block.shared<1x64x64xbf16, step = 1, span = 8>
    !ring = !block.shared<2x64x64xbf16, step = 1, span = 8>
    !stage = !block.shared<64x64xbf16, step = 1, span = 8>
    block.kernel @products(%q: !tile.view<2xbf16> {tile.bulk}, %k: !tile.view<2xbf16> {tile.bulk},
                           %out: !tile.view<2xf32>, %n: i32) attributes {warps = 8 : i32} {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c64 = arith.constant 64 : i32
      %qRing = block.alloc : !one
      %kRing = block.alloc : !ring
      block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 232] {
        block.acquire %qRing[%c0] : !one
        block.copy_bulk %q[%c0, %c0] -> %qRing[%c0] : !tile.view<2xbf16> -> !one
        scf.for %j = %c0 to %n step %c1 : i32 {
          %row = arith.muli %j, %c64 : i32
          block.acquire %kRing[%j] : !ring
          block.copy_bulk %k[%row, %c0] -> %kRing[%j] : !tile.view<2xbf16> -> !ring
        }
      }, {
        %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
        %Q = block.wait_full %qRing[%c0] : !one -> !stage
        %all = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32, #acc>) : i32 {
          %K = block.wait_full %kRing[%j] : !ring -> !stage
          %t = block.dot_async %Q, %K, %sum {transposed_b} : !stage, !stage, tensor<64x64xf32, #acc>
          %next = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #acc>>
          block.release %kRing[%j] : !ring
          scf.yield %next : tensor<64x64xf32, #acc>
        }
        block.release %qRing[%c0] : !one
        tile.store %all, %out[%c0, %c0] : tensor<64x64xf32, #acc>, !tile.view<2xf32>
      }
      block.return
    }
    ```
  }];
  let arguments = (ins StrArrayAttr:$roles, DenseI32ArrayAttr:$warps, DenseI32ArrayAttr:$registers);
  let regions = (region VariadicRegion<SizedRegion<1>>:$bodies);
  let extraClassDeclaration = [{
    /// Of each thread, in steps of 8: as many in all as the roles use together, who give them back and take them; but
    /// no fewer than ptxas wants for a product in flight, whatever a role has by then.
    int64_t registersAtLaunch();
  }];
  let assemblyFormat = "`roles` $roles `warps` $warps `registers` $registers $bodies attr-dict";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // SECTILE_IR_BLOCK_ASYNC_TD
