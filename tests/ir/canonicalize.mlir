// Folders and canonical forms, and that constants stay splats.
// RUN: sectile-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @constants
tile.kernel @constants(%x: !tile.view<2xf32>, %i: i32) {
  // CHECK-NEXT: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<8x4xf32>
  // CHECK-NEXT: tile.store %[[C]]
  %two = arith.constant 2.0 : f32
  %splat = tile.splat %two : tensor<1x8xf32>
  %column = tile.transpose %splat [1, 0] : tensor<1x8xf32> -> tensor<8x1xf32>
  %wide = tile.broadcast %column : tensor<8x1xf32> -> tensor<8x4xf32>
  %flat = tile.reshape %wide : tensor<8x4xf32> -> tensor<32xf32>
  %back = tile.reshape %flat : tensor<32xf32> -> tensor<8x4xf32>
  tile.store %back, %x[%i, %i] : tensor<8x4xf32>, !tile.view<2xf32>
  tile.return
}

// CHECK-LABEL: @splats
// CHECK-SAME: %[[S:[a-z0-9]+]]: f32)
tile.kernel @splats(%x: !tile.view<2xf32>, %i: i32, %s: f32) {
  // CHECK-NEXT: %[[T:.*]] = tile.splat %[[S]] : tensor<8x4xf32>
  // CHECK-NEXT: tile.store %[[T]]
  %splat = tile.splat %s : tensor<1x8xf32>
  %column = tile.transpose %splat [1, 0] : tensor<1x8xf32> -> tensor<8x1xf32>
  %wide = tile.broadcast %column : tensor<8x1xf32> -> tensor<8x4xf32>
  %flat = tile.reshape %wide : tensor<8x4xf32> -> tensor<32xf32>
  %back = tile.reshape %flat : tensor<32xf32> -> tensor<8x4xf32>
  tile.store %back, %x[%i, %i] : tensor<8x4xf32>, !tile.view<2xf32>
  tile.return
}

// CHECK-LABEL: @identities
// CHECK-NEXT: %[[T:.*]] = tile.load
// CHECK-NEXT: tile.store %[[T]]
tile.kernel @identities(%x: !tile.view<2xf32>, %i: i32) {
  %t = tile.load %x[%i, %i] : !tile.view<2xf32> -> tensor<8x1xf32>
  %a = tile.broadcast %t : tensor<8x1xf32> -> tensor<8x1xf32>
  %b = tile.reshape %a : tensor<8x1xf32> -> tensor<8x1xf32>
  %c = tile.transpose %b [0, 1] : tensor<8x1xf32> -> tensor<8x1xf32>
  %d = tile.cast %c : tensor<8x1xf32> to tensor<8x1xf32>
  %e = tile.reduce sum %d axis 1 : tensor<8x1xf32> -> tensor<8x1xf32>
  tile.store %e, %x[%i, %i] : tensor<8x1xf32>, !tile.view<2xf32>
  tile.return
}

