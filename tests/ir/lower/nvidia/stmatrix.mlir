// RUN: sectile-opt %s --sectile-nvptx-block-to-llvm=processor=sm_90a | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx80 -nvptx-short-ptr \
// RUN:   | FileCheck %s --implicit-check-not=.local
// RUN: sectile-opt %s --sectile-block-to-llvm='sm=90 ptx=77' | FileCheck %s --check-prefix=OLDER --implicit-check-not=stmatrix
// RUN: sectile-opt %s --sectile-block-to-llvm='sm=80 ptx=80' | FileCheck %s --check-prefix=OLDER --implicit-check-not=stmatrix

// Fragments go to shared memory by stmatrix, up to four matrices at a time. A lane's row is where ldmatrix reads it.
// CHECK-LABEL:   .entry operand_a(
// CHECK-NOT:     st.shared
// CHECK-COUNT-2: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT:     stmatrix
// CHECK:         ret;
// OLDER-LABEL:   llvm.func @operand_a
// OLDER:         llvm.store {{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<3>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @operand_a(%x: !tile.view<2xbf16> {tile.unit_stride, tile.aligned16})
    attributes {warps = 4 : i32, shared_bytes = 4096 : i64} {
  %c0 = arith.constant 0 : i32
  %buffer = block.alloc {offset = 0 : i64} : !block.shared<64x32xbf16, step = 2, span = 4>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x32xbf16, #a>
  block.write %t -> %buffer : tensor<64x32xbf16, #a> -> !block.shared<64x32xbf16, step = 2, span = 4>
  block.return
}

// Those that run across the rows go transposed.
// CHECK-LABEL:   .entry operand_b(
// CHECK-NOT:     st.shared
// CHECK:         stmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT:     st.shared
// CHECK:         ret;
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 8], [0, 16]]>
block.kernel @operand_b(%x: !tile.view<2xf16>) attributes {warps = 4 : i32, shared_bytes = 2048 : i64} {
  %c0 = arith.constant 0 : i32
  %buffer = block.alloc {offset = 0 : i64} : !block.shared<32x32xf16, step = 2, span = 4>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<32x32xf16, #b>
  block.write %t -> %buffer : tensor<32x32xf16, #b> -> !block.shared<32x32xf16, step = 2, span = 4>
  block.return
}

// Warps past the shape write nothing.
// CHECK-LABEL:   .entry two_of_four_warps(
// CHECK:         stmatrix.sync.aligned.m8n8.x2.shared.b16
// CHECK-NEXT:    $L__BB2_{{[0-9]+}}:
// CHECK:         ret;
#n = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 8], [0, 16]]>
block.kernel @two_of_four_warps(%x: !tile.view<2xf16>) attributes {warps = 4 : i32, shared_bytes = 512 : i64} {
  %c0 = arith.constant 0 : i32
  %buffer = block.alloc {offset = 0 : i64} : !block.shared<16x16xf16, step = 4, span = 2>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<16x16xf16, #n>
  block.write %t -> %buffer : tensor<16x16xf16, #n> -> !block.shared<16x16xf16, step = 4, span = 2>
  block.return
}

// Of a matrix that ends past the shape, lanes write what there is.
// CHECK-LABEL:   .entry part(
// CHECK-NOT:     stmatrix
// CHECK:         st.shared.{{(v2.b16|b32)}}
// CHECK-NOT:     stmatrix
// CHECK:         ret;
block.kernel @part(%x: !tile.view<2xf16>) attributes {warps = 4 : i32, shared_bytes = 1024 : i64} {
  %c0 = arith.constant 0 : i32
  %buffer = block.alloc {offset = 0 : i64} : !block.shared<12x32xf16, step = 2, span = 4>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<12x32xf16, #n>
  block.write %t -> %buffer : tensor<12x32xf16, #n> -> !block.shared<12x32xf16, step = 2, span = 4>
  block.return
}
