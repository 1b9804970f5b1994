// Every operation and type survives printing and parsing, in the custom and in the generic form.
// RUN: sectile-opt %s | sectile-opt | FileCheck %s
// RUN: sectile-opt %s --mlir-print-op-generic | sectile-opt | FileCheck %s

// CHECK-LABEL: tile.kernel @arguments(
// CHECK-SAME: %{{.*}}: !tile.view<4xbf16> {tile.access = "input", tile.name = "x", tile.unit_stride}
// CHECK-SAME: %{{.*}}: !tile.view<1xf8E4M3FN> {tile.access = "output", tile.name = "y"}
// CHECK-SAME: %{{.*}}: f32 {tile.access = "scalar", tile.name = "s"}
// CHECK-SAME: %{{.*}}: i32)
// CHECK: tile.return
tile.kernel @arguments(%x: !tile.view<4xbf16> {tile.access = "input", tile.name = "x", tile.unit_stride},
                       %y: !tile.view<1xf8E4M3FN> {tile.access = "output", tile.name = "y"},
                       %s: f32 {tile.access = "scalar", tile.name = "s"}, %n: i32) {
  tile.return
}

// CHECK-LABEL: tile.kernel @memory
// CHECK-SAME: (%[[X:.*]]: !tile.view<2xf32>, %[[Y:.*]]: !tile.view<2xi32>)
tile.kernel @memory(%x: !tile.view<2xf32>, %y: !tile.view<2xi32>) {
  // CHECK: %[[P:.*]] = tile.program 2
  %p = tile.program 2
  // CHECK: %[[N:.*]] = tile.dim %[[X]], 1 : <2xf32>
  %n = tile.dim %x, 1 : !tile.view<2xf32>
  // CHECK: %[[T:.*]] = tile.load %[[X]][%[[P]], %[[N]]] : <2xf32> -> tensor<8x4xf32>
  %t = tile.load %x[%p, %n] : !tile.view<2xf32> -> tensor<8x4xf32>
  // CHECK: tile.load %[[X]][%[[P]], %[[N]]] pad 1.000000e+00 : f32 : <2xf32> -> tensor<4xf32>
  %u = tile.load %x[%p, %n] pad 1.0 : f32 : !tile.view<2xf32> -> tensor<4xf32>
  // CHECK: %[[I:.*]] = tile.load %[[Y]][%[[P]], %[[N]]] pad -1 : i32 : <2xi32> -> tensor<1x4xi32>
  %i = tile.load %y[%p, %n] pad -1 : i32 : !tile.view<2xi32> -> tensor<1x4xi32>
  // CHECK: tile.store %[[T]], %[[X]][%[[P]], %[[N]]] : tensor<8x4xf32>, <2xf32>
  tile.store %t, %x[%p, %n] : tensor<8x4xf32>, !tile.view<2xf32>
  // CHECK: tile.atomic_add %[[I]], %[[Y]][%[[P]], %[[N]]] : tensor<1x4xi32>, <2xi32>
  tile.atomic_add %i, %y[%p, %n] : tensor<1x4xi32>, !tile.view<2xi32>
  tile.return
}

// CHECK-LABEL: tile.kernel @shape
tile.kernel @shape(%s: f32) {
  // CHECK: tile.iota : tensor<8xi32>
  %i = tile.iota : tensor<8xi32>
  // CHECK: %[[T:.*]] = tile.splat %{{.*}} : tensor<8x1xf32>
  %t = tile.splat %s : tensor<8x1xf32>
  // CHECK: tile.broadcast %[[T]] : tensor<8x1xf32> -> tensor<8x4xf32>
  %b = tile.broadcast %t : tensor<8x1xf32> -> tensor<8x4xf32>
  // CHECK: tile.reshape %[[T]] : tensor<8x1xf32> -> tensor<2x2x2xf32>
  %r = tile.reshape %t : tensor<8x1xf32> -> tensor<2x2x2xf32>
  // CHECK: tile.transpose %[[T]] [1, 0] : tensor<8x1xf32> -> tensor<1x8xf32>
  %x = tile.transpose %t [1, 0] : tensor<8x1xf32> -> tensor<1x8xf32>
  %one = tile.splat %s : tensor<1x1xf32>
  // CHECK: tile.extract %{{.*}} : tensor<1x1xf32>
  %e = tile.extract %one : tensor<1x1xf32>
  tile.return
}

// CHECK-LABEL: tile.kernel @compute
// CHECK-SAME: (%[[X:.*]]: !tile.view<2xf16>, %[[Y:.*]]: !tile.view<2xf8E5M2>, %[[N:.*]]: i32)
tile.kernel @compute(%x: !tile.view<2xf16>, %y: !tile.view<2xf8E5M2>, %n: i32) {
  %a = tile.load %x[%n, %n] : !tile.view<2xf16> -> tensor<8x4xf16>
  %b = tile.load %y[%n, %n] : !tile.view<2xf8E5M2> -> tensor<4x16xf8E5M2>
  %zero = arith.constant dense<0.0> : tensor<8x16xf32>
  // CHECK: tile.reduce max %{{.*}} axis 1 : tensor<8x4xf16> -> tensor<8x1xf16>
  %r0 = tile.reduce max %a axis 1 : tensor<8x4xf16> -> tensor<8x1xf16>
  // CHECK: tile.reduce min %{{.*}} axis 0 : tensor<8x4xf16> -> tensor<1x4xf16>
  %r1 = tile.reduce min %a axis 0 : tensor<8x4xf16> -> tensor<1x4xf16>
  // CHECK: tile.reduce sum %{{.*}} axis 1 : tensor<8x4xf16> -> tensor<8x1xf16>
  %r2 = tile.reduce sum %a axis 1 : tensor<8x4xf16> -> tensor<8x1xf16>
  // CHECK: tile.reduce sum %{{.*}} axis 1 parts 2 : tensor<8x4xf16> -> tensor<8x2xf16>
  %r3 = tile.reduce sum %a axis 1 parts 2 : tensor<8x4xf16> -> tensor<8x2xf16>
  // CHECK: tile.dot %{{.*}}, %{{.*}}, %{{.*}} : tensor<8x4xf16>, tensor<4x16xf8E5M2>, tensor<8x16xf32>
  %d = tile.dot %a, %b, %zero : tensor<8x4xf16>, tensor<4x16xf8E5M2>, tensor<8x16xf32>
  // CHECK: tile.cast %{{.*}} : tensor<8x16xf32> to tensor<8x16xi1>
  %c = tile.cast %d : tensor<8x16xf32> to tensor<8x16xi1>
  // CHECK: tile.cast %[[N]] : i32 to f32
  %s = tile.cast %n : i32 to f32
  tile.return
}
