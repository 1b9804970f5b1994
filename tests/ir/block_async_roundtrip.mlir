// RUN: sectile-opt %s --sectile-check-rings --sectile-check-shared | sectile-opt | FileCheck %s
// RUN: sectile-opt %s --mlir-print-op-generic | sectile-opt | FileCheck %s

// The shape of attention on sm_90a: a group of warps copies, two compute.
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0], [64, 0]]>

// CHECK-LABEL: block.kernel @attention
block.kernel @attention(%k: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}, %n: i32) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %q = block.alloc : !block.shared<128x64xbf16, step = 1, span = 8>
  %ring = block.alloc : !block.shared<2x128x64xbf16, step = 1, span = 8>
  // CHECK: block.specialize roles ["producer", "consumer"] warps [4, 8] registers [24, 240] {
  block.specialize roles ["producer", "consumer"] warps [4, 8] registers [24, 240] {
    scf.for %j = %c0 to %n step %c1 : i32 {
      // CHECK: block.acquire %[[RING:.*]][%[[J:.*]]] : <2x128x64xbf16, step = 1, span = 8>
      block.acquire %ring[%j] : !block.shared<2x128x64xbf16, step = 1, span = 8>
      // CHECK: block.copy_bulk %{{.*}}[%[[J]], %{{.*}}] -> %[[RING]][%[[J]]] : <2xbf16> -> <2x128x64xbf16, step = 1, span = 8>
      block.copy_bulk %k[%j, %c0] -> %ring[%j] : !tile.view<2xbf16> -> !block.shared<2x128x64xbf16, step = 1, span = 8>
    }
  }, {
    %zero = arith.constant dense<0.0> : tensor<128x128xf32, #c>
    %p = arith.constant dense<1.0> : tensor<128x128xbf16, #a>
    %acc0 = arith.constant dense<0.0> : tensor<128x64xf32, #c>
    %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #c>) : i32 {
      // CHECK: %[[K:.*]] = block.wait_full %[[RING]][%[[I:.*]]] : <2x128x64xbf16, step = 1, span = 8> -> <128x64xbf16, step = 1, span = 8>
      %K = block.wait_full %ring[%j] : !block.shared<2x128x64xbf16, step = 1, span = 8> -> !block.shared<128x64xbf16, step = 1, span = 8>
      // CHECK: %[[S:.*]] = block.dot_async %{{.*}}, %[[K]], %{{.*}} {transposed_b} : !block.shared<128x64xbf16, step = 1, span = 8>, <128x64xbf16, step = 1, span = 8>, tensor<128x128xf32, #{{.*}}>
      %ts = block.dot_async %q, %K, %zero {transposed_b} : !block.shared<128x64xbf16, step = 1, span = 8>, !block.shared<128x64xbf16, step = 1, span = 8>, tensor<128x128xf32, #c>
      // CHECK: %[[O:.*]] = block.dot_async %{{.*}}, %[[K]], %{{.*}} : tensor<128x128xbf16, #{{.*}}>, <128x64xbf16, step = 1, span = 8>, tensor<128x64xf32, #{{.*}}>
      %to = block.dot_async %p, %K, %acc : tensor<128x128xbf16, #a>, !block.shared<128x64xbf16, step = 1, span = 8>, tensor<128x64xf32, #c>
      // CHECK: block.dot_wait %[[S]] pending 1 : <tensor<128x128xf32, #{{.*}}>>
      %s = block.dot_wait %ts pending 1 : !block.token<tensor<128x128xf32, #c>>
      %o = block.dot_wait %to pending 0 : !block.token<tensor<128x64xf32, #c>>
      // CHECK: block.release %[[RING]][%[[I]]] : <2x128x64xbf16, step = 1, span = 8>
      block.release %ring[%j] : !block.shared<2x128x64xbf16, step = 1, span = 8>
      scf.yield %o : tensor<128x64xf32, #c>
    }
  }
  block.return
}
