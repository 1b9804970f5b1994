// RUN: sectile-opt %s --sectile-block-to-llvm=sm=90 | FileCheck %s
// RUN: sectile-opt %s --sectile-nvptx-block-to-llvm=processor=sm_90a | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx84 | FileCheck %s --check-prefix=PTX --implicit-check-not=.local

#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>
#rows = #block.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = [[2, 0], [4, 0]]>

// Panels of 64 columns, 16 rows of 128 bytes each: column 64 begins 2048 bytes on. A thread that holds columns from 64
// on writes to the second panel; ldmatrix reads within panels.
!panels = !block.shared<16x128xbf16, step = 1, span = 8, panel = 64>
// CHECK-LABEL: llvm.func @panels
// CHECK:       %[[PANEL:.*]] = arith.constant 2048 : i32
// CHECK:       arith.muli %{{.*}}, %{{.*}} : i32
// PTX-LABEL:   .entry panels(
// PTX:         st.shared.v4.b32
// PTX-COUNT-4: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX:         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{.*}}}, [{{%r[0-9]+|%rd[0-9]+}}+2048];
block.kernel @panels(%x: !tile.view<2xbf16> {tile.unit_stride, tile.aligned16}, %y: !tile.view<2xbf16>)
    attributes {warps = 4 : i32, shared_bytes = 4096 : i64} {
  %c0 = arith.constant 0 : i32
  %a = block.alloc {offset = 0 : i64} : !panels
  %t = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<16x128xbf16, #rows>
  block.write %t -> %a : tensor<16x128xbf16, #rows> -> !panels
  block.barrier
  %k = block.read %a transposed : !panels -> tensor<128x16xbf16, #b>
  tile.store %k, %y[%c0, %c0] : tensor<128x16xbf16, #b>, !tile.view<2xbf16>
  block.return
}
