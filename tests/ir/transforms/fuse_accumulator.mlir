// RUN: sectile-opt %s --sectile-fuse-accumulator | FileCheck %s

// The sum becomes the accumulator, on whichever side it stands.
// CHECK-LABEL: @sum
// CHECK: %[[SCALED:.*]] = arith.mulf
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK-NOT: arith.addf
tile.kernel @sum(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %b = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %scaled = arith.mulf %a, %b : tensor<16x16xf32>
  %p = tile.dot %a, %b, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %s = arith.addf %scaled, %p : tensor<16x16xf32>
  tile.store %s, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// A product that others read, or that already accumulates, stays.
// CHECK-LABEL: @kept
// CHECK: tile.dot
// CHECK: arith.addf
// CHECK: tile.dot
// CHECK: arith.addf
tile.kernel @kept(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %p = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %s = arith.addf %p, %a : tensor<16x16xf32>
  tile.store %p, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  %q = tile.dot %a, %a, %s : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %r = arith.addf %q, %a : tensor<16x16xf32>
  tile.store %r, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}
