// RUN: sectile-opt %s --sectile-tile-to-vector="lanes=8 registers=16" --canonicalize --cse | FileCheck %s

// Offsets are 64-bit before they meet a stride. A tile that lies inside is loaded without checks; another one row by row,
// vectors cut by the edge under a mask.
// CHECK-LABEL: func.func @rows
// CHECK: %[[WIDE:.*]] = arith.extsi %arg1 : i32 to i64
// CHECK: arith.muli %[[WIDE]], %{{.*}} : i64
// CHECK: scf.if
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.intr.masked.load
// CHECK: scf.for
// CHECK: scf.if
// CHECK: llvm.intr.masked.store
tile.kernel @rows(%x: !tile.view<2xf32> {tile.access = "input", tile.name = "x", tile.unit_stride},
                  %y: !tile.view<2xf32> {tile.access = "output", tile.name = "y", tile.unit_stride}) {
  %c0 = arith.constant 0 : i32
  %p = tile.program 0
  %t = tile.load %x[%p, %c0] pad 1.0 : f32 : !tile.view<2xf32> -> tensor<4x16xf32>
  tile.store %t, %y[%p, %c0] : tensor<4x16xf32>, !tile.view<2xf32>
  tile.return
}

// Without a unit stride elements move one at a time, through a staging vector.
// CHECK-LABEL: func.func @strided
// CHECK-NOT: masked
// CHECK: llvm.load %{{.*}} -> i8
// CHECK-NOT: masked
// CHECK: return
tile.kernel @strided(%x: !tile.view<1xi1> {tile.access = "input", tile.name = "x"},
                     %y: !tile.view<1xi1> {tile.access = "output", tile.name = "y"}) {
  %c0 = arith.constant 0 : i32
  %t = tile.load %x[%c0] : !tile.view<1xi1> -> tensor<8xi1>
  tile.store %t, %y[%c0] : tensor<8xi1>, !tile.view<1xi1>
  tile.return
}
