// RUN: sectile-opt %s --sectile-assign-layouts --sectile-stage-operands --sectile-pipeline-loads=stages=3 --canonicalize --cse --sectile-check-shared | FileCheck %s
// RUN: sectile-opt %s --sectile-assign-layouts --sectile-stage-operands --sectile-pipeline-loads=stages=1 --sectile-check-shared | FileCheck %s --check-prefix=ONE

// Two copies an iteration and three stages: four groups before the loop, three pending at each wait. Q's wait, before the
// loop, leaves them pending, too. In the loop the copy for two iterations later goes to the slot that was read last.
// CHECK-LABEL: block.kernel @attention
// CHECK-DAG: %[[V:.*]] = block.alloc : <3x64x64xbf16, step = 1, span = 8>
// CHECK-DAG: %[[K:.*]] = block.alloc : <3x64x64xbf16, step = 1, span = 8>
// CHECK: block.copy_async %{{.*}} : <2xbf16> -> <64x64xbf16
// CHECK-NEXT: block.commit
// CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %[[N:.*]], %c0_i32
// CHECK: block.copy_async %[[VIEW:.*]][%c0_i32, %c0_i32] -> %{{.*}} if %[[FIRST]]
// CHECK-NEXT: block.commit
// CHECK: block.copy_async %{{.*}}[%c0_i32, %c0_i32] -> %{{.*}} if %[[FIRST]]
// CHECK-NEXT: block.commit
// CHECK: %[[SECOND:.*]] = arith.cmpi sgt, %[[N]], %c1_i32
// CHECK: block.copy_async %[[VIEW]][%c64_i32, %c0_i32] -> %{{.*}} if %[[SECOND]]
// CHECK-NEXT: block.commit
// CHECK: block.copy_async %{{.*}}[%c64_i32, %c0_i32] -> %{{.*}} if %[[SECOND]]
// CHECK-NEXT: block.commit
// CHECK-NEXT: block.wait pending 4
// CHECK-NEXT: block.barrier
// CHECK-NEXT: block.read
// CHECK: scf.for %[[J:.*]] = %c0_i32 to %[[N]] step %c1_i32 iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %c0_i32)
// CHECK-DAG: %[[VNOW:.*]] = block.stage %[[VRING:.*]][%[[SLOT]]]
// CHECK-DAG: %[[KNOW:.*]] = block.stage %[[KRING:.*]][%[[SLOT]]]
// CHECK: block.wait pending 3
// CHECK-NEXT: block.barrier
// CHECK: %[[LATER:.*]] = arith.addi %[[J]], %c2_i32
// CHECK-DAG: %[[MORE:.*]] = arith.cmpi slt, %[[LATER]], %[[N]]
// CHECK-DAG: %[[WRAPS:.*]] = arith.cmpi eq, %[[SLOT]], %c0_i32
// CHECK-DAG: %[[FREE:.*]] = arith.select %[[WRAPS]], %c2_i32
// CHECK: block.stage %{{.*}}[%[[FREE]]]
// CHECK-NEXT: block.copy_async %[[VIEW]]{{.*}} if %[[MORE]]
// CHECK-NEXT: block.commit
// CHECK-NEXT: block.read %{{.*}} transposed
// CHECK-NEXT: block.dot
// CHECK: block.wait pending 3
// CHECK-NEXT: block.barrier
// CHECK: block.copy_async {{.*}} if %[[MORE]]
// CHECK-NEXT: block.commit
// CHECK-NEXT: block.read
// CHECK-NEXT: block.dot
// CHECK: arith.cmpi eq, %[[SLOT]], %c2_i32
// CHECK: scf.yield
// One stage: while one product runs, the other one's buffer is filled again. One barrier each.
// ONE-LABEL: block.kernel @attention
// ONE-DAG: %[[V:.*]] = block.alloc : <64x64xbf16
// ONE-DAG: %[[K:.*]] = block.alloc : <64x64xbf16
// ONE: scf.for %[[J:.*]] = %c0_i32 to %[[N:.*]] step
// ONE: block.wait pending 0
// ONE-NEXT: block.barrier
// ONE-NEXT: %[[ROW:.*]] = arith.muli %[[J]],
// ONE-NEXT: block.copy_async %{{.*}}[%[[ROW]], %c0_i32] -> %[[V]] :
// ONE-NEXT: block.commit
// ONE: block.read %[[K]] transposed
// ONE-NEXT: block.dot
// ONE: block.wait pending 0
// ONE-NEXT: block.barrier
// ONE: %[[NEXT:.*]] = arith.addi %[[J]],
// ONE: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// ONE: block.copy_async %{{.*}} -> %[[K]] if %[[MORE]]
// ONE-NEXT: block.commit
// ONE: block.read %[[V]] :
// ONE-NEXT: block.dot
// ONE-NOT: block.barrier
// ONE: scf.yield
// ONE-NOT: block.stage
tile.kernel @attention(%q: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                       %k: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                       %v: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                       %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %r = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %key = arith.muli %j, %c64 : i32
    %K = tile.load %k[%key, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %V = tile.load %v[%key, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %KT = tile.transpose %K [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %S = tile.dot %Q, %KT, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %P = tile.cast %S : tensor<64x64xf32> to tensor<64x64xbf16>
    %O = tile.dot %P, %V, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %O : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}

// A row that is known only when the iteration before is done cannot be copied ahead.
// CHECK-LABEL: block.kernel @chased
// CHECK: scf.for
// CHECK: block.barrier
// CHECK: block.copy_async
// CHECK-NOT: block.stage
// CHECK: block.wait pending 0
// CHECK: block.return
tile.kernel @chased(%x: !tile.view<2xf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                    %next: !tile.view<1xi32>, %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf16>
  %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %zero, %row = %c0) -> (tensor<64x64xf32>, i32) : i32 {
    %X = tile.load %x[%row, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
    %O = tile.dot %one, %X, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %t = tile.load %next[%row] : !tile.view<1xi32> -> tensor<1xi32>
    %later = tile.extract %t : tensor<1xi32>
    scf.yield %O, %later : tensor<64x64xf32>, i32
  }
  tile.store %r#0, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}

// In a loop around it, the pipeline begins with a barrier: the last pass may still be read.
// CHECK-LABEL: block.kernel @nested
// CHECK: scf.for
// CHECK: block.barrier
// CHECK: block.copy_async {{.*}} if
// CHECK: scf.for
// CHECK: block.wait pending 1
// One stage and one buffer: filled again behind a barrier of its own.
// ONE-LABEL: block.kernel @nested
// ONE: block.copy_async {{.*}} if
// ONE: scf.for
// ONE: block.wait pending 0
// ONE-NEXT: block.barrier
// ONE-NEXT: %[[X:.*]] = block.read
// ONE-NEXT: block.dot mma %{{.*}}, %[[X]]
// ONE-NEXT: block.barrier
// ONE: block.copy_async {{.*}} if
// ONE-NEXT: block.commit
// ONE-NEXT: scf.yield
tile.kernel @nested(%x: !tile.view<2xf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                    %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf16>
  scf.for %i = %c0 to %n step %c64 : i32 {
    %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      %X = tile.load %x[%j, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
      %O = tile.dot %one, %X, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
      scf.yield %O : tensor<64x64xf32>
    }
    tile.store %r, %o[%i, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  }
  tile.return
}
