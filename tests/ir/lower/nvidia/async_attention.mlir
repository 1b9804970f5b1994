// RUN: sectile-opt %s --sectile-check-layouts --sectile-check-rings --sectile-plan-shared --sectile-nvptx-block-to-llvm=processor=sm_90a \
// RUN:   | mlir-translate --mlir-to-llvmir | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx84 \
// RUN:   > %t
// RUN: FileCheck %s --implicit-check-not=.local < %t
// RUN: FileCheck %s --check-prefix=PRODUCER < %t

// Attention on sm_90a, heads of 128: two groups of warps compute, 64 rows each, another one copies. The scores of a pass
// are under way together with the second product of the one before, whose first operand is in registers.
// tests/nvptx/AsyncKernelsTest.cpp has it assembled.

// Three tensor maps, 22 words of arguments, the grid.
// CHECK:     .visible .entry attention(
// CHECK:     .param .align 64 .b8 attention_param_0[{{[0-9]+}}]
// CHECK:     .reqntid 384, 1, 1

// One thread makes the barriers: a stage is full by one, and empty by the eight warps that read it.
// CHECK:     mov.b32 [[ONE:%r[0-9]+]], 1;
// CHECK:     mbarrier.init.shared.b64 {{.*}}, [[ONE]];
// CHECK:     mov.b32 [[READERS:%r[0-9]+]], 8;
// CHECK:     mbarrier.init.shared.b64 {{.*}}, [[READERS]];
// CHECK:     fence.mbarrier_init.release.cluster;
// CHECK:     fence.proxy.async.shared::cta;
// CHECK:     bar.sync 0;

// Warps 0 to 7. Of a product's first step only the results are registers.
// CHECK:     setmaxnreg.inc.sync.aligned.u32 240;
// CHECK:     mbarrier.try_wait.parity.shared.b64
// CHECK:     wgmma.fence.sync.aligned;
// CHECK:     { .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{.*}}}, {{%rd[0-9]+}}, {{%rd[0-9]+}}, p, 1, 1, 0, 0; }
// CHECK-COUNT-7: { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{.*}}}, {{%rd[0-9]+}}, {{%rd[0-9]+}}, p, 1, 1, 0, 0; }
// CHECK:     wgmma.commit_group.sync.aligned;
// CHECK:     wgmma.wait_group.sync.aligned 0;
// CHECK:     mbarrier.arrive.shared.b64

// The loop.
// CHECK:     { .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n128k16
// CHECK:     wgmma.commit_group.sync.aligned;
// CHECK:     mbarrier.try_wait.parity.shared.b64
// CHECK:     wgmma.fence.sync.aligned;
// CHECK-COUNT-8: { .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {{{.*}}}, {{{%r[0-9]+, %r[0-9]+, %r[0-9]+, %r[0-9]+}}}, {{%rd[0-9]+}}, p, 1, 1, 1; }
// CHECK:     wgmma.commit_group.sync.aligned;
// CHECK:     wgmma.wait_group.sync.aligned 1;
// CHECK:     ex2.approx
// CHECK:     setp.ne.b32 {{%p[0-9]+}}, {{%r[0-9]+}}, 2145307358;
// CHECK:     bar.sync 15, 32;
// CHECK:     wgmma.wait_group.sync.aligned 0;

// Warps 8 to 11, of which one thread copies.
// PRODUCER:     setmaxnreg.dec.sync.aligned.u32 24;
// PRODUCER:     elect.sync
// PRODUCER:     mbarrier.arrive.expect_tx.shared.b64
// PRODUCER-COUNT-2: cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#row = #block.layout<register = [[8, 0]], lane = [[0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
!view = !tile.view<4xbf16>
!one = !block.shared<1x128x128xbf16, step = 1, span = 8, panel = 64>
!ring = !block.shared<2x128x128xbf16, step = 1, span = 8, panel = 64>
!stage = !block.shared<128x128xbf16, step = 1, span = 8, panel = 64>
!tile = tensor<128x128xf32, #c>
!row = tensor<128x1xf32, #row>
!p = tensor<128x128xbf16, #a>
!token = !block.token<!tile>

