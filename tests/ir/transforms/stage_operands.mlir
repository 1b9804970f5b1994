// RUN: sectile-opt %s -split-input-file --sectile-assign-layouts --sectile-stage-operands --sectile-check-shared | FileCheck %s
// RUN: sectile-opt %s -split-input-file --sectile-assign-layouts --sectile-stage-operands="async-copies=false operand-registers=0" --sectile-check-shared | FileCheck %s --check-prefix=WRITE
// RUN: sectile-opt %s -split-input-file --sectile-assign-layouts=sm=75 --sectile-stage-operands=async-copies=false --sectile-check-shared | FileCheck %s --check-prefix=FMA

// Q is copied once, before the loop, and read to registers there. K is copied in the loop, behind a barrier: others may
// still read the last one. Its transpose costs nothing: it is read so.
// CHECK-LABEL: block.kernel @loop
// CHECK-DAG: %[[QS:.*]] = block.alloc : <64x64xbf16, step = 1, span = 8>
// CHECK-DAG: %[[KS:.*]] = block.alloc : <32x64xbf16, step = 1, span = 8>
// CHECK: block.copy_async %{{.*}} -> %[[QS]]
// CHECK-NEXT: block.commit
// CHECK: block.wait pending 0
// CHECK-NEXT: block.barrier
// CHECK-NEXT: %[[Q:.*]] = block.read %[[QS]] : {{.*}} -> tensor<64x64xbf16, #[[A:.*]]>
// CHECK: scf.for
// CHECK-NEXT: block.barrier
// CHECK-NEXT: block.copy_async %{{.*}} -> %[[KS]]
// CHECK-NEXT: block.commit
// CHECK-NEXT: block.wait pending 0
// CHECK-NEXT: block.barrier
// CHECK-NEXT: %[[K:.*]] = block.read %[[KS]] transposed : {{.*}} -> tensor<64x32xbf16, #{{.*}}>
// CHECK-NEXT: block.dot mma %[[Q]], %[[K]]
// CHECK-NOT: tile.load
// CHECK-NOT: block.convert
// Without asynchronous copies the same buffers are written; an operand that takes too many registers is read in the loop,
// but not before the other one is there.
// WRITE-LABEL: block.kernel @loop
// WRITE: %[[Q:.*]] = tile.load
// WRITE-NEXT: block.write %[[Q]] -> %[[QS:.*]] :
// WRITE: block.barrier
// WRITE-NEXT: scf.for
// WRITE-NEXT: tile.load
// WRITE-NEXT: block.barrier
// WRITE-NEXT: block.write
// WRITE-NEXT: block.barrier
// WRITE-DAG: block.read %[[QS]]
// WRITE: block.dot mma
// Scalar products read the buffers themselves.
// FMA-LABEL: block.kernel @loop
// FMA: block.dot fma %{{.*}}, %{{.*}}, %{{.*}} {transposed_b} : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<32x64xbf16, step = 1, span = 8>
tile.kernel @loop(%q: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                  %k: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                  %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %zero = arith.constant dense<0.0> : tensor<64x32xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %r = scf.for %j = %c0 to %n step %c32 iter_args(%acc = %zero) -> (tensor<64x32xf32>) : i32 {
    %K = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %KT = tile.transpose %K [1, 0] : tensor<32x64xbf16> -> tensor<64x32xbf16>
    %S = tile.dot %Q, %KT, %acc : tensor<64x64xbf16>, tensor<64x32xbf16>, tensor<64x32xf32>
    scf.yield %S : tensor<64x32xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x32xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// Two loads under way together; the first wait leaves the second pending.
// CHECK-LABEL: block.kernel @two
// CHECK: block.copy_async
// CHECK: block.commit
// CHECK: block.copy_async
// CHECK: block.commit
// CHECK: block.wait pending 1
// CHECK: block.barrier
// CHECK: block.read
// CHECK: block.wait pending 0
// CHECK: block.barrier
// CHECK: block.read
// CHECK: block.dot
tile.kernel @two(%x: !tile.view<2xf16> {tile.access = "input", tile.unit_stride, tile.aligned16}, %o: !tile.view<2xf32>,
                 %i: i32) {
  %c0 = arith.constant 0 : i32
  %c8 = arith.constant 8 : i32
  %column = arith.muli %i, %c8 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %column] : !tile.view<2xf16> -> tensor<16x16xf16>
  %b = tile.load %x[%i, %c8] pad 0.0 : f16 : !tile.view<2xf16> -> tensor<16x16xf16>
  %c = tile.dot %a, %b, %zero : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  tile.store %c, %o[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// No copies: of an array that is written, of rows that end within a chunk, from a column that may be no multiple of 16
// bytes, padded with ones, or of what something else reads, too.
// CHECK-LABEL: block.kernel @written
// CHECK-NOT: copy_async
// CHECK-COUNT-6: block.write
tile.kernel @written(%x: !tile.view<2xf16> {tile.access = "inout", tile.unit_stride, tile.aligned16},
                     %y: !tile.view<2xf16> {tile.access = "input", tile.unit_stride, tile.aligned16},
                     %o: !tile.view<2xf32>, %h: !tile.view<2xf16>, %i: i32) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<16x16xf16>
  %b = tile.load %y[%c0, %i] : !tile.view<2xf16> -> tensor<16x16xf16>
  %c = tile.dot %a, %b, %zero : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  %d = tile.load %y[%c0, %c0] pad 1.0 : f16 : !tile.view<2xf16> -> tensor<16x16xf16>
  %e = tile.load %y[%i, %c0] : !tile.view<2xf16> -> tensor<16x16xf16>
  tile.store %e, %h[%c0, %c0] : tensor<16x16xf16>, !tile.view<2xf16>
  %f = tile.dot %d, %e, %c : tensor<16x16xf16>, tensor<16x16xf16>, tensor<16x16xf32>
  tile.store %f, %o[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  %g = tile.load %y[%c0, %c0] : !tile.view<2xf16> -> tensor<4x5xf16>
  %gt = tile.transpose %g [1, 0] : tensor<4x5xf16> -> tensor<5x4xf16>
  %zero2 = arith.constant dense<0.0> : tensor<4x4xf32>
  %k = tile.load %y[%i, %c0] : !tile.view<2xf16> -> tensor<4x5xf16>
  %l = tile.dot %k, %gt, %zero2 : tensor<4x5xf16>, tensor<5x4xf16>, tensor<4x4xf32>
  tile.store %l, %o[%c0, %c0] : tensor<4x4xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// A product of f32 that is the next one's operand moves between the lanes of a warp only: no shared memory for it.
// CHECK-LABEL: block.kernel @chained
// CHECK: %[[S:.*]] = block.dot mma
// CHECK: %[[P:.*]] = block.convert %[[S]]
// CHECK: block.dot mma %[[P]]
tile.kernel @chained(%x: !tile.view<2xf32> {tile.access = "input", tile.unit_stride, tile.aligned16}, %o: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x64xf32>
  %s = tile.dot %a, %a, %zero : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  %t = tile.dot %s, %a, %zero : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
  tile.store %t, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// Written operands: V stays under way, in registers, while the product before its own is computed.
// WRITE-LABEL: block.kernel @late
// WRITE: scf.for
// WRITE: %[[K:.*]] = tile.load
// WRITE: block.write %[[K]]
// WRITE: %[[V:.*]] = tile.load
// WRITE: block.dot
// WRITE: block.barrier
// WRITE-NEXT: block.write %[[V]]
// WRITE-NEXT: block.barrier
// WRITE: block.dot
tile.kernel @late(%x: !tile.view<2xf16>, %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf16>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %K = tile.load %x[%j, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
    %V = tile.load %x[%c0, %j] : !tile.view<2xf16> -> tensor<64x64xf16>
    %S = tile.dot %one, %K, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    %P = tile.cast %S : tensor<64x64xf32> to tensor<64x64xf16>
    %O = tile.dot %P, %V, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %O : tensor<64x64xf32>
  }
  tile.store %r, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}
