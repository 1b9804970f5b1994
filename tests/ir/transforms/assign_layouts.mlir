// RUN: sectile-opt %s -split-input-file --sectile-assign-layouts --sectile-check-layouts | FileCheck %s
// RUN: sectile-opt %s -split-input-file --sectile-assign-layouts="sm=75 warps=2" --sectile-check-layouts | FileCheck %s --check-prefix=SM75

// Two products in a row, as in attention. Rows stay in one warp; their maximum is a slice of the accumulator; what is
// rounded to 16 bits becomes the next product's operand; loads are blocked and converted as they are, K before it is
// transposed.
// CHECK-DAG: #[[COLUMN:.*]] = #block.layout<register = {{\[\[}}8, 0]], lane = {{\[\[}}0, 0], [0, 0], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// CHECK-DAG: #[[ACC:.*]] = #block.layout<register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// CHECK-DAG: #[[ROWS:.*]] = #block.layout<register = {{\[\[}}0, 1], [0, 2], [0, 4]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [1, 0], [2, 0]], warp = {{\[\[}}4, 0], [8, 0]]>
// CHECK-DAG: #[[A:.*]] = #block.layout<register = {{\[\[}}0, 1], [8, 0], [0, 8]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0], [32, 0]]>
// CHECK-DAG: #[[BT:.*]] = #block.layout<register = {{\[\[}}0, 1], [0, 8]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}0, 0], [0, 0]]>
// CHECK-DAG: #[[B:.*]] = #block.layout<register = {{\[\[}}1, 0], [8, 0]], lane = {{\[\[}}2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = {{\[\[}}0, 0], [0, 0]]>
// CHECK-LABEL: block.kernel @products
// CHECK-SAME: warps = 4
// CHECK: %[[Q:.*]] = tile.load %{{.*}} -> tensor<64x64xbf16, #[[ROWS]]>
// CHECK: %[[QA:.*]] = block.convert %[[Q]] : tensor<64x64xbf16, #[[ROWS]]> -> tensor<64x64xbf16, #[[A]]>
// CHECK: scf.for {{.*}} -> (tensor<64x1xf32, #[[COLUMN]]>, tensor<64x64xf32, #[[ACC]]>)
// CHECK: %[[K:.*]] = tile.load
// CHECK: %[[KC:.*]] = block.convert %[[K]] : tensor<64x64xbf16, #[[ROWS]]> -> tensor<64x64xbf16, #[[BT]]>
// CHECK: %[[KB:.*]] = tile.transpose %[[KC]] [1, 0] : tensor<64x64xbf16, #[[BT]]> -> tensor<64x64xbf16, #[[B]]>
// CHECK: %[[S:.*]] = block.dot mma %[[QA]], %[[KB]], %{{.*}} : tensor<64x64xbf16, #[[A]]>, tensor<64x64xbf16, #[[B]]>, tensor<64x64xf32, #[[ACC]]>
// CHECK: tile.reduce max %[[S]] axis 1 : tensor<64x64xf32, #[[ACC]]> -> tensor<64x1xf32, #[[COLUMN]]>
// CHECK: tile.broadcast %{{.*}} : tensor<64x1xf32, #[[COLUMN]]> -> tensor<64x64xf32, #[[ACC]]>
// CHECK: %[[P:.*]] = tile.cast %{{.*}} : tensor<64x64xf32, #[[ACC]]> to tensor<64x64xbf16, #[[ACC]]>
// CHECK: %[[PA:.*]] = block.convert %[[P]] : tensor<64x64xbf16, #[[ACC]]> -> tensor<64x64xbf16, #[[A]]>
// CHECK: block.dot mma %[[PA]]
// CHECK: tile.store %{{.*}} : tensor<64x64xf32, #[[ACC]]>
// CHECK: block.return
// No bf16 before sm_80.
// SM75-LABEL: block.kernel @products
// SM75: block.dot fma
// SM75: block.dot fma
tile.kernel @products(%q: !tile.view<2xbf16> {tile.unit_stride}, %k: !tile.view<2xbf16> {tile.unit_stride},
                      %o: !tile.view<2xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %low = arith.constant dense<0xFF800000> : tensor<64x1xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %Q = tile.load %q[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%m = %low, %acc = %zero) -> (tensor<64x1xf32>, tensor<64x64xf32>) : i32 {
    %K = tile.load %k[%j, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16>
    %KT = tile.transpose %K [1, 0] : tensor<64x64xbf16> -> tensor<64x64xbf16>
    %S = tile.dot %Q, %KT, %zero : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    %s = tile.reduce max %S axis 1 : tensor<64x64xf32> -> tensor<64x1xf32>
    %m1 = arith.maxnumf %m, %s : tensor<64x1xf32>
    %mb = tile.broadcast %m1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %S, %mb : tensor<64x64xf32>
    %e = math.exp2 %d : tensor<64x64xf32>
    %P = tile.cast %e : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc1 = tile.dot %P, %K, %acc : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %m1, %acc1 : tensor<64x1xf32>, tensor<64x64xf32>
  }
  tile.store %r#1, %o[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// Without products: vectors of 16 bytes, the row's mean in a slice of that; the mask's column numbers are made in the
// same layout.
// CHECK-DAG: #[[ROWS:.*]] = #block.layout<register = {{\[\[}}0, 1], [0, 2], [0, 4]], lane = {{\[\[}}0, 8], [0, 16], [0, 32], [0, 64], [1, 0]], warp = {{\[\[}}2, 0], [4, 0]]>
// CHECK-DAG: #[[COLUMN:.*]] = #block.layout<register = [], lane = {{\[\[}}0, 0], [0, 0], [0, 0], [0, 0], [1, 0]], warp = {{\[\[}}2, 0], [4, 0]]>
// CHECK-LABEL: block.kernel @rows
// CHECK: %[[IOTA:.*]] = tile.iota : tensor<128xi32, #{{.*}}>
// CHECK: %[[INDEX:.*]] = tile.reshape %[[IOTA]] : {{.*}} -> tensor<1x128xi32, #{{.*}}>
// CHECK: tile.broadcast %[[INDEX]] : {{.*}} -> tensor<8x128xi32, #[[ROWS]]>
// CHECK: %[[X:.*]] = tile.load {{.*}} -> tensor<8x128xf16, #[[ROWS]]>
// CHECK-NOT: block.convert
// CHECK: tile.cast %[[X]] : tensor<8x128xf16, #[[ROWS]]> to tensor<8x128xf32, #[[ROWS]]>
// CHECK: tile.reduce sum %{{.*}} -> tensor<8x1xf32, #[[COLUMN]]>
// CHECK: tile.store %{{.*}} : tensor<8xf32, #{{.*}}>
tile.kernel @rows(%x: !tile.view<2xf16> {tile.unit_stride}, %y: !tile.view<1xf32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<8x128xf32>
  %i = tile.iota : tensor<128xi32>
  %row = tile.reshape %i : tensor<128xi32> -> tensor<1x128xi32>
  %columns = tile.broadcast %row : tensor<1x128xi32> -> tensor<8x128xi32>
  %limit = tile.splat %n : tensor<8x128xi32>
  %mask = arith.cmpi slt, %columns, %limit : tensor<8x128xi32>
  %t = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<8x128xf16>
  %w = tile.cast %t : tensor<8x128xf16> to tensor<8x128xf32>
  %s = arith.select %mask, %w, %zero : tensor<8x128xi1>, tensor<8x128xf32>
  %sum = tile.reduce sum %s axis 1 : tensor<8x128xf32> -> tensor<8x1xf32>
  %flat = tile.reshape %sum : tensor<8x1xf32> -> tensor<8xf32>
  tile.store %flat, %y[%c0] : tensor<8xf32>, !tile.view<1xf32>
  tile.return
}

// -----

// Sizes that fill no atom; two f8 types, widened to f16 before they are converted; one row of warps, the second warp
// of sm_75's two takes other columns.
// CHECK-LABEL: block.kernel @odd
// CHECK: %[[A:.*]] = tile.cast %{{.*}} : tensor<5x7xf8E4M3FN, #{{.*}}> to tensor<5x7xf16, #[[OWN:.*]]>
// CHECK: block.convert %[[A]] : tensor<5x7xf16, #[[OWN]]> -> tensor<5x7xf16, #{{.*}}>
// CHECK: tile.cast %{{.*}} : tensor<7x3xf8E5M2, #{{.*}}> to tensor<7x3xf16, #{{.*}}>
// CHECK: block.dot mma %{{.*}} : tensor<5x7xf16, #{{.*}}>, tensor<7x3xf16, #{{.*}}>, tensor<5x3xf32, #{{.*}}>
// SM75-LABEL: block.kernel @odd
// SM75: block.dot mma %{{.*}} : tensor<5x7xf16, #{{.*}}>, tensor<7x3xf16, #{{.*}}>, tensor<5x3xf32, #{{.*}}>
tile.kernel @odd(%x: !tile.view<2xf8E4M3FN>, %y: !tile.view<2xf8E5M2>, %z: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<5x3xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf8E4M3FN> -> tensor<5x7xf8E4M3FN>
  %b = tile.load %y[%c0, %c0] : !tile.view<2xf8E5M2> -> tensor<7x3xf8E5M2>
  %c = tile.dot %a, %b, %zero : tensor<5x7xf8E4M3FN>, tensor<7x3xf8E5M2>, tensor<5x3xf32>
  tile.store %c, %z[%c0, %c0] : tensor<5x3xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// A scalar from memory: every thread holds it. What is loaded for a branch has the layout of what it meets there; a
// reshape that moves elements takes any two layouts.
// CHECK-LABEL: block.kernel @scalars
// CHECK: %[[T:.*]] = tile.load {{.*}} -> tensor<1xi32, #[[ALL:.*]]>
// CHECK: tile.extract %[[T]] : tensor<1xi32, #[[ALL]]>
// CHECK: %[[R:.*]] = scf.if {{.*}} -> (tensor<6x10xf32, #[[M:.*]]>)
// CHECK: tile.load {{.*}} -> tensor<6x10xf32, #[[M]]>
// CHECK: tile.reshape %[[R]] : tensor<6x10xf32, #[[M]]> -> tensor<4x15xf32, #{{.*}}>
// CHECK: tile.atomic_add
tile.kernel @scalars(%n: !tile.view<1xi32>, %x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : i32
  %t = tile.load %n[%c0] : !tile.view<1xi32> -> tensor<1xi32>
  %s = tile.extract %t : tensor<1xi32>
  %is = arith.cmpi sgt, %s, %c0 : i32
  %r = scf.if %is -> tensor<6x10xf32> {
    %u = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<6x10xf32>
    scf.yield %u : tensor<6x10xf32>
  } else {
    %zero = arith.constant dense<0.0> : tensor<6x10xf32>
    scf.yield %zero : tensor<6x10xf32>
  }
  %v = tile.reshape %r : tensor<6x10xf32> -> tensor<4x15xf32>
  tile.atomic_add %v, %x[%c0, %c0] : tensor<4x15xf32>, !tile.view<2xf32>
  tile.return
}

// -----

// What is stored gets vectors of 16 bytes where lanes of a warp can trade for them: 8 of bf16, 4 of f32. Not where rows
// are too short to go round, or have strides.
// CHECK-DAG: #[[ACC:.*]] = #block.layout<register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
// CHECK-DAG: #[[EIGHT:.*]] = #block.layout<register = {{\[\[}}0, 1], [0, 2], [0, 4], [8, 0]], lane = {{\[\[}}0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]
// CHECK-DAG: #[[FOUR:.*]] = #block.layout<register = {{\[\[}}0, 1], [0, 2], [8, 0]], lane = {{\[\[}}0, 8], [0, 4], [1, 0], [2, 0], [4, 0]]
// CHECK-LABEL: block.kernel @stored
// CHECK-DAG: tile.store %{{.*}}, %arg1{{.*}} : tensor<64x64xbf16, #[[EIGHT]]>
// CHECK-DAG: tile.store %{{.*}}, %arg2{{.*}} : tensor<64x64xf32, #[[FOUR]]>
// CHECK-DAG: tile.store %{{.*}}, %arg3{{.*}} : tensor<64x64xf32, #[[ACC]]>
// CHECK-DAG: tile.store %{{.*}}, %arg4{{.*}} : tensor<64x16xbf16, #{{.*}}>
// SM75-LABEL: block.kernel @stored
tile.kernel @stored(%x: !tile.view<2xf16>, %b: !tile.view<2xbf16> {tile.unit_stride}, %f: !tile.view<2xf32> {tile.unit_stride},
                    %s: !tile.view<2xf32>, %n: !tile.view<2xbf16> {tile.unit_stride}) {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %X = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<64x64xf16>
  %O = tile.dot %X, %X, %zero : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  %B = tile.cast %O : tensor<64x64xf32> to tensor<64x64xbf16>
  tile.store %B, %b[%c0, %c0] : tensor<64x64xbf16>, !tile.view<2xbf16>
  tile.store %O, %f[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  tile.store %O, %s[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32>
  %narrow = arith.constant dense<0.0> : tensor<64x16xf32>
  %Y = tile.load %x[%c0, %c0] : !tile.view<2xf16> -> tensor<64x16xf16>
  %N = tile.dot %X, %Y, %narrow : tensor<64x64xf16>, tensor<64x16xf16>, tensor<64x16xf32>
  %C = tile.cast %N : tensor<64x16xf32> to tensor<64x16xbf16>
  tile.store %C, %n[%c0, %c0] : tensor<64x16xbf16>, !tile.view<2xbf16>
  tile.return
}