// CHECK-LABEL: @compose
tile.kernel @compose(%x: !tile.view<3xf32>, %i: i32) {
  // CHECK: %[[T:.*]] = tile.load
  %t = tile.load %x[%i, %i, %i] : !tile.view<3xf32> -> tensor<1x1x4xf32>
  // CHECK-NEXT: %[[B:.*]] = tile.broadcast %[[T]] : tensor<1x1x4xf32> -> tensor<2x3x4xf32>
  %b0 = tile.broadcast %t : tensor<1x1x4xf32> -> tensor<1x3x4xf32>
  %b1 = tile.broadcast %b0 : tensor<1x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK-NEXT: %[[X:.*]] = tile.transpose %[[B]] [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %x0 = tile.transpose %b1 [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %x1 = tile.transpose %x0 [1, 0, 2] : tensor<2x4x3xf32> -> tensor<4x2x3xf32>
  // CHECK-NEXT: %[[R:.*]] = tile.reshape %[[X]] : tensor<4x2x3xf32> -> tensor<24xf32>
  %r0 = tile.reshape %x1 : tensor<4x2x3xf32> -> tensor<6x4xf32>
  %r1 = tile.reshape %r0 : tensor<6x4xf32> -> tensor<24xf32>
  // CHECK-NEXT: tile.store %[[R]]
  tile.store %r1, %x[%i, %i, %i] : tensor<24xf32>, !tile.view<3xf32>
  // Back and forth is nothing at all.
  // CHECK-NEXT: tile.store %[[B]]
  %x2 = tile.transpose %x0 [0, 2, 1] : tensor<2x4x3xf32> -> tensor<2x3x4xf32>
  tile.store %x2, %x[%i, %i, %i] : tensor<2x3x4xf32>, !tile.view<3xf32>
  tile.return
}

// CHECK-LABEL: @extract
// CHECK-SAME: (%[[X:.*]]: !tile.view<1xi32>, %[[I:[a-z0-9]+]]: i32)
tile.kernel @extract(%x: !tile.view<1xi32>, %i: i32) {
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant dense<1> : tensor<4xi32>
  // CHECK-NEXT: %[[T:.*]] = tile.load
  %t = tile.load %x[%i] : !tile.view<1xi32> -> tensor<1xi32>
  %r = tile.reshape %t : tensor<1xi32> -> tensor<1x1xi32>
  // CHECK-NEXT: %[[E:.*]] = tile.extract %[[T]] : tensor<1xi32>
  // CHECK-NEXT: tile.store %[[ONE]], %[[X]][%[[E]]]
  %e = tile.extract %r : tensor<1x1xi32>
  %c = arith.constant dense<1> : tensor<1xi32>
  %one = tile.extract %c : tensor<1xi32>
  %ones = tile.splat %one : tensor<4xi32>
  tile.store %ones, %x[%e] : tensor<4xi32>, !tile.view<1xi32>
  // CHECK-NEXT: tile.store %[[ONE]], %[[X]][%[[I]]]
  %s = tile.splat %i : tensor<1x1xi32>
  %j = tile.extract %s : tensor<1x1xi32>
  tile.store %ones, %x[%j] : tensor<4xi32>, !tile.view<1xi32>
  tile.return
}

// Exact conversions fold; those that round are left to the targets.
// CHECK-LABEL: @casts
tile.kernel @casts(%h: !tile.view<1xf16>, %q: !tile.view<1xf8E4M3FN>, %b: !tile.view<1xi1>, %n: !tile.view<1xi32>,
                   %f: !tile.view<1xf32>, %i: i32) {
  // CHECK-DAG: %[[HALF:.*]] = arith.constant dense<1.500000e+00> : tensor<4xf16>
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant dense<true> : tensor<4xi1>
  // CHECK-DAG: %[[THREE:.*]] = arith.constant dense<-3> : tensor<4xi32>
  // CHECK-DAG: %[[REAL:.*]] = arith.constant dense<-3.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[UNIT:.*]] = arith.constant dense<1.000000e+00> : tensor<4xf32>
  %c0 = arith.constant dense<1.5> : tensor<4xf32>
  %r0 = tile.cast %c0 : tensor<4xf32> to tensor<4xf16>
  // CHECK: tile.store %[[HALF]]
  tile.store %r0, %h[%i] : tensor<4xf16>, !tile.view<1xf16>
  %r1 = tile.cast %c0 : tensor<4xf32> to tensor<4xi1>
  // CHECK: tile.store %[[TRUE]]
  tile.store %r1, %b[%i] : tensor<4xi1>, !tile.view<1xi1>
  %c2 = arith.constant dense<-3.0> : tensor<4xf32>
  %r2 = tile.cast %c2 : tensor<4xf32> to tensor<4xi32>
  // CHECK: tile.store %[[THREE]]
  tile.store %r2, %n[%i] : tensor<4xi32>, !tile.view<1xi32>
  %c3 = arith.constant dense<-3> : tensor<4xi32>
  %r3 = tile.cast %c3 : tensor<4xi32> to tensor<4xf32>
  // CHECK: tile.store %[[REAL]]
  tile.store %r3, %f[%i] : tensor<4xf32>, !tile.view<1xf32>
  %c4 = arith.constant true
  %s4 = tile.cast %c4 : i1 to f32
  %r4 = tile.splat %s4 : tensor<4xf32>
  // CHECK: tile.store %[[UNIT]]
  tile.store %r4, %f[%i] : tensor<4xf32>, !tile.view<1xf32>
  // CHECK: tile.cast %{{.*}} : tensor<4xf32> to tensor<4xi32>
  %r5 = tile.cast %c0 : tensor<4xf32> to tensor<4xi32>
  tile.store %r5, %n[%i] : tensor<4xi32>, !tile.view<1xi32>
  // CHECK: tile.cast %{{.*}} : tensor<4xf32> to tensor<4xf8E4M3FN>
  %c6 = arith.constant dense<0x7F800000> : tensor<4xf32>
  %r6 = tile.cast %c6 : tensor<4xf32> to tensor<4xf8E4M3FN>
  tile.store %r6, %q[%i] : tensor<4xf8E4M3FN>, !tile.view<1xf8E4M3FN>
  // CHECK: tile.cast %{{.*}} : tensor<4xi32> to tensor<4xf16>
  %c7 = arith.constant dense<4097> : tensor<4xi32>
  %r7 = tile.cast %c7 : tensor<4xi32> to tensor<4xf16>
  tile.store %r7, %h[%i] : tensor<4xf16>, !tile.view<1xf16>
  tile.return
}

// Parts of single elements are the elements; what is true of a constant is known.
// CHECK-LABEL: @parts
// CHECK-NEXT: %[[T:.*]] = tile.load
// CHECK-NEXT: tile.store %[[T]]
// CHECK-NEXT: %[[B:.*]] = arith.cmpi
// CHECK-NEXT: scf.if %[[B]]
// CHECK-NOT: scf.if
tile.kernel @parts(%x: !tile.view<2xf32>, %i: i32, %i0: i32) {
  %t = tile.load %x[%i, %i] : !tile.view<2xf32> -> tensor<8x4xf32>
  %s = tile.reduce sum %t axis 1 parts 4 : tensor<8x4xf32> -> tensor<8x4xf32>
  tile.store %s, %x[%i, %i] : tensor<8x4xf32>, !tile.view<2xf32>
  %b = arith.cmpi eq, %i, %i0 : i32
  %splat = tile.splat %b : tensor<8x4xi1>
  %any = tile.any %splat : tensor<8x4xi1> -> i1
  scf.if %any {
    tile.store %s, %x[%i, %i] : tensor<8x4xf32>, !tile.view<2xf32>
  }
  %none = arith.constant dense<false> : tensor<8x4xi1>
  %never = tile.any %none : tensor<8x4xi1> -> i1
  scf.if %never {
    tile.store %s, %x[%i, %i] : tensor<8x4xf32>, !tile.view<2xf32>
  }
  tile.return
}
