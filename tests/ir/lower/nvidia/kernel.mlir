// RUN: sectile-opt %s --sectile-block-to-llvm=sm=80 | FileCheck %s
// RUN: sectile-opt %s --sectile-nvptx-block-to-llvm=processor=sm_80 | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 | FileCheck %s --check-prefix=PTX --implicit-check-not=.local

#row = #block.layout<register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]>

// One parameter by value, 64-bit words: the view's address, size and stride, the scalar, the grid.
// CHECK:      llvm.mlir.global external @sectile_shared() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK:      llvm.func @fill
// CHECK-SAME: llvm.align = 8 : i64, llvm.byval = !llvm.array<7 x i64>, nvvm.grid_constant
// CHECK-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 64, 1, 1>, sectile.shared_bytes = 0 : i64, sectile.threads = 64 : i64

// PTX:      .visible .entry fill(
// PTX-NEXT:   .param .align 8 .b8 fill_param_0[56]
// PTX:      .reqntid 64, 1, 1
// PTX-DAG:  ld.param.b64 {{.*}}, [fill_param_0];
// PTX-DAG:  ld.param.b32 {{.*}}, [fill_param_0+8];
// PTX-DAG:  ld.param.b32 {{.*}}, [fill_param_0+24];
// Programs are numbered x fastest: this is y.
// PTX:      ld.param.b32 [[X:%r[0-9]+]], [fill_param_0+32];
// PTX:      div.u32 [[ROWS:%r[0-9]+]], {{.*}}, [[X]];
// PTX:      ld.param.b32 [[Y:%r[0-9]+]], [fill_param_0+40];
// PTX:      rem.u32 {{.*}}, [[ROWS]], [[Y]];
// PTX:      st.global.v4.b32
block.kernel @fill(%y: !tile.view<1xf32> {tile.unit_stride, tile.aligned16}, %x: f32) attributes {warps = 2 : i32} {
  %p = tile.program 1
  %c256 = arith.constant 256 : i32
  %i = arith.muli %p, %c256 : i32
  %t = tile.splat %x : tensor<256xf32, #row>
  tile.store %t, %y[%i] : tensor<256xf32, #row>, !tile.view<1xf32>
  block.return
}
