// RUN: sectile-opt %s --sectile-assign-layouts --sectile-stage-operands=async-copies=false --sectile-prefetch-loads --canonicalize --cse --sectile-check-shared --sectile-check-layouts | FileCheck %s

// K of the first pass before the loop, of each next one as soon as this one's registers are written. V is loaded in its
// own pass: it is under way during the first product. What the kernel writes itself is not read ahead of time.
// CHECK-LABEL: block.kernel @ahead
// CHECK: %[[FIRST:.*]] = tile.load %[[K:.*]][%c0_i32, %c0_i32] pad 1.000000e+00
// CHECK: scf.for %[[J:.*]] = %c0_i32 to %{{.*}} step %c64_i32 iter_args(%{{.*}} = %{{.*}}, %[[NOW:.*]] = %[[FIRST]])
// CHECK-NOT: tile.load
// CHECK: block.write %[[NOW]]
// CHECK: %[[LATER:.*]] = arith.addi %[[J]], %c64_i32
// CHECK: %[[NEXT:.*]] = tile.load %[[K]][%[[LATER]], %c0_i32] pad 1.000000e+00
// CHECK: %[[V:.*]] = tile.load %{{.*}}[%[[J]], %c0_i32]
// CHECK: block.barrier
// CHECK: block.dot
// CHECK: block.write %[[V]]
// CHECK: block.dot
// CHECK: scf.yield %{{.*}}, %[[NEXT]]
tile.kernel @ahead(%k: !tile.view<2xf16> {tile.access = "input"}, %v: !tile.view<2xf16> {tile.access = "input"},
                   %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf16>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %K = tile.load %k[%j, %c0] pad 1.0 : f16 : !tile.view<2xf16> -> tensor<64x64xf16>
    %V = tile.load %v[%j, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
    %S = tile.dot %one, %K, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %P = tile.cast %S : tensor<64x64xf32> to tensor<64x64xf16>
    %O = tile.dot %P, %V, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %O : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}

// CHECK-LABEL: block.kernel @written
// CHECK-NOT: tile.load
// CHECK: scf.for
// CHECK: tile.load
tile.kernel @written(%x: !tile.view<2xf16> {tile.access = "inout"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf16>
  scf.for %j = %c0 to %n step %c64 : i32 {
    %X = tile.load %x[%j, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
    %O = tile.dot %one, %X, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %H = tile.cast %O : tensor<64x64xf32> to tensor<64x64xf16>
    tile.store %H, %x[%j, %c0] : tensor<64x64xf16>, !tile.view<2xf16>
  }
  tile.return
}
