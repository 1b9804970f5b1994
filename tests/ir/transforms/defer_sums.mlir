// RUN: sectile-opt %s --sectile-defer-sums --canonicalize | FileCheck %s
// RUN: not sectile-opt %s --sectile-defer-sums=parts=1 2>&1 | FileCheck %s --check-prefix=PARTS

// PARTS: error: sums are deferred in 2 parts or more, got 1

// A sum that is scaled by a factor a row, from 0 on, and one that is not, from something else on.
// CHECK-LABEL: @sums
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<16x4xf32>
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}} : tensor<16x4xi32>
// CHECK-DAG: %[[START:.*]] = tile.broadcast %{{.*}} : tensor<16x1xf32> -> tensor<16x4xf32>
// CHECK: %[[INIT:.*]] = arith.select %[[FIRST]], %[[START]], %[[ZERO]]
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[L:.*]] = %[[ZERO]], %[[N:.*]] = %[[INIT]])
// CHECK-DAG: %[[F:.*]] = tile.broadcast %{{.*}} : tensor<16x1xf32> -> tensor<16x4xf32>
// CHECK-DAG: %[[SCALED:.*]] = arith.mulf %[[L]], %[[F]]
// CHECK-DAG: %[[P:.*]] = tile.reduce sum %{{.*}} axis 1 parts 4 : tensor<16x32xf32> -> tensor<16x4xf32>
// CHECK-DAG: %[[L1:.*]] = arith.addf %[[SCALED]], %[[P]]
// CHECK-DAG: %[[N1:.*]] = arith.addf %[[N]], %{{.*}} : tensor<16x4xf32>
// CHECK: scf.yield %[[L1]], %[[N1]]
// CHECK-DAG: tile.reduce sum %[[R]]#0 axis 1 : tensor<16x4xf32> -> tensor<16x1xf32>
// CHECK-DAG: tile.reduce sum %[[R]]#1 axis 1 : tensor<16x4xf32> -> tensor<16x1xf32>
tile.kernel @sums(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x1xf32>
  %start = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x1xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%l = %zero, %m = %start) -> (tensor<16x1xf32>, tensor<16x1xf32>) : i32 {
    %t = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
    %f = tile.load %x[%i, %c1] : !tile.view<2xf32> -> tensor<16x1xf32>
    %scaled = arith.mulf %f, %l : tensor<16x1xf32>
    %s = tile.reduce sum %t axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %l1 = arith.addf %s, %scaled : tensor<16x1xf32>
    %m1 = arith.addf %m, %s : tensor<16x1xf32>
    scf.yield %l1, %m1 : tensor<16x1xf32>, tensor<16x1xf32>
  }
  tile.store %r#0, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.store %r#1, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}

// Not deferred: a sum that the loop reads, a maximum, a sum over few elements, and a sum of sums.
// CHECK-LABEL: @kept
// CHECK-NOT: parts
tile.kernel @kept(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x1xf32>
  %r:4 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero, %b = %zero, %c = %zero, %d = %zero)
      -> (tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>) : i32 {
    %t = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
    %few = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x4xf32>
    %s = tile.reduce sum %t axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %a1 = arith.addf %a, %s : tensor<16x1xf32>
    tile.store %a, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
    %most = tile.reduce max %t axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %b1 = arith.addf %b, %most : tensor<16x1xf32>
    %sfew = tile.reduce sum %few axis 1 : tensor<16x4xf32> -> tensor<16x1xf32>
    %c1f = arith.addf %c, %sfew : tensor<16x1xf32>
    %s2 = arith.mulf %s, %s : tensor<16x1xf32>
    %d1 = arith.addf %d, %s2 : tensor<16x1xf32>
    scf.yield %a1, %b1, %c1f, %d1 : tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x1xf32>
  }
  tile.store %r#0, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.store %r#1, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.store %r#2, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.store %r#3, %x[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}
