// RUN: not sectile-opt %s --split-input-file --sectile-block-to-llvm="sm=90 ptx=84" 2>&1 | FileCheck %s

// CHECK: error: 'block.wait_full' op needs a ring with barriers, which have no place yet: plan shared memory first
block.kernel @full() attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc {offset = 0 : i64} : !block.shared<2x64x64xbf16>
  %stage = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16> -> !block.shared<64x64xbf16>
  block.return
}

// -----

#row = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], warp = [[1, 0], [2, 0]]>

// CHECK: error: 'block.copy_bulk' op reads a view that the kernel writes, and bulk copies are in no order with stores
// CHECK: note: written here
block.kernel @copy(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<4x64xbf16, #row>
  %ring = block.alloc {offset = 0 : i64, barriers = 16384 : i64} : !block.shared<2x64x64xbf16>
  tile.store %zero, %x[%c0, %c0] : tensor<4x64xbf16, #row>, !tile.view<2xbf16>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16>
  block.return
}

// -----

// CHECK: error: 'block.specialize' op has no lowering to sm_90: warps exchange registers from sm_90a on
block.kernel @roles() attributes {warps = 8 : i32} {
  block.specialize roles ["producer", "consumer"] warps [4, 4] registers [24, 240] {
  }, {
  }
  block.return
}
