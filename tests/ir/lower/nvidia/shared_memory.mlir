// RUN: sectile-opt %s --sectile-nvptx-block-to-llvm=processor=sm_80 | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -nvptx-short-ptr | FileCheck %s --implicit-check-not=.local
// RUN: sectile-opt %s --sectile-block-to-llvm=sm=75 | FileCheck %s --check-prefix=SM75 --implicit-check-not=cp.async

#rows = #block.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>

// Fragments come by ldmatrix, four matrices at a time; those whose rows run across k transposed. The product reads them
// as it goes, and hands the words on untouched.
// CHECK-LABEL:   .entry fragments(
// CHECK:         st.shared.v4.b32
// CHECK:         bar.sync 0
// CHECK-NOT:     prmt
// CHECK:         ldmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK:         ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK:         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
// CHECK:         ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// CHECK-NOT:     prmt
// CHECK:         ret;
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[0, 0], [0, 0]]>
block.kernel @fragments(%x: !tile.view<2xf16> {tile.unit_stride, tile.aligned16}, %y: !tile.view<2xf32>)
    attributes {warps = 4 : i32, shared_bytes = 10240 : i64} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x64xf32, #c>
  %left = block.alloc {offset = 0 : i64} : !block.shared<16x64xf16, step = 1, span = 8>
  %right = block.alloc {offset = 2048 : i64} : !block.shared<64x64xf16, step = 1, span = 8>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<16x64xf16, #rows>
  %u = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<64x64xf16, #rows>
  block.write %t -> %left : tensor<16x64xf16, #rows> -> !block.shared<16x64xf16, step = 1, span = 8>
  block.write %u -> %right : tensor<64x64xf16, #rows> -> !block.shared<64x64xf16, step = 1, span = 8>
  block.barrier
  %a = block.read %left : !block.shared<16x64xf16, step = 1, span = 8> -> tensor<16x64xf16, #a>
  %b = block.read %right : !block.shared<64x64xf16, step = 1, span = 8> -> tensor<64x64xf16, #b>
  %d = block.dot mma %a, %b, %zero : tensor<16x64xf16, #a>, tensor<64x64xf16, #b>, tensor<16x64xf32, #c>
  tile.store %d, %y[%c0, %c0] : tensor<16x64xf32, #c>, !tile.view<2xf32>
  block.return
}

// Whole tiles need no test for each chunk; others read as much of a chunk as there is. 16 rows of 128 bytes are one chunk
// for each of 128 threads.
// CHECK-LABEL: .entry copy(
// CHECK-DAG:   cp.async.cg.shared.global [{{%r[0-9]+}}], [{{%rd[0-9]+}}], 16;
// CHECK-DAG:   cp.async.cg.shared.global [{{%r[0-9]+}}], [{{%rd[0-9]+}}], 16, {{%r[0-9]+}};
// CHECK:       cp.async.commit_group;
// CHECK:       cp.async.wait_group 0;
// CHECK:       bar.sync 0
// CHECK:       ret;
// SM75-LABEL:  llvm.func @copy
// SM75:        llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
block.kernel @copy(%x: !tile.view<2xbf16> {tile.unit_stride, tile.aligned16}, %i: i32)
    attributes {warps = 4 : i32, shared_bytes = 4096 : i64} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc {offset = 0 : i64} : !block.shared<2x16x64xbf16, step = 1, span = 8>
  %stage = block.stage %ring[%i] : !block.shared<2x16x64xbf16, step = 1, span = 8> -> !block.shared<16x64xbf16, step = 1, span = 8>
  block.copy_async %x[%i, %c0] -> %stage : !tile.view<2xbf16> -> !block.shared<16x64xbf16, step = 1, span = 8>
  block.commit
  block.wait pending 0
  block.barrier
  block.return
}
