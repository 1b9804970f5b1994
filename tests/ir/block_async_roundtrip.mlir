// RUN: sectile-opt %s --sectile-check-layouts --sectile-check-rings --sectile-check-shared | sectile-opt | FileCheck %s
// RUN: sectile-opt %s --mlir-print-op-generic | sectile-opt | FileCheck %s

// The shape of attention on sm_90a: a group of warps copies, two compute. The scores of a pass are under way together
// with the second product of the one before. K is read as it is, V transposed; rows of 256 bytes come in two panels.
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
!view = !tile.view<4xbf16>
!one = !block.shared<1x128x128xbf16, step = 1, span = 8, panel = 64>
!ring = !block.shared<2x128x128xbf16, step = 1, span = 8, panel = 64>
!stage = !block.shared<128x128xbf16, step = 1, span = 8, panel = 64>
!tile = tensor<128x128xf32, #c>
!token = !block.token<!tile>

// CHECK-LABEL: block.kernel @attention
block.kernel @attention(%q: !view {tile.bulk}, %k: !view {tile.bulk},
                        %v: !view {tile.bulk}, %out: !tile.view<2xf32>, %b: i32, %h: i32, %n: i32) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c128 = arith.constant 128 : i32
  // CHECK: %[[Q:.*]] = block.alloc : <1x128x128xbf16, step = 1, span = 8, panel = 64>
  %qRing = block.alloc : !one
  // CHECK: %[[RING:.*]] = block.alloc : <2x128x128xbf16, step = 1, span = 8, panel = 64>
  %kRing = block.alloc : !ring
  %vRing = block.alloc : !ring
  // CHECK: block.specialize roles ["producer", "consumer"] warps [4, 8] registers [24, 240] {
  block.specialize roles ["producer", "consumer"] warps [4, 8] registers [24, 240] {
    block.acquire %qRing[%c0] : !one
    block.copy_bulk %q[%b, %c0, %h, %c0] -> %qRing[%c0] : !view -> !one
    scf.for %j = %c0 to %n step %c1 : i32 {
      %key = arith.muli %j, %c128 : i32
      // CHECK: block.acquire %[[RING]][%[[J:.*]]] : <2x128x128xbf16, step = 1, span = 8, panel = 64>
      block.acquire %kRing[%j] : !ring
      // CHECK: block.copy_bulk %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}] -> %[[RING]][%[[J]]] : <4xbf16> -> <2x128x128xbf16, step = 1, span = 8, panel = 64>
      block.copy_bulk %k[%b, %key, %h, %c0] -> %kRing[%j] : !view -> !ring
      block.acquire %vRing[%j] : !ring
      block.copy_bulk %v[%b, %key, %h, %c0] -> %vRing[%j] : !view -> !ring
    }
  }, {
    %zero = arith.constant dense<0.0> : !tile
    // CHECK: %[[QS:.*]] = block.wait_full %[[Q]][%{{.*}}] : <1x128x128xbf16, step = 1, span = 8, panel = 64> -> <128x128xbf16, step = 1, span = 8, panel = 64>
    %Q = block.wait_full %qRing[%c0] : !one -> !stage
    %K0 = block.wait_full %kRing[%c0] : !ring -> !stage
    // CHECK: %[[S:.*]] = block.dot_async %[[QS]], %{{.*}}, %{{.*}} {transposed_b} : !block.shared<128x128xbf16, step = 1, span = 8, panel = 64>, <128x128xbf16, step = 1, span = 8, panel = 64>, tensor<128x128xf32, #{{.*}}>
    %t0 = block.dot_async %Q, %K0, %zero {transposed_b} : !stage, !stage, !tile
    // CHECK: block.dot_wait %[[S]] pending 0 : <tensor<128x128xf32, #{{.*}}>>
    %s0 = block.dot_wait %t0 pending 0 : !token
    // CHECK: block.release %[[RING]][%{{.*}}] : <2x128x128xbf16, step = 1, span = 8, panel = 64>
    block.release %kRing[%c0] : !ring
    %p0 = tile.cast %s0 : !tile to tensor<128x128xbf16, #c>
    %w0 = block.convert %p0 : tensor<128x128xbf16, #c> -> tensor<128x128xbf16, #a>
    %r:2 = scf.for %j = %c1 to %n step %c1 iter_args(%acc = %zero, %w = %w0) -> (!tile, tensor<128x128xbf16, #a>) : i32 {
      %before = arith.subi %j, %c1 : i32
      %K = block.wait_full %kRing[%j] : !ring -> !stage
      %ts = block.dot_async %Q, %K, %zero {transposed_b} : !stage, !stage, !tile
      %V = block.wait_full %vRing[%before] : !ring -> !stage
      // CHECK: block.dot_async %{{.*}}, %{{.*}}, %{{.*}} : tensor<128x128xbf16, #{{.*}}>, <128x128xbf16, step = 1, span = 8, panel = 64>, tensor<128x128xf32, #{{.*}}>
      %to = block.dot_async %w, %V, %acc : tensor<128x128xbf16, #a>, !stage, !tile
      %s = block.dot_wait %ts pending 1 : !token
      block.release %kRing[%j] : !ring
      %p = tile.cast %s : !tile to tensor<128x128xbf16, #c>
      %next = block.convert %p : tensor<128x128xbf16, #c> -> tensor<128x128xbf16, #a>
      %o = block.dot_wait %to pending 0 : !token
      block.release %vRing[%before] : !ring
      scf.yield %o, %next : !tile, tensor<128x128xbf16, #a>
    }
    block.release %qRing[%c0] : !one
    %last = arith.subi %n, %c1 : i32
    %V = block.wait_full %vRing[%last] : !ring -> !stage
    %t = block.dot_async %r#1, %V, %r#0 : tensor<128x128xbf16, #a>, !stage, !tile
    %o = block.dot_wait %t pending 0 : !token
    block.release %vRing[%last] : !ring
    tile.store %o, %out[%c0, %c0] : !tile, !tile.view<2xf32>
  }
  block.return
}
