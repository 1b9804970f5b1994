// One kernel of two products in a loop, from its layouts to roles with products in flight; each step with and without.
//
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90" | FileCheck %s --check-prefix=GENERAL
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90 wgmma=true" | FileCheck %s --check-prefix=WGMMA
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings="stages=3" --canonicalize | FileCheck %s --check-prefix=RINGS
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings="shared-for-two=49152" --canonicalize | FileCheck %s --check-prefix=ROOM
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings="shared-for-two=49151" --canonicalize | FileCheck %s --check-prefix=TIGHT
// RUN: sectile-opt %s --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings --sectile-specialize-warps="registers=232" --canonicalize | FileCheck %s --check-prefix=ROLES
// RUN: sectile-opt %s --sectile-peel-first --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings --sectile-specialize-warps --canonicalize --sectile-pipeline-products --canonicalize | FileCheck %s --check-prefix=FLIGHT
// RUN: sectile-opt %s --sectile-peel-first --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings --sectile-specialize-warps --canonicalize --sectile-pipeline-products --canonicalize --sectile-place-waits --sectile-check-layouts --sectile-check-rings | FileCheck %s --check-prefix=WAITS
// RUN: sectile-opt %s --sectile-peel-first --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings --sectile-specialize-warps --canonicalize --sectile-pipeline-products --canonicalize --sectile-place-waits --sectile-make-persistent --canonicalize --sectile-check-layouts | FileCheck %s --check-prefix=STAY
// RUN: sectile-opt %s --sectile-peel-first --sectile-assign-layouts="warps=4 sm=90 wgmma=true" --sectile-stage-rings --sectile-specialize-warps --canonicalize --sectile-pipeline-products --canonicalize --sectile-place-waits --sectile-make-persistent="chunk=2" --canonicalize --sectile-check-layouts | FileCheck %s --check-prefix=PAIRS

// Without wgmma both products are of fragments in registers.
// GENERAL-COUNT-2: block.dot mma

// With it, B of both and A of the first are what TMA brings, A of the second an operand in registers.
// WGMMA: block.dot wgmma
// WGMMA: %[[P:[a-z0-9_]+]] = block.convert
// WGMMA: block.dot wgmma %[[P]]

// Where blocks stay, what is loaded before the loop has two stages, if all rings fit in so many bytes then.
// ROOM-COUNT-3: block.alloc : <2x64x64xbf16
// TIGHT-COUNT-2: block.alloc : <2x64x64xbf16
// TIGHT: block.alloc : <1x64x64xbf16

// What a loop goes through has as many stages as the schedule says, what it does not, one. Both copies are counted by
// the loop, and each stage is given back after the product that reads it.
// RINGS-DAG: %[[VR:[0-9]+]] = block.alloc : <3x64x64xbf16, step = 1, span = 8>
// RINGS-DAG: %[[QR:[0-9]+]] = block.alloc : <1x64x64xbf16, step = 1, span = 8>
// RINGS: %[[Q:[a-z0-9_]+]] = block.wait_full %[[QR]][%{{.*}}]
// RINGS: scf.for %[[J:[a-z0-9_]+]] =
// RINGS: block.acquire %[[KR:[0-9]+]][%[[J]]]
// RINGS-NEXT: block.copy_bulk %{{.*}} -> %[[KR]][%[[J]]]
// RINGS-NEXT: %[[K:[a-z0-9_]+]] = block.wait_full %[[KR]][%[[J]]]
// RINGS-NEXT: %[[T:[a-z0-9_]+]] = block.dot_async %[[Q]], %[[K]], %{{.*}} {transposed_b}
// RINGS-NEXT: %[[S:[a-z0-9_]+]] = block.dot_wait %[[T]] pending 0
// RINGS-NEXT: block.release %[[KR]][%[[J]]]
// RINGS: block.acquire %[[VR2:[0-9]+]][%[[J]]]
// RINGS: block.dot_async
// RINGS: block.dot_wait
// RINGS-NEXT: block.release %[[VR2]][%[[J]]]
// RINGS: scf.yield
// RINGS: block.release %[[QR]]

// The consumer has everything but the copies, the producer nothing but them.
// ROLES: warps = 8 : i32
// ROLES: block.specialize roles ["consumer", "producer"] warps [4, 4] registers [232, 24]
// ROLES-NOT: block.acquire
// ROLES: scf.for
// ROLES: tile.store
// ROLES: }, {
// ROLES-NOT: tensor
// ROLES: block.copy_bulk %arg0
// ROLES: scf.for %[[J:[a-z0-9_]+]] =
// ROLES-NOT: iter_args
// ROLES: block.acquire %[[KR:[0-9]+]][%[[J]]]
// ROLES-NEXT: block.copy_bulk %arg1{{.*}} -> %[[KR]][%[[J]]]
// ROLES: block.acquire %[[VR:[0-9]+]][%[[J]]]
// ROLES-NEXT: block.copy_bulk %arg2{{.*}} -> %[[VR]][%[[J]]]

