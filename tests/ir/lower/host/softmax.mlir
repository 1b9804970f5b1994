// RUN: sectile-opt %s --sectile-tile-to-vector="lanes=16 registers=32" --canonicalize --cse | FileCheck %s

// The exponential is used twice: it is stored, and summed in the same loop. The maximum of a row enters as a broadcast.
// CHECK-LABEL: func.func @softmax
// CHECK: vector.reduction <maxnumf>
// CHECK: scf.for
// CHECK: math.exp2
// CHECK-NEXT: llvm.getelementptr
// CHECK: llvm.store
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK: vector.reduction <add>
// CHECK-NOT: math.exp2
// CHECK: return
tile.kernel @softmax(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x", tile.unit_stride}) {
  %c0 = arith.constant 0 : i32
  %p = tile.program 0
  %t = tile.load %x[%p, %c0] : !tile.view<2xf32> -> tensor<1x256xf32>
  %m = tile.reduce max %t axis 1 : tensor<1x256xf32> -> tensor<1x1xf32>
  %mm = tile.broadcast %m : tensor<1x1xf32> -> tensor<1x256xf32>
  %d = arith.subf %t, %mm : tensor<1x256xf32>
  %e = math.exp2 %d : tensor<1x256xf32>
  %s = tile.reduce sum %e axis 1 : tensor<1x256xf32> -> tensor<1x1xf32>
  %ss = tile.broadcast %s : tensor<1x1xf32> -> tensor<1x256xf32>
  %r = arith.divf %e, %ss : tensor<1x256xf32>
  tile.store %r, %x[%p, %c0] : tensor<1x256xf32>, !tile.view<2xf32>
  tile.return
}
