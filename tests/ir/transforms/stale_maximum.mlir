// RUN: sectile-opt %s --sectile-stale-maximum --canonicalize --cse | FileCheck %s

// Exponentials of the maximum of the passes before. Only where their sums are large or NaN, all is computed again, from
// the product on, with a new maximum; cse leaves that alone.
// CHECK-LABEL: @softmax
// CHECK-DAG: %[[LIMIT:.*]] = arith.constant dense<1.024000e+03> : tensor<16x1xf32>
// CHECK: scf.for {{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[ACC:.*]] = %{{.*}})
// CHECK: %[[K:.*]] = tile.load
// CHECK: %[[D:.*]] = tile.dot %[[Q:.*]], %[[K]], %[[ZERO:.*]] :
// CHECK-NOT: tile.reduce max
// CHECK: %[[S:.*]] = arith.addf %[[D]],
// CHECK-NOT: tile.reduce max
// CHECK: %[[MS:.*]] = tile.broadcast %[[M]]
// CHECK: %[[E:.*]] = arith.subf %[[S]], %[[MS]]
// CHECK: %[[P:.*]] = math.exp2 %[[E]]
// CHECK: %[[SUM:.*]] = tile.reduce sum %[[P]]
// CHECK: %[[LARGE:.*]] = arith.cmpf ugt, %[[SUM]], %[[LIMIT]]
// CHECK: %[[NEED:.*]] = tile.any %[[LARGE]]
// CHECK: %[[R:.*]]:5 = scf.if %[[NEED]]
// CHECK: tile.dot %[[Q]], %[[K]], %[[ZERO]] {tile.again}
// CHECK: tile.load {{.*}} {tile.again}
// CHECK: arith.addf
// CHECK: tile.reduce max
// CHECK: arith.maxnumf %[[M]]
// CHECK: math.exp2
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[P]], %[[M]], %[[SUM]], %[[L]], %[[ACC]]
// CHECK: %[[L1:.*]] = arith.addf %[[R]]#3, %[[R]]#2
// CHECK: %[[ACC1:.*]] = tile.dot %[[R]]#0, %[[K]], %[[R]]#4
// CHECK: scf.yield %[[R]]#1, %[[L1]], %[[ACC1]]
tile.kernel @softmax(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
                  %y: !tile.view<2xf32> {tile.access = "inout", tile.name = "y"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %none = arith.constant dense<0xFF800000> : tensor<16x1xf32>
  %zero = arith.constant dense<0.0> : tensor<16x1xf32>
  %one = arith.constant dense<1.0> : tensor<16x1xf32>
  %products = arith.constant dense<0.0> : tensor<16x32xf32>
  %q = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
  %r:3 = scf.for %i = %c0 to %n step %c32 iter_args(%m = %none, %l = %zero, %acc = %products)
      -> (tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x32xf32>) : i32 {
    %k = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
    %d = tile.dot %q, %k, %products : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
    %bias = tile.load %x[%c1, %i] : !tile.view<2xf32> -> tensor<16x32xf32>
    %s = arith.addf %d, %bias : tensor<16x32xf32>
    %top = tile.reduce max %s axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %l0 = arith.mulf %l, %alpha : tensor<16x1xf32>
    %gs = tile.broadcast %g : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    %sum = tile.reduce sum %p axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %l1 = arith.addf %l0, %sum : tensor<16x1xf32>
    %alphas = tile.broadcast %alpha : tensor<16x1xf32> -> tensor<16x32xf32>
    %acc0 = arith.mulf %acc, %alphas : tensor<16x32xf32>
    %acc1 = tile.dot %p, %k, %acc0 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<16x1xf32>, tensor<16x1xf32>, tensor<16x32xf32>
  }
  %empty = arith.cmpf oeq, %r#1, %zero : tensor<16x1xf32>
  %norm = arith.select %empty, %one, %r#1 : tensor<16x1xi1>, tensor<16x1xf32>
  %inverse = arith.divf %one, %norm : tensor<16x1xf32>
  %inverses = tile.broadcast %inverse : tensor<16x1xf32> -> tensor<16x32xf32>
  %out = arith.mulf %r#2, %inverses : tensor<16x32xf32>
  tile.store %out, %y[%c0, %c0] : tensor<16x32xf32>, !tile.view<2xf32>
  %log = math.log2 %norm : tensor<16x1xf32>
  %lse = arith.addf %r#0, %log : tensor<16x1xf32>
  tile.store %lse, %y[%c0, %c32] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}

// A maximum that is subtracted as it is; sums that are parts of rows, scaled before the exponentials are there.
// CHECK-LABEL: @parts
// CHECK: tile.reduce sum {{.*}} parts 4
// CHECK: arith.cmpf ugt, {{.*}} : tensor<16x4xf32>
// CHECK: tile.any %{{.*}} : tensor<16x4xi1>
// CHECK: scf.if
tile.kernel @parts(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
                  %y: !tile.view<2xf32> {tile.access = "inout", tile.name = "y"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c32 = arith.constant 32 : i32
  %none = arith.constant dense<0xFF800000> : tensor<16x1xf32>
  %zero = arith.constant dense<0.0> : tensor<16x1xf32>
  %zeros = arith.constant dense<0.0> : tensor<16x4xf32>
  %one = arith.constant dense<1.0> : tensor<16x1xf32>
  %products = arith.constant dense<0.0> : tensor<16x32xf32>
  %q = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
  %loop:3 = scf.for %i = %c0 to %n step %c32 iter_args(%m = %none, %l = %zeros, %acc = %products)
      -> (tensor<16x1xf32>, tensor<16x4xf32>, tensor<16x32xf32>) : i32 {
    %k = tile.load %x[%i, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
    %d = tile.dot %q, %k, %products : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
    %bias = tile.load %x[%c1, %i] : !tile.view<2xf32> -> tensor<16x32xf32>
    %s = arith.addf %d, %bias : tensor<16x32xf32>
    %top = tile.reduce max %s axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %old = arith.subf %m, %m1 : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %alpha4 = tile.broadcast %alpha : tensor<16x1xf32> -> tensor<16x4xf32>
    %l0 = arith.mulf %l, %alpha4 : tensor<16x4xf32>
    %gs = tile.broadcast %m1 : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    %sum = tile.reduce sum %p axis 1 parts 4 : tensor<16x32xf32> -> tensor<16x4xf32>
    %l1 = arith.addf %l0, %sum : tensor<16x4xf32>
    %alphas = tile.broadcast %alpha : tensor<16x1xf32> -> tensor<16x32xf32>
    %acc0 = arith.mulf %acc, %alphas : tensor<16x32xf32>
    %acc1 = tile.dot %p, %k, %acc0 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
    scf.yield %m1, %l1, %acc1 : tensor<16x1xf32>, tensor<16x4xf32>, tensor<16x32xf32>
  }
  %sums = tile.reduce sum %loop#1 axis 1 : tensor<16x4xf32> -> tensor<16x1xf32>
  %empty = arith.cmpf oeq, %sums, %zero : tensor<16x1xf32>
  %norm = arith.select %empty, %one, %sums : tensor<16x1xi1>, tensor<16x1xf32>
  %inverse = arith.divf %one, %norm : tensor<16x1xf32>
  %inverses = tile.broadcast %inverse : tensor<16x1xf32> -> tensor<16x32xf32>
  %out = arith.mulf %loop#2, %inverses : tensor<16x32xf32>
  tile.store %out, %y[%c0, %c0] : tensor<16x32xf32>, !tile.view<2xf32>
  %log = math.log2 %norm : tensor<16x1xf32>
  %lse = arith.addf %loop#0, %log : tensor<16x1xf32>
  tile.store %lse, %y[%c0, %c32] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}