// The second product is that of the iteration before, whose operand goes around; the last one comes after the loop.
// FLIGHT: scf.if
// FLIGHT: %[[P0:[a-z0-9_]+]] = block.convert
// FLIGHT-NOT: block.dot_async
// FLIGHT: %[[L:[a-z0-9_]+]]:2 = scf.for %[[J:[a-z0-9_]+]] = %{{.*}} iter_args(%[[P:[a-z0-9_]+]] = %[[P0]], %[[SUM:[a-z0-9_]+]] = %{{.*}})
// FLIGHT: block.wait_full %[[KR:[0-9]+]][%[[J]]]
// FLIGHT: block.dot_async {{.*}} {transposed_b}
// FLIGHT: %[[BEFORE:[a-z0-9_]+]] = arith.subi %[[J]],
// FLIGHT: %[[V:[a-z0-9_]+]] = block.wait_full %[[VR:[0-9]+]][%[[BEFORE]]]
// FLIGHT: block.dot_async %[[P]], %[[V]], %[[SUM]]
// FLIGHT: %[[NEXT:[a-z0-9_]+]] = block.convert
// FLIGHT: scf.yield %[[NEXT]],
// FLIGHT: block.dot_async %[[L]]#0, %{{.*}}, %[[L]]#1

// Both are in flight; the first is waited for with the second pending, and what takes the second's registers comes last.
// WAITS: scf.for
// WAITS: %[[S:[0-9]+]] = block.dot_async {{.*}} {transposed_b}
// WAITS: %[[O:[0-9]+]] = block.dot_async
// WAITS-NOT: tile.cast
// WAITS: block.dot_wait %[[O]] pending 0
// WAITS-NEXT: block.release
// WAITS-NEXT: block.dot_wait %[[S]] pending 1
// WAITS-NEXT: block.release
// WAITS-NEXT: tile.cast
// WAITS-NEXT: block.convert
// WAITS-NEXT: scf.yield

// Blocks that stay go on in each ring where the program before left it: after one iteration of that of Q, and as many as
// the loop had, if it came to that, of the others. The program's number stands for the block's.
// STAY: persistent
// STAY: %[[FIRST:[0-9]+]] = block.worker
// STAY: %[[ALL:[0-9]+]] = block.programs
// STAY: %[[STEP:[0-9]+]] = block.workers
// STAY: scf.for %[[T:[a-z0-9]+]] = %[[FIRST]] to %[[ALL]] step %[[STEP]] iter_args(%[[BQ:[a-z0-9]+]] = %{{.*}}, %[[BK:[a-z0-9]+]] = %{{.*}}, %[[BV:[a-z0-9]+]] =
// STAY-NOT: tile.program
// STAY: block.program_index %[[T]] axis 0
// STAY: block.wait_full %{{[0-9]+}}[%[[BQ]]]
// STAY: %[[IF:[0-9]+]]:3 = scf.if
// STAY: block.wait_full %{{[0-9]+}}[%[[BK]]]
// STAY: scf.for %[[J:[a-z0-9]+]] =
// STAY: %[[K:[0-9]+]] = arith.addi %[[BK]], %[[J]]
// STAY: block.wait_full %{{[0-9]+}}[%[[K]]]
// STAY: %[[NEXTQ:[0-9]+]] = arith.addi %[[BQ]], %c1_i32
// STAY: %[[NEXTK:[0-9]+]] = arith.addi %[[BK]], %[[IF]]#1
// STAY: %[[NEXTV:[0-9]+]] = arith.addi %[[BV]], %[[IF]]#2
// STAY: scf.yield %[[NEXTQ]], %[[NEXTK]], %[[NEXTV]]
// STAY: }, {
// STAY: scf.for %[[T2:[a-z0-9]+]] = {{.*}} iter_args(%[[PQ:[a-z0-9]+]] = %{{.*}}, %[[PK:[a-z0-9]+]] =
// STAY: block.acquire %{{[0-9]+}}[%[[PK]]]

// Pairs of them lie beside one another; of an odd number the last is alone. The counts go through both loops.
// PAIRS: %[[ALL:[0-9]+]] = block.programs
// PAIRS: %[[CHUNKS:[0-9]+]] = arith.ceildivsi %[[ALL]], %c2_i32
// PAIRS: scf.for %[[C:[a-z0-9]+]] = %{{[0-9]+}} to %[[CHUNKS]] step %{{[0-9]+}} iter_args(%[[OQ:[a-z0-9]+]] = %c0_i32,
// PAIRS-NEXT: %[[FIRST:[0-9]+]] = arith.muli %[[C]], %c2_i32
// PAIRS-NEXT: %[[NEXT:[0-9]+]] = arith.addi %[[FIRST]], %c2_i32
// PAIRS-NEXT: %[[LAST:[0-9]+]] = arith.minsi %[[NEXT]], %[[ALL]]
// PAIRS-NEXT: %[[INNER:[0-9]+]]:3 = scf.for %[[T:[a-z0-9]+]] = %[[FIRST]] to %[[LAST]] step %c1_i32 iter_args(%[[BQ:[a-z0-9]+]] = %[[OQ]],
// PAIRS-NEXT: block.program_index %[[T]] axis 0
// PAIRS: block.wait_full %{{[0-9]+}}[%[[BQ]]]
// PAIRS: scf.yield %[[INNER]]#0, %[[INNER]]#1, %[[INNER]]#2
tile.kernel @products(%q: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16, tile.bulk},
                      %k: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16, tile.bulk},
                      %v: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16, tile.bulk},
                      %out: !tile.view<2xf32> {tile.access = "output"}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %p = tile.program 0
  %row = arith.muli %p, %c64 : i32
  %Q = tile.load %q[%row, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %all = scf.for %j = %c0 to %n step %c1 iter_args(%sum = %zero) -> (tensor<64x64xf32>) : i32 {
    %first = arith.muli %j, %c64 : i32
    %K = tile.load %k[%first, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %Kt = tile.transpose %K [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %S = tile.dot %Q, %Kt, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %P = tile.cast %S : tensor<64x64xf32> to tensor<64x64xbf16>
    %V = tile.load %v[%first, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %next = tile.dot %P, %V, %sum : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  tile.store %all, %out[%row, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}
