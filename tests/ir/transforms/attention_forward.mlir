// Attention forward, causal, bf16, head dimension 128, as it is traced: what its block level looks like.
// RUN: sectile-opt %s --canonicalize --sectile-fuse-accumulator --sectile-guard-masks --canonicalize --cse --loop-invariant-code-motion --sectile-assign-layouts --cse --loop-invariant-code-motion --sectile-stage-operands --sectile-pipeline-loads --canonicalize --cse --sectile-plan-shared --sectile-check-layouts --sectile-check-shared | FileCheck %s

// Q, K and V in shared memory: 16 KB, and two stages of 16 KB each.
// CHECK-LABEL: block.kernel @attention_forward
// CHECK-SAME: shared_bytes = 81920 : i64
// CHECK-SAME: warps = 4 : i32
// CHECK: block.copy_async %arg0
// CHECK: block.copy_async %arg1{{.*}} if
// CHECK: block.copy_async %arg2{{.*}} if
// CHECK: block.wait pending 2
// CHECK: block.read
// CHECK: scf.for

// An iteration: two waits that leave a group under way, two barriers, two products; P becomes an operand where it is, and
// nothing crosses warps.
// CHECK-NOT: block.scratch
// CHECK-NOT: tile.load
// CHECK: block.wait pending 1
// CHECK-NEXT: block.barrier
// CHECK: block.copy_async %arg1
// CHECK-NEXT: block.commit
// CHECK: %[[K:.*]] = block.read %{{.*}} transposed
// CHECK: block.dot mma %{{.*}}, %[[K]]
// CHECK: scf.if
// CHECK: arith.select
// CHECK: tile.reduce max
// CHECK: math.exp2
// CHECK: tile.reduce sum
// CHECK: %[[P:.*]] = tile.cast
// CHECK-NEXT: %[[A:.*]] = block.convert %[[P]] :
// CHECK: block.wait pending 1
// CHECK-NEXT: block.barrier
// CHECK: block.copy_async %arg2
// CHECK-NEXT: block.commit
// CHECK: %[[V:.*]] = block.read
// CHECK: block.dot mma %[[A]], %[[V]]
// CHECK-NOT: block.barrier
// CHECK: scf.yield

