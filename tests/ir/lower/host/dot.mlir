// RUN: sectile-opt %s --sectile-tile-to-vector="lanes=16 registers=32" --canonicalize --cse | FileCheck %s
// RUN: sectile-opt %s --sectile-tile-to-vector="lanes=16 registers=32 amx narrow-masks" --canonicalize --cse | FileCheck %s --check-prefix=AMX

// q k^T with the keys' rows as they lie: queries are turned once, vectors run along them, and eight rows of two vectors of
// accumulators stay in registers over the depth. The scale is part of the stores.
// CHECK-LABEL: func.func @scores
// CHECK: vector.shuffle
// CHECK: scf.for
// CHECK: %[[SUMS:.*]]:16 = scf.for %{{.*}} = %c0_i64 to %c64_i64 step %c1_i64 iter_args
// CHECK-COUNT-2: llvm.load %{{.*}} -> vector<16xf32>
// CHECK: llvm.load %{{.*}} -> f32
// CHECK-NEXT: vector.broadcast
// CHECK-COUNT-2: vector.fma
// CHECK-COUNT-7: llvm.load %{{.*}} -> f32
// CHECK: scf.yield
// CHECK: arith.mulf %[[SUMS]]#0,
// CHECK: llvm.store
// On the matrix unit: operands as packed bf16, four accumulators, the depth of 64 in two steps.
// AMX-LABEL: func.func @scores
// AMX: scf.for
// AMX: llvm.call_intrinsic "llvm.x86.tilezero.internal"
// AMX-COUNT-8: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// AMX-COUNT-4: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// AMX: arith.mulf
tile.kernel @scores(%q: !tile.view<2xbf16> {tile.access = "input", tile.name = "q", tile.unit_stride},
                    %k: !tile.view<2xbf16> {tile.access = "input", tile.name = "k", tile.unit_stride},
                    %o: !tile.view<2xf32> {tile.access = "output", tile.name = "o", tile.unit_stride},
                    %scale: f32 {tile.access = "scalar", tile.name = "scale"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c64 = arith.constant 64 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %scales = tile.splat %scale : tensor<64x64xf32>
  scf.for %j = %c0 to %c4 step %c1 : i32 {
    %column = arith.muli %j, %c64 : i32
    %K = tile.load %k[%column, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %Kt = tile.transpose %K [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %S = tile.dot %Q, %Kt, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %s = arith.mulf %S, %scales : tensor<64x64xf32>
    tile.store %s, %o[%c0, %column] : tensor<64x64xf32>, !tile.view<2xf32>
  }
  tile.return
}

// The carried accumulator is scaled as it is loaded and written in place: scratch holds three tiles and the staging vector.
// The rows that the next pass will load, from %j + 1 on, are fetched ahead of the product.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME: sectile.scratch_bytes = 3392
// CHECK: scf.for %[[J:.*]] = {{.*}} : i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c1_i32 : i32
// CHECK-NEXT: arith.extsi %[[NEXT]] : i32 to i64
// CHECK-COUNT-16: llvm.intr.prefetch
// CHECK: vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-NEXT: arith.mulf
// CHECK: vector.fma
tile.kernel @accumulate(%x: !tile.view<2xf32> {tile.access = "inout", tile.name = "x", tile.unit_stride},
                        %scale: f32 {tile.access = "scalar", tile.name = "scale"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %scales = tile.splat %scale : tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %sum = scf.for %j = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
    %b = tile.load %x[%j, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
    %scaled = arith.mulf %acc, %scales : tensor<16x16xf32>
    %next = tile.dot %a, %b, %scaled : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
    scf.yield %next : tensor<16x16xf32>
  }
  tile.store %sum, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.return
}

// f16 is two pieces of bf16: four products, the smallest first; a loaded tile is split as it arrives. Few rows, and f32
// on both sides (six products), stay on vectors.
// AMX-LABEL: func.func @pieces
// AMX: vector.fma
// AMX: x86.avx512bf16.cvtne2ps2bf16.512
// AMX: llvm.call_intrinsic "llvm.x86.tilezero.internal"
// AMX-COUNT-16: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
// AMX-NOT: tdpbf16ps
// AMX-LABEL: func.func @f32
// AMX-NOT: tdpbf16ps
// AMX: return
tile.kernel @pieces(%q: !tile.view<2xf16> {tile.access = "input", tile.name = "q", tile.unit_stride},
                    %o: !tile.view<2xf32> {tile.access = "output", tile.name = "o", tile.unit_stride}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xf16> -> tensor<128x32xf16>
  %K = tile.load %q[%c0, %c0] : !tile.view<2xf16> -> tensor<32x32xf16>
  %S = tile.dot %Q, %K, %zero : tensor<128x32xf16>, tensor<32x32xf16>, tensor<128x32xf32>
  tile.store %S, %o[%c0, %c0] : tensor<128x32xf32>, !tile.view<2xf32>
  tile.return
}
tile.kernel @f32(%q: !tile.view<2xf32> {tile.access = "input", tile.name = "q", tile.unit_stride},
                 %o: !tile.view<2xf32> {tile.access = "output", tile.name = "o", tile.unit_stride}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<128x32xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<128x32xf32>
  %K = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
  %S = tile.dot %Q, %K, %zero : tensor<128x32xf32>, tensor<32x32xf32>, tensor<128x32xf32>
  tile.store %S, %o[%c0, %c0] : tensor<128x32xf32>, !tile.view<2xf32>
  tile.return
}
