// RUN: sectile-opt %s --sectile-fuse-accumulator | FileCheck %s

// What a loop carries becomes the accumulator, scaled or not, on whichever side it stands.
// CHECK-LABEL: @sum
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: %[[SCALED:.*]] = arith.mulf %[[X]]
// CHECK-DAG: tile.dot %{{.*}}, %{{.*}}, %[[SCALED]]
// CHECK-DAG: tile.dot %{{.*}}, %{{.*}}, %[[Y]]
// CHECK-NOT: arith.addf
// CHECK: tile.return
tile.kernel @sum(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%u = %zero, %v = %zero) -> (tensor<16x16xf32>, tensor<16x16xf32>) : i32 {
    %scaled = arith.mulf %u, %a : tensor<16x16xf32>
    %p = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    %s = arith.addf %scaled, %p : tensor<16x16xf32>
    %q = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    %t = arith.addf %q, %v : tensor<16x16xf32>
    scf.yield %s, %t : tensor<16x16xf32>, tensor<16x16xf32>
  }
  tile.store %r#0, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.store %r#1, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// A bias may be larger than the product by far: it is added once.
// CHECK-LABEL: @bias
// CHECK: tile.dot
// CHECK: arith.addf
tile.kernel @bias(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %p = tile.dot %a, %a, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  %s = arith.addf %p, %a : tensor<16x16xf32>
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
