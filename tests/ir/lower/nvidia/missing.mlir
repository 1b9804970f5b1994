// RUN: not sectile-opt %s --split-input-file --sectile-block-to-llvm 2>&1 | FileCheck %s

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#t = #block.layout<register = [[1, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 16], [0, 32]]>

// CHECK: error: needs scratch memory, which has no place yet: plan shared memory first
block.kernel @scratch(%x: f32) attributes {warps = 4 : i32} {
  %s = tile.splat %x : tensor<64x64xf32, #c>
  %r = block.convert %s : tensor<64x64xf32, #c> -> tensor<64x64xf32, #t>
  block.return
}

// -----

// CHECK: error: has no place in shared memory yet: plan shared memory first
block.kernel @buffer(%x: f32) attributes {warps = 4 : i32} {
  %a = block.alloc : !block.shared<16x8xf32>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>

// CHECK: error: has no lowering to sm_80: only constant tiles of one value do
block.kernel @constant(%x: f32) attributes {warps = 1 : i32} {
  %s = arith.constant dense<[[0.0, 1.0]]> : tensor<1x2xf32, #c>
  block.return
}

// -----

// Barriers that count bytes came with sm_90, wgmma and roles are of sm_90a.
// CHECK: error: 'block.acquire' op has no lowering to sm_80: barriers that count bytes came with sm_90
block.kernel @acquire() attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc {offset = 0 : i64, barriers = 16384 : i64} : !block.shared<2x64x64xbf16>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>

// CHECK: error: 'block.dot_async' op has no lowering to sm_80: wgmma is an instruction of sm_90a alone
block.kernel @product() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %a = block.alloc {offset = 0 : i64} : !block.shared<64x64xbf16, step = 1, span = 8>
  %t = block.dot_async %a, %a, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  block.return
}

// -----

// CHECK: error: 'block.specialize' op has no lowering to sm_80: warps exchange registers from sm_90a on
block.kernel @roles() attributes {warps = 8 : i32} {
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#t = #block.layout<register = [[1, 0], [0, 8]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 16], [0, 32]]>

// CHECK: error: 'block.convert' op lets all threads meet, in a branch on tile.any, where a warp may be alone
block.kernel @alone(%x: f32) attributes {shared_bytes = 16384 : i64, warps = 4 : i32} {
  %s = tile.splat %x : tensor<64x64xf32, #c>
  %limit = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %large = arith.cmpf ugt, %s, %limit : tensor<64x64xf32, #c>
  %any = tile.any %large : tensor<64x64xi1, #c> -> i1
  scf.if %any {
    %r = block.convert %s {block.scratch = 0 : i64} : tensor<64x64xf32, #c> -> tensor<64x64xf32, #t>
  }
  block.return
}
