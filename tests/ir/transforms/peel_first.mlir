// RUN: sectile-opt %s --sectile-peel-first --canonicalize | FileCheck %s

// The first pass, if there is one, then the others; both start from what the loop started from.
// CHECK-LABEL: @product
// CHECK-SAME: %[[X:[a-z0-9]+]]: !tile.view<2xf32>{{.*}}, %[[A:[a-z0-9]+]]: i32, %[[B:[a-z0-9]+]]: i32)
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00>
// CHECK-DAG: %[[STEP:.*]] = arith.constant 3 : i32
// CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[A]], %[[B]] : i32
// CHECK: %[[R:.*]] = scf.if %[[ANY]]
// CHECK: %[[SECOND:.*]] = arith.addi %[[A]], %[[STEP]] : i32
// CHECK: %[[T:.*]] = tile.load %[[X]][%[[A]],
// CHECK: %[[FIRST:.*]] = tile.dot %[[T]], %[[T]], %[[ZERO]]
// CHECK: %[[REST:.*]] = scf.for %[[I:.*]] = %[[SECOND]] to %[[B]] step %[[STEP]] iter_args(%[[ACC:.*]] = %[[FIRST]])
// CHECK: tile.load %[[X]][%[[I]],
// CHECK: tile.dot %{{.*}}, %{{.*}}, %[[ACC]]
// CHECK: scf.yield %[[REST]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[ZERO]]
// CHECK: tile.store %[[R]]
tile.kernel @product(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %a: i32, %b: i32) {
  %c0 = arith.constant 0 : i32
  %c3 = arith.constant 3 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %r = scf.for %i = %a to %b step %c3 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %t = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
    %p = tile.dot %t, %t, %acc : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    scf.yield %p : tensor<16x16xf32>
  }
  tile.store %r, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// Two numbers change places in each pass: what the first one leaves is what the others start from.
// CHECK-LABEL: @swap
// CHECK: scf.if
// CHECK: %[[P:.*]] = tile.dot
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[U:[a-z0-9_]+]], %{{.*}} = %[[P]])
// CHECK: } else {
// CHECK: scf.yield %{{.*}}, %[[U]]
tile.kernel @swap(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %s = tile.load %x[%c1, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%u = %t, %v = %s) -> (tensor<16x16xf32>, tensor<16x16xf32>) : i32 {
    %p = tile.dot %u, %u, %v : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    scf.yield %v, %p : tensor<16x16xf32>, tensor<16x16xf32>
  }
  tile.store %r#0, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.store %r#1, %x[%c1, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// Loops without results are peeled, too; those without products are not.
// CHECK-LABEL: @stores
// CHECK: scf.if
// CHECK: tile.dot
// CHECK: tile.store
// CHECK: scf.for
// CHECK: tile.dot
// CHECK: tile.store
// CHECK-NOT: scf.if
// CHECK: scf.for
tile.kernel @stores(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
    %p = tile.dot %t, %t, %zero : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    tile.store %p, %x[%i, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  }
  scf.for %i = %c0 to %n step %c1 : i32 {
    %t = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
    %p = arith.addf %t, %t : tensor<16x16xf32>
    tile.store %p, %x[%i, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  }
  tile.return
}
