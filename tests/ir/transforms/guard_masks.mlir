// RUN: sectile-opt %s --sectile-guard-masks --canonicalize --cse | FileCheck %s

// Rows are row0 .. row0 + 31, columns column0 .. column0 + 31: all of row >= column when row0 >= column0 + 31. What the
// pass cannot bound (a mask from memory) stays a select around the branch. The branch computes its mask, from copies
// that are not those of elsewhere: rows and columns do not stay in registers for it.
// CHECK-LABEL: @mask
// CHECK-SAME: %[[X:.*]]: !tile.view<2xf32>{{.*}}, %[[M:.*]]: !tile.view<2xi1>{{.*}}, %[[ROW:.*]]: i32{{.*}}, %[[COLUMN:.*]]: i32
// CHECK: %[[LAST:.*]] = arith.addi %[[COLUMN]], %c31
// CHECK: %[[ALL:.*]] = arith.cmpi sge, %[[ROW]], %[[LAST]] : i32
// CHECK: %[[MASKED:.*]] = scf.if %[[ALL]]
// CHECK-NEXT: scf.yield %[[TILE:.*]] :
// CHECK-NEXT: } else {
// CHECK: %[[I:.*]] = tile.iota {tile.again} : tensor<32xi32>
// CHECK: %[[MASK:.*]] = arith.cmpi sge, %{{.*}}, %{{.*}} {tile.again} : tensor<32x32xi32>
// CHECK-NEXT: %[[SELECT:.*]] = arith.select %[[MASK]], %[[TILE]],
// CHECK-NEXT: scf.yield %[[SELECT]]
// CHECK: arith.select %{{.*}}, %[[MASKED]],
tile.kernel @mask(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"},
                  %m: !tile.view<2xi1> {tile.access = "input", tile.name = "m"},
                  %row0: i32 {tile.access = "scalar", tile.name = "row0"},
                  %column0: i32 {tile.access = "scalar", tile.name = "column0"}) {
  %c0 = arith.constant 0 : i32
  %padding = arith.constant dense<0.0> : tensor<32x32xf32>
  %i = tile.iota : tensor<32xi32>
  %i0 = tile.reshape %i : tensor<32xi32> -> tensor<32x1xi32>
  %i1 = tile.reshape %i : tensor<32xi32> -> tensor<1x32xi32>
  %r0 = tile.splat %row0 : tensor<32x1xi32>
  %r1 = tile.splat %column0 : tensor<1x32xi32>
  %row = arith.addi %i0, %r0 : tensor<32x1xi32>
  %column = arith.addi %i1, %r1 : tensor<1x32xi32>
  %rows = tile.broadcast %row : tensor<32x1xi32> -> tensor<32x32xi32>
  %columns = tile.broadcast %column : tensor<1x32xi32> -> tensor<32x32xi32>
  %causal = arith.cmpi sge, %rows, %columns : tensor<32x32xi32>
  %loaded = tile.load %m[%c0, %c0] : !tile.view<2xi1> -> tensor<32x32xi1>
  %keep = arith.andi %causal, %loaded : tensor<32x32xi1>
  %tile = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
  %s = arith.select %keep, %tile, %padding : tensor<32x32xi1>, tensor<32x32xf32>
  tile.store %s, %x[%c0, %c0] : tensor<32x32xf32>, !tile.view<2xf32>
  tile.return
}

// An inequality of tiles has no bound; a mask over few elements is cheaper than a branch.
// CHECK-LABEL: @kept
// CHECK-NOT: scf.if
tile.kernel @kept(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x"},
                  %n: i32 {tile.access = "scalar", tile.name = "n"}) {
  %c0 = arith.constant 0 : i32
  %padding = arith.constant dense<0.0> : tensor<16x32xf32>
  %i = tile.iota : tensor<32xi32>
  %i1 = tile.reshape %i : tensor<32xi32> -> tensor<1x32xi32>
  %columns = tile.broadcast %i1 : tensor<1x32xi32> -> tensor<16x32xi32>
  %limit = tile.splat %n : tensor<16x32xi32>
  %other = arith.cmpi ne, %columns, %limit : tensor<16x32xi32>
  %tile = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
  %s = arith.select %other, %tile, %padding : tensor<16x32xi1>, tensor<16x32xf32>
  tile.store %s, %x[%c0, %c0] : tensor<16x32xf32>, !tile.view<2xf32>
  %few = arith.constant dense<0.0> : tensor<32xf32>
  %short = arith.cmpi slt, %i, %i : tensor<32xi32>
  %t = arith.select %short, %few, %few : tensor<32xi1>, tensor<32xf32>
  tile.return
}
