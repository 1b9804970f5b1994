// Every operation, attribute and type of the block dialect survives printing and parsing, in the custom and in the
// generic form.
// RUN: sectile-opt %s | sectile-opt | FileCheck %s
// RUN: sectile-opt %s --mlir-print-op-generic | sectile-opt | FileCheck %s

// CHECK: #[[ACC:.*]] = #block.layout<register = {{\[\[}}0, 1], [8, 0]], lane = {{\[\[}}0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = {{\[\[}}16, 0]]>
#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]]>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0]]>
#row = #block.layout<register = [], lane = [[0], [0], [1], [2], [4]], warp = [[8]]>

// CHECK: block.kernel @operations(%{{.*}}: !tile.view<2xbf16> {tile.access = "input", tile.aligned16, tile.name = "x", tile.unit_stride}, %{{.*}}: i32) attributes {warps = 2 : i32}
block.kernel @operations(%x: !tile.view<2xbf16> {tile.access = "input", tile.name = "x", tile.unit_stride, tile.aligned16},
                         %n: i32) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %more = arith.cmpi slt, %c0, %n : i32
  // CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x16xf32, #[[ACC]]>
  %zero = arith.constant dense<0.0> : tensor<32x16xf32, #acc>
  // CHECK: %[[RING:.*]] = block.alloc : <3x32x64xbf16, step = 1, span = 8>
  %ring = block.alloc : !block.shared<3x32x64xbf16, step = 1, span = 8>
  // CHECK: %[[FIXED:.*]] = block.alloc {offset = 128 : i64} : <32x16xf32>
  %fixed = block.alloc {offset = 128 : i64} : !block.shared<32x16xf32>
  // CHECK: block.alloc : <4x2xf32, step = 1, span = 1, unit = 4>
  %small = block.alloc : !block.shared<4x2xf32, step = 1, span = 1, unit = 4>
  // CHECK: %[[STAGE:.*]] = block.stage %[[RING]][%{{.*}}] : <3x32x64xbf16, step = 1, span = 8> -> <32x64xbf16, step = 1, span = 8>
  %stage = block.stage %ring[%c0] : !block.shared<3x32x64xbf16, step = 1, span = 8> -> !block.shared<32x64xbf16, step = 1, span = 8>
  // CHECK: block.copy_async %{{.*}}[%{{.*}}, %{{.*}}] -> %[[STAGE]] : <2xbf16> -> <32x64xbf16, step = 1, span = 8>
  block.copy_async %x[%c0, %c0] -> %stage : !tile.view<2xbf16> -> !block.shared<32x64xbf16, step = 1, span = 8>
  // CHECK: block.copy_async %{{.*}}[%{{.*}}, %{{.*}}] -> %[[STAGE]] if %{{.*}} : <2xbf16> -> <32x64xbf16, step = 1, span = 8>
  block.copy_async %x[%c0, %c0] -> %stage if %more : !tile.view<2xbf16> -> !block.shared<32x64xbf16, step = 1, span = 8>
  // CHECK: block.commit
  // CHECK: block.wait pending 0
  // CHECK: block.barrier
  block.commit
  block.wait pending 0
  block.barrier
  // CHECK: %[[A:.*]] = block.read %[[STAGE]] : <32x64xbf16, step = 1, span = 8> -> tensor<32x64xbf16, #{{.*}}>
  %left = block.read %stage : !block.shared<32x64xbf16, step = 1, span = 8> -> tensor<32x64xbf16, #a>
  // CHECK: %[[B:.*]] = block.read %[[STAGE]] transposed : <32x64xbf16, step = 1, span = 8> -> tensor<64x32xbf16, #{{.*}}>
  %right = block.read %stage transposed : !block.shared<32x64xbf16, step = 1, span = 8> -> tensor<64x32xbf16, #b>
  %wide = arith.constant dense<0.0> : tensor<32x32xf32, #acc>
  // CHECK: block.dot mma %[[A]], %[[B]], %{{.*}} : tensor<32x64xbf16, #{{.*}}>, tensor<64x32xbf16, #{{.*}}>, tensor<32x32xf32, #[[ACC]]>
  %product = block.dot mma %left, %right, %wide : tensor<32x64xbf16, #a>, tensor<64x32xbf16, #b>, tensor<32x32xf32, #acc>
  // CHECK: block.dot fma %[[STAGE]], %[[STAGE]], %{{.*}} {transposed_b} : !block.shared<32x64xbf16, step = 1, span = 8>, !block.shared<32x64xbf16, step = 1, span = 8>, tensor<32x32xf32, #[[ACC]]>
  %slow = block.dot fma %stage, %stage, %wide {transposed_b} : !block.shared<32x64xbf16, step = 1, span = 8>, !block.shared<32x64xbf16, step = 1, span = 8>, tensor<32x32xf32, #acc>
  // CHECK: %[[CONVERTED:.*]] = block.convert %{{.*}} : tensor<32x32xf32, #[[ACC]]> -> tensor<32x32xf32, #{{.*}}>
  %converted = block.convert %product : tensor<32x32xf32, #acc> -> tensor<32x32xf32, #a>
  // CHECK: block.write %[[ZERO]] -> %[[FIXED]] : tensor<32x16xf32, #[[ACC]]> -> <32x16xf32>
  block.write %zero -> %fixed : tensor<32x16xf32, #acc> -> !block.shared<32x16xf32>
  // CHECK: tensor<16xi32, #{{.*}}>
  %iota = tile.iota : tensor<16xi32, #row>
  // CHECK: block.return
  block.return
}