// CHECK-NOT: block.scratch
// CHECK-NOT: block.barrier
// CHECK: tile.store
// CHECK: tile.store
// CHECK: block.return
module {
  tile.kernel @attention_forward(%arg0: !tile.view<4xbf16> {tile.access = "input", tile.name = "q", tile.unit_stride, tile.aligned16}, %arg1: !tile.view<4xbf16> {tile.access = "input", tile.name = "k", tile.unit_stride, tile.aligned16}, %arg2: !tile.view<4xbf16> {tile.access = "input", tile.name = "v", tile.unit_stride, tile.aligned16}, %arg3: !tile.view<4xbf16> {tile.access = "output", tile.name = "out", tile.unit_stride}, %arg4: !tile.view<3xf32> {tile.access = "output", tile.name = "lse", tile.unit_stride}, %arg5: f32 {tile.access = "scalar", tile.name = "scale"}, %arg6: i32 {tile.access = "scalar", tile.name = "right"}) {
    %0 = tile.program 2
    %1 = tile.program 1
    %2 = tile.program 0
    %c64_i32 = arith.constant 64 : i32
    %3 = arith.muli %2, %c64_i32 : i32
    %4 = tile.iota : tensor<64xi32>
    %5 = tile.reshape %4 : tensor<64xi32> -> tensor<64x1xi32>
    %6 = tile.splat %3 : tensor<64x1xi32>
    %7 = arith.addi %5, %6 : tensor<64x1xi32>
    %8 = tile.dim %arg0, 2 : <4xbf16>
    %9 = tile.dim %arg1, 2 : <4xbf16>
    %cst = arith.constant 1.44269502 : f32
    %10 = arith.mulf %arg5, %cst : f32
    %11 = tile.dim %arg0, 1 : <4xbf16>
    %12 = tile.dim %arg1, 1 : <4xbf16>
    %13 = arith.floordivsi %11, %12 : i32
    %14 = arith.floordivsi %1, %13 : i32
    %c0_i32 = arith.constant 0 : i32
    %15 = tile.load %arg0[%0, %1, %3, %c0_i32] : <4xbf16> -> tensor<64x128xbf16>
    %cst_0 = arith.constant dense<0xFF800000> : tensor<64x1xf32>
    %cst_1 = arith.constant dense<0.000000e+00> : tensor<64x1xf32>
    %cst_2 = arith.constant dense<0.000000e+00> : tensor<64x128xf32>
    %c0_i32_3 = arith.constant 0 : i32
    %c64_i32_4 = arith.constant 64 : i32
    %16 = arith.addi %3, %c64_i32_4 : i32
    %17 = arith.addi %16, %arg6 : i32
    %18 = arith.minsi %9, %17 : i32
    %c64_i32_5 = arith.constant 64 : i32
    %19 = arith.ceildivsi %18, %c64_i32_5 : i32
    %c1_i32 = arith.constant 1 : i32
    %20:3 = scf.for %arg7 = %c0_i32_3 to %19 step %c1_i32 iter_args(%arg8 = %cst_0, %arg9 = %cst_1, %arg10 = %cst_2) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x128xf32>)  : i32 {
      %c64_i32_11 = arith.constant 64 : i32
      %31 = arith.muli %arg7, %c64_i32_11 : i32
      %32 = tile.iota : tensor<64xi32>
      %33 = tile.reshape %32 : tensor<64xi32> -> tensor<1x64xi32>
      %34 = tile.splat %31 : tensor<1x64xi32>
      %35 = arith.addi %33, %34 : tensor<1x64xi32>
      %c0_i32_12 = arith.constant 0 : i32
      %36 = tile.load %arg1[%0, %14, %31, %c0_i32_12] : <4xbf16> -> tensor<64x128xbf16>
      %c0_i32_13 = arith.constant 0 : i32
      %37 = tile.load %arg2[%0, %14, %31, %c0_i32_13] : <4xbf16> -> tensor<64x128xbf16>
      %38 = tile.transpose %36 [1, 0] : tensor<64x128xbf16> -> tensor<128x64xbf16>
      %cst_14 = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
      %39 = tile.dot %15, %38, %cst_14 : tensor<64x128xbf16>, tensor<128x64xbf16>, tensor<64x64xf32>
      %40 = tile.splat %10 : tensor<64x64xf32>
      %41 = arith.mulf %39, %40 : tensor<64x64xf32>
      %42 = tile.splat %arg6 : tensor<64x1xi32>
      %43 = arith.addi %7, %42 : tensor<64x1xi32>
      %44 = tile.broadcast %43 : tensor<64x1xi32> -> tensor<64x64xi32>
      %45 = tile.broadcast %35 : tensor<1x64xi32> -> tensor<64x64xi32>
      %46 = arith.cmpi sge, %44, %45 : tensor<64x64xi32>
      %cst_15 = arith.constant dense<0xFF800000> : tensor<64x64xf32>
      %47 = arith.select %46, %41, %cst_15 : tensor<64x64xi1>, tensor<64x64xf32>
      %48 = tile.reduce max %47 axis 1 : tensor<64x64xf32> -> tensor<64x1xf32>
      %49 = arith.maxnumf %arg8, %48 : tensor<64x1xf32>
      %cst_16 = arith.constant dense<0xFF800000> : tensor<64x1xf32>
      %50 = arith.cmpf ogt, %49, %cst_16 : tensor<64x1xf32>
      %cst_17 = arith.constant dense<0.000000e+00> : tensor<64x1xf32>
      %51 = arith.select %50, %49, %cst_17 : tensor<64x1xi1>, tensor<64x1xf32>
      %52 = tile.broadcast %51 : tensor<64x1xf32> -> tensor<64x64xf32>
      %53 = arith.subf %47, %52 : tensor<64x64xf32>
      %54 = math.exp2 %53 : tensor<64x64xf32>
      %55 = arith.subf %arg8, %51 : tensor<64x1xf32>
      %56 = math.exp2 %55 : tensor<64x1xf32>
      %57 = arith.mulf %arg9, %56 : tensor<64x1xf32>
      %58 = tile.reduce sum %54 axis 1 : tensor<64x64xf32> -> tensor<64x1xf32>
      %59 = arith.addf %57, %58 : tensor<64x1xf32>
      %60 = tile.cast %54 : tensor<64x64xf32> to tensor<64x64xbf16>
      %61 = tile.broadcast %56 : tensor<64x1xf32> -> tensor<64x128xf32>
      %62 = arith.mulf %arg10, %61 : tensor<64x128xf32>
      %63 = tile.dot %60, %37, %62 : tensor<64x64xbf16>, tensor<64x128xbf16>, tensor<64x128xf32>
      scf.yield %49, %59, %63 : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x128xf32>
    }
    %cst_6 = arith.constant dense<0.000000e+00> : tensor<64x1xf32>
    %21 = arith.cmpf oeq, %20#1, %cst_6 : tensor<64x1xf32>
    %cst_7 = arith.constant dense<1.000000e+00> : tensor<64x1xf32>
    %22 = arith.select %21, %cst_7, %20#1 : tensor<64x1xi1>, tensor<64x1xf32>
    %cst_8 = arith.constant dense<1.000000e+00> : tensor<64x1xf32>
    %23 = arith.divf %cst_8, %22 : tensor<64x1xf32>
    %24 = tile.broadcast %23 : tensor<64x1xf32> -> tensor<64x128xf32>
    %25 = arith.mulf %20#2, %24 : tensor<64x128xf32>
    %26 = tile.cast %25 : tensor<64x128xf32> to tensor<64x128xbf16>
    %c0_i32_9 = arith.constant 0 : i32
    tile.store %26, %arg3[%0, %1, %3, %c0_i32_9] : tensor<64x128xbf16>, <4xbf16>
    %27 = math.log2 %22 : tensor<64x1xf32>
    %28 = arith.addf %20#0, %27 : tensor<64x1xf32>
    %cst_10 = arith.constant dense<0.693147182> : tensor<64x1xf32>
    %29 = arith.mulf %28, %cst_10 : tensor<64x1xf32>
    %30 = tile.reshape %29 : tensor<64x1xf32> -> tensor<64xf32>
    tile.store %30, %arg4[%0, %1, %3] : tensor<64xf32>, <3xf32>
    tile.return
  }
}