block.kernel @attention(%q: !view {tile.bulk}, %k: !view {tile.bulk},
                        %v: !view {tile.bulk}, %out: !tile.view<4xbf16> {tile.unit_stride, tile.aligned16}, %scale: f32, %n: i32) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  %b = tile.program 2
  %h = tile.program 1
  %x = tile.program 0
  %r0 = arith.muli %x, %c128 : i32
  %qRing = block.alloc : !one
  %kRing = block.alloc : !ring
  %vRing = block.alloc : !ring
  block.specialize roles ["consumer", "producer"] warps [8, 4] registers [240, 24] {
    %zero = arith.constant dense<0.0> : !tile
    %sc = tile.splat %scale : !tile
    %low = arith.constant dense<0xFF800000> : !row
    %none = arith.constant dense<0.0> : !row
    %Q = block.wait_full %qRing[%c0] : !one -> !stage
    %K0 = block.wait_full %kRing[%c0] : !ring -> !stage
    %t0 = block.dot_async %Q, %K0, %zero {transposed_b} : !stage, !stage, !tile
    %s0 = block.dot_wait %t0 pending 0 : !token
    block.release %kRing[%c0] : !ring
    %y0 = arith.mulf %s0, %sc : !tile
    %m0 = tile.reduce max %y0 axis 1 : !tile -> !row
    %mb0 = tile.broadcast %m0 : !row -> !tile
    %d0 = arith.subf %y0, %mb0 : !tile
    %e0 = math.exp2 %d0 : !tile
    %l0 = tile.reduce sum %e0 axis 1 : !tile -> !row
    %p0 = tile.cast %e0 : !tile to tensor<128x128xbf16, #c>
    %w0 = block.convert %p0 : tensor<128x128xbf16, #c> -> !p
    %r:4 = scf.for %j = %c1 to %n step %c1 iter_args(%acc = %zero, %m = %m0, %l = %l0, %w = %w0) -> (!tile, !row, !row, !p) : i32 {
      %before = arith.subi %j, %c1 : i32
      %K = block.wait_full %kRing[%j] : !ring -> !stage
      %ts = block.dot_async %Q, %K, %zero {transposed_b} : !stage, !stage, !tile
      %V = block.wait_full %vRing[%before] : !ring -> !stage
      %to = block.dot_async %w, %V, %acc : !p, !stage, !tile
      %s = block.dot_wait %ts pending 1 : !token
      block.release %kRing[%j] : !ring
      %y = arith.mulf %s, %sc : !tile
      %my = tile.reduce max %y axis 1 : !tile -> !row
      %mn = arith.maxnumf %m, %my : !row
      %mb = tile.broadcast %mn : !row -> !tile
      %d = arith.subf %y, %mb : !tile
      %e = math.exp2 %d : !tile
      %ad = arith.subf %m, %mn : !row
      %al = math.exp2 %ad : !row
      %ls = tile.reduce sum %e axis 1 : !tile -> !row
      %la = arith.mulf %l, %al : !row
      %ln = arith.addf %la, %ls : !row
      %ab = tile.broadcast %al : !row -> !tile
      %o = block.dot_wait %to pending 0 : !token
      block.release %vRing[%before] : !ring
      %os = arith.mulf %o, %ab : !tile
      %p = tile.cast %e : !tile to tensor<128x128xbf16, #c>
      %next = block.convert %p : tensor<128x128xbf16, #c> -> !p
      scf.yield %os, %mn, %ln, %next : !tile, !row, !row, !p
    }
    block.release %qRing[%c0] : !one
    %last = arith.subi %n, %c1 : i32
    %V = block.wait_full %vRing[%last] : !ring -> !stage
    %t = block.dot_async %r#3, %V, %r#0 : !p, !stage, !tile
    %o = block.dot_wait %t pending 0 : !token
    block.release %vRing[%last] : !ring
    %lb = tile.broadcast %r#2 : !row -> !tile
    %of = arith.divf %o, %lb : !tile
    %oc = tile.cast %of : !tile to tensor<128x128xbf16, #c>
    tile.store %oc, %out[%b, %h, %r0, %c0] : tensor<128x128xbf16, #c>, !tile.view<4xbf16>
  }, {
    block.acquire %qRing[%c0] : !one
    block.copy_bulk %q[%b, %h, %r0, %c0] -> %qRing[%c0] : !view -> !one
    scf.for %j = %c0 to %n step %c1 : i32 {
      %key = arith.muli %j, %c128 : i32
      block.acquire %kRing[%j] : !ring
      block.copy_bulk %k[%b, %h, %key, %c0] -> %kRing[%j] : !view -> !ring
      block.acquire %vRing[%j] : !ring
      block.copy_bulk %v[%b, %h, %key, %c0] -> %vRing[%j] : !view -> !ring
    }
  }
  block.return
}
