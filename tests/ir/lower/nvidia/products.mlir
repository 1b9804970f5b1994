// RUN: sectile-opt %s --sectile-check-layouts --sectile-plan-shared --sectile-nvptx-block-to-llvm=processor=sm_90a | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx84 | FileCheck %s --implicit-check-not=.local

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

// Elements of 8 bits have k of 32 and are read along k only; 128 rows in one group of warps are two instructions, each
// with its rows of A (64 rows of 64 bytes are 256 units of 16 bytes). A ring that nobody shares in roles is copied by one thread, too.
// CHECK-LABEL: .entry bytes(
// CHECK:       mbarrier.init.shared.b64
// CHECK:       mbarrier.try_wait.parity.shared.b64
// CHECK:       elect.sync
// CHECK:       cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// CHECK:       or.b64 [[A:%rd[0-9]+]], [[UNITS:%rd[0-9]+]], -9223371899415756800;
// CHECK:       wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {{{.*}}}, [[A]], [[A]], p, 1, 1; }
// CHECK:       add.s64 [[A2:%rd[0-9]+]], [[UNITS]], -9223371899415756544;
// CHECK:       setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {{{.*}}}, [[A2]], [[A]], p, 1, 1; }
// CHECK:       wgmma.wait_group.sync.aligned 0;
// CHECK:       ret;
!bytes = !block.shared<1x128x64xf8E4M3FN, step = 2, span = 4>
!byteStage = !block.shared<128x64xf8E4M3FN, step = 2, span = 4>
block.kernel @bytes(%x: !tile.view<3xf8E4M3FN> {tile.bulk}, %y: !tile.view<2xf32>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x128xf32, #c>
  %ring = block.alloc : !bytes
  block.acquire %ring[%c0] : !bytes
  block.copy_bulk %x[%c0, %c0, %c0] -> %ring[%c0] : !tile.view<3xf8E4M3FN> -> !bytes
  %s = block.wait_full %ring[%c0] : !bytes -> !byteStage
  %t = block.dot_async %s, %s, %zero {transposed_b} : !byteStage, !byteStage, tensor<128x128xf32, #c>
  %r = block.dot_wait %t pending 0 : !block.token<tensor<128x128xf32, #c>>
  block.release %ring[%c0] : !bytes
  tile.store %r, %y[%c0, %c0] : tensor<128x128xf32, #c>, !tile.view<2xf32>
  block.return
}

// 320 columns are an instruction of 256 and one of 64, which begins four panels on. B is read across k: from panel to
// panel 4096 bytes, from 8 rows to the next 1024; a step of 16 rows is 2048 bytes. Threads that wrote what wgmma reads
// let it be seen.
// CHECK-LABEL: .entry wide(
// CHECK:       fence.proxy.async.shared::cta;
// CHECK:       bar.sync 0;
// CHECK:       or.b64 [[B:%rd[0-9]+]], [[PLACE:%rd[0-9]+]], 4611686293322072064;
// CHECK:       setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{.*}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, [[B]], p, 1, 1, 1; }
// CHECK:       add.s64 [[NEXT:%rd[0-9]+]], [[PLACE]], 4611686293322072192;
// CHECK:       wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {{{.*}}}, [[NEXT]], p, 1, 1, 1; }
// CHECK:       add.s64 [[RIGHT:%rd[0-9]+]], [[PLACE]], 4611686293322073088;
// CHECK:       wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{.*}}}, [[RIGHT]], p, 1, 1, 1; }
// CHECK:       wgmma.wait_group.sync.aligned 0;
// CHECK:       ret;
#rows = #block.layout<register = [[0, 1], [0, 2], [0, 4]], lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
!wide = !block.shared<32x320xf16, step = 1, span = 8, panel = 64>
block.kernel @wide(%x: !tile.view<2xf16>, %y: !tile.view<2xf32>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %sum = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<64x320xf32, #c>
  %p = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<64x32xf16, #a>
  %v = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<32x320xf16, #rows>
  %b = block.alloc : !wide
  block.write %v -> %b : tensor<32x320xf16, #rows> -> !wide
  block.barrier
  %t = block.dot_async %p, %b, %sum : tensor<64x32xf16, #a>, !wide, tensor<64x320xf32, #c>
  %r = block.dot_wait %t pending 0 : !block.token<tensor<64x320xf32, #c>>
  tile.store %r, %y[%c0, %c0] : tensor<64x320xf32, #c>, !tile.view<2xf32>
  block.return
}
