// RUN: sectile-opt %s --sectile-stage-operands | FileCheck %s

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!buffer = !block.shared<64x64xbf16, step = 1, span = 8>

// Between two barriers somebody must touch shared memory: a product in flight does, until it has been waited for.
// CHECK-LABEL: block.kernel @product
block.kernel @product() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %x = arith.constant dense<0.0> : tensor<64x64xbf16, #c>
  %a = block.alloc : !buffer
  // CHECK: block.write
  // CHECK-NEXT: block.barrier
  // CHECK-NEXT: block.dot_async
  // CHECK-NEXT: block.barrier
  // CHECK-NEXT: block.dot_wait
  // CHECK-NEXT: block.barrier
  // CHECK-NEXT: block.write
  block.write %x -> %a : tensor<64x64xbf16, #c> -> !buffer
  block.barrier
  block.barrier
  %t = block.dot_async %a, %a, %zero : !buffer, !buffer, tensor<64x64xf32, #c>
  block.barrier
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  block.barrier
  block.write %x -> %a : tensor<64x64xbf16, #c> -> !buffer
  block.return
}
