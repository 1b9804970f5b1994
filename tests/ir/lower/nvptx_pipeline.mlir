// RUN: sectile-opt %s --sectile-nvptx-tile-to-block=processor=sm_80 | FileCheck %s --check-prefix=BLOCK
// RUN: sectile-opt %s --sectile-nvptx-pipeline=processor=sm_80 | FileCheck %s --check-prefix=LLVM
// RUN: sectile-opt %s --sectile-nvptx-tile-to-block | sectile-opt --sectile-nvptx-block-to-llvm | FileCheck %s --check-prefix=LLVM
// RUN: sectile-opt %s --sectile-nvptx-pipeline="processor=sm_90a schedule=warps=8" | FileCheck %s --check-prefix=WARPS
// RUN: not sectile-opt %s --sectile-nvptx-pipeline=processor=sm_70 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not sectile-opt %s --sectile-nvptx-pipeline="processor=sm_75 schedule=stages=3" 2>&1 | FileCheck %s --check-prefix=STAGES
// RUN: not sectile-opt %s --sectile-nvptx-pipeline=schedule=threads=3 2>&1 | FileCheck %s --check-prefix=FIELD

// One thread block cooperates, then one thread is programmed, and nothing but the LLVM dialect is left.
// BLOCK:     block.kernel @product
// BLOCK:     block.dot
// LLVM:      llvm.func @product
// LLVM-SAME: nvvm.kernel
// LLVM-SAME: nvvm.reqntid = array<i32: 128
// LLVM-SAME: sectile.threads = 128
// LLVM:      llvm.nvvm.mma.m16n8k16
// LLVM-NOT:  {{(arith|scf|vector|math|func|tile|block|builtin.unrealized)[._][a-z]}}
// WARPS:     nvvm.reqntid = array<i32: 256

// UNKNOWN: target 'nvptx:sm_70': there is no such architecture; legal: nvptx:sm_75
// STAGES:  schedule field 'stages' is 3, and 'nvptx:sm_75' has no asynchronous copies
// FIELD:   schedule field 'threads' is 3, and target 'nvptx:sm_80' has no such field
tile.kernel @product(%x: !tile.view<2xf16>, %y: !tile.view<2xf16>, %z: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %p = tile.program 0
  %c64 = arith.constant 64 : i32
  %i = arith.muli %p, %c64 : i32
  %a = tile.load %x[%i, %c0] : !tile.view<2xf16> -> tensor<64x32xf16>
  %b = tile.load %y[%c0, %c0] : !tile.view<2xf16> -> tensor<32x64xf16>
  %d = tile.dot %a, %b, %zero : tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>
  tile.store %d, %z[%i, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}
