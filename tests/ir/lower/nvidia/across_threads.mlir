// RUN: sectile-opt %s --sectile-nvptx-block-to-llvm=processor=sm_80 | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -nvptx-short-ptr | FileCheck %s --implicit-check-not=.local

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#rows = #block.layout<register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

// Rows of an accumulator: two shuffles for each of two rows, no shared memory. Rounded in pairs to operand A, where they
// are.
// CHECK-LABEL:   .entry softmax(
// CHECK:         max.f32
// CHECK-COUNT-4: shfl.sync.bfly.b32
// CHECK-NOT:     shfl.sync
// CHECK-COUNT-4: ex2.approx.ftz.f32
// CHECK-COUNT-4: cvt.rn.bf16x2.f32
// CHECK-NOT:     {{cvt.rn.bf16x2|ex2.approx|st.shared|bar.sync}}
// CHECK:         mma.sync
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>
block.kernel @softmax(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #c>
  %v = arith.constant dense<1.0> : tensor<16x8xbf16, #b>
  %s = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32, #c>
  %m = tile.reduce max %s axis 1 : tensor<64x16xf32, #c> -> tensor<64x1xf32, #rows>
  %w = tile.broadcast %m : tensor<64x1xf32, #rows> -> tensor<64x16xf32, #c>
  %d = arith.subf %s, %w : tensor<64x16xf32, #c>
  %e = math.exp2 %d : tensor<64x16xf32, #c>
  %n = tile.cast %e : tensor<64x16xf32, #c> to tensor<64x16xbf16, #c>
  %p = block.convert %n : tensor<64x16xbf16, #c> -> tensor<64x16xbf16, #a>
  %o = block.dot mma %p, %v, %zero : tensor<64x16xbf16, #a>, tensor<16x8xbf16, #b>, tensor<64x8xf32, #c>
  tile.store %o, %y[%c0, %c0] : tensor<64x8xf32, #c>, !tile.view<2xf32>
  block.return
}

#columns = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 0], [0, 0], [0, 0]], warp = [[0, 0], [0, 0]]>

// Along columns: three shuffles, then the parts of four warps by way of shared memory, in one order in all of them.
// CHECK-LABEL:   .entry columns(
// CHECK-COUNT-6: shfl.sync.bfly.b32
// CHECK:         bar.sync 0
// CHECK-COUNT-2: st.shared.b32
// CHECK:         bar.sync 0
// CHECK-COUNT-8: ld.shared.b32
block.kernel @columns(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>) attributes {warps = 4 : i32, shared_bytes = 128 : i64} {
  %c0 = arith.constant 0 : i32
  %s = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x8xf32, #c>
  %m = tile.reduce sum %s axis 0 {block.scratch = 0 : i64} : tensor<64x8xf32, #c> -> tensor<1x8xf32, #columns>
  tile.store %m, %y[%c0, %c0] : tensor<1x8xf32, #columns>, !tile.view<2xf32>
  block.return
}

#vectors = #block.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [0, 0]]>

// To other warps: through shared memory, in vectors where the layout has them.
// CHECK-LABEL: .entry convert(
// CHECK:       bar.sync 0
// CHECK:       st.shared.v2.b32
// CHECK:       bar.sync 0
// CHECK-COUNT-2: ld.shared.v4.b32
// CHECK:       ret;
block.kernel @convert(%x: !tile.view<2xf32>, %y: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32, shared_bytes = 2048 : i64} {
  %c0 = arith.constant 0 : i32
  %s = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x8xf32, #c>
  %t = block.convert %s {block.scratch = 0 : i64} : tensor<64x8xf32, #c> -> tensor<64x8xf32, #vectors>
  tile.store %t, %y[%c0, %c0] : tensor<64x8xf32, #vectors>, !tile.view<2xf32>
  block.return
}

// What one thread stored and another loads is ordered by a barrier; loads alone are not.
// CHECK-LABEL: .entry order(
// CHECK-NOT:   bar.sync
// CHECK:       ld.global
// CHECK:       bar.sync 0
// CHECK:       st.global
// CHECK:       bar.sync 0
// CHECK:       ld.global
// CHECK:       ret;
block.kernel @order(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %s = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x8xf32, #c>
  tile.store %s, %x[%c1, %c0] : tensor<64x8xf32, #c>, !tile.view<2xf32>
  %t = tile.load %x[%c0, %c1] : !tile.view<2xf32> -> tensor<64x8xf32, #c>
  tile.store %t, %y[%c0, %c0] : tensor<64x8xf32, #c>, !tile.view<2xf32>
  block.return
}

#parts = #block.layout<register = [[8, 0]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

// Each lane keeps its part of a row: no shuffles. Whether one is large is a vote of the warp.
// CHECK-LABEL: .entry parts(
// CHECK-NOT:   shfl.sync
// CHECK:       vote.sync.any.pred
// CHECK-NOT:   shfl.sync
// CHECK:       ret;
block.kernel @parts(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %limit = arith.constant dense<1024.0> : tensor<64x4xf32, #parts>
  %s = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32, #c>
  %l = tile.reduce sum %s axis 1 parts 4 : tensor<64x16xf32, #c> -> tensor<64x4xf32, #parts>
  %large = arith.cmpf ugt, %l, %limit : tensor<64x4xf32, #parts>
  %any = tile.any %large : tensor<64x4xi1, #parts> -> i1
  scf.if %any {
    tile.store %l, %y[%c0, %c0] : tensor<64x4xf32, #parts>, !tile.view<2xf32>
  }
  block.return
}
