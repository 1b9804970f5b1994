// Loops that stay as they are, and what the remark says.
// RUN: sectile-opt %s --sectile-stale-maximum -split-input-file -verify-diagnostics | FileCheck %s
// CHECK-NOT: tile.any

// The maximum itself is a result.
tile.kernel @result(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what depends on it is used by 'tile.store'}}
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
  %lse = arith.addf %r#0, %r#0 : tensor<16x1xf32>
  tile.store %lse, %y[%c0, %c32] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// Sums are a result.
tile.kernel @sums(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what depends on it is used by 'tile.store'}}
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
  %out = arith.addf %r#2, %r#2 : tensor<16x32xf32>
  tile.store %out, %y[%c0, %c0] : tensor<16x32xf32>, !tile.view<2xf32>
  %log = math.log2 %norm : tensor<16x1xf32>
  %lse = arith.addf %r#0, %log : tensor<16x1xf32>
  tile.store %lse, %y[%c0, %c32] : tensor<16x1xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// A weight leaves the loop as it is.
tile.kernel @stores(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the loop has 'tile.store', and would read again what may have changed}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %l0 = arith.mulf %l, %alpha : tensor<16x1xf32>
    %gs = tile.broadcast %g : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    tile.store %p, %y[%i, %c0] : tensor<16x32xf32>, !tile.view<2xf32>
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

// -----

// The exponentials are not summed.
tile.kernel @unsummed(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the exponentials are not summed, so that nothing tells whether they are in range}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %l0 = arith.mulf %l, %alpha : tensor<16x1xf32>
    %gs = tile.broadcast %g : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    %sum = tile.reduce sum %s axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
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

// -----

// What is carried is not scaled.
tile.kernel @unscaled(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what the loop carries depends on it and is not scaled with it}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %gs = tile.broadcast %g : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    %sum = tile.reduce sum %p axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %l1 = arith.addf %sum, %sum : tensor<16x1xf32>
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

// -----

// What is carried is added to what is not.
tile.kernel @mixed(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what depends on it is used by 'arith.addf'}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %gs = tile.broadcast %g : tensor<16x1xf32> -> tensor<16x32xf32>
    %e = arith.subf %s, %gs : tensor<16x32xf32>
    %p = math.exp2 %e : tensor<16x32xf32>
    %sum = tile.reduce sum %p axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    %l1 = arith.addf %l, %sum : tensor<16x1xf32>
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

// -----

// The factor is added to a sum.
tile.kernel @added(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the factor for the old sums is used by 'arith.addf'}}
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
    %l1 = arith.addf %l0, %alpha : tensor<16x1xf32>
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

// -----

// Weights are squared.
tile.kernel @squared(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what depends on it is used by 'tile.dot'}}
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
    %pp = arith.mulf %p, %p : tensor<16x32xf32>
    %alphas = tile.broadcast %alpha : tensor<16x1xf32> -> tensor<16x32xf32>
    %acc0 = arith.mulf %acc, %alphas : tensor<16x32xf32>
    %acc1 = tile.dot %pp, %k, %acc0 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
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

// -----

// Something else is added to weights.
tile.kernel @shifted(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: what depends on it is used by 'arith.addf'}}
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
    %pp = arith.addf %p, %bias : tensor<16x32xf32>
    %alphas = tile.broadcast %alpha : tensor<16x1xf32> -> tensor<16x32xf32>
    %acc0 = arith.mulf %acc, %alphas : tensor<16x32xf32>
    %acc1 = tile.dot %pp, %k, %acc0 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<16x32xf32>
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

// -----

// The old maximum is read.
tile.kernel @old(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    %ms = tile.broadcast %m : tensor<16x1xf32> -> tensor<16x32xf32>
    %sm = arith.addf %d, %bias : tensor<16x32xf32>
    %s = arith.addf %sm, %ms : tensor<16x32xf32>
    %top = tile.reduce max %s axis 1 : tensor<16x32xf32> -> tensor<16x1xf32>
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the old maximum is used by 'tile.broadcast'}}
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

// -----

// The new maximum is read.
tile.kernel @new(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the new maximum is used by 'arith.mulf'}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %zero : tensor<16x1xi1>, tensor<16x1xf32>
    %old = arith.subf %m, %g : tensor<16x1xf32>
    %alpha = math.exp2 %old : tensor<16x1xf32>
    %l0 = arith.mulf %l, %m1 : tensor<16x1xf32>
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

// -----

// A row without keys refers to 1.
tile.kernel @reference(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x"},
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
    // expected-remark@+1 {{this maximum is raised in every pass of the loop: the reference is used by 'arith.select'}}
    %m1 = arith.maxnumf %m, %top : tensor<16x1xf32>
    %seen = arith.cmpf ogt, %m1, %none : tensor<16x1xf32>
    %g = arith.select %seen, %m1, %one : tensor<16x1xi1>, tensor<16x1xf32>
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
