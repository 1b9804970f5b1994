// RUN: sectile-opt %s --sectile-plan-shared | FileCheck %s
// RUN: not sectile-opt %s --sectile-plan-shared=limit=8192 2>&1 | FileCheck %s --check-prefix=LIMIT

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
#t = #block.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = [[0, 4]]>
#c = #block.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = [[4, 0]]>
#r = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 0], [0, 0]], warp = [[0, 0]]>

// The first buffer is dead when the second is filled, which therefore begins with a barrier; the third lives with both.
// LIMIT: error: 'buffers' needs 12288 bytes of shared memory, the target has 8192: smaller tiles, fewer stages or elements of fewer bits take less
// LIMIT: note: 4096 bytes at 8192 for 'block.alloc' ('!block.shared<64x16xf32>')
// LIMIT: note: 8192 bytes at 0 for 'block.alloc' ('!block.shared<128x16xf32>')
// CHECK-LABEL: block.kernel @buffers
// CHECK-SAME: shared_bytes = 12288 : i64
block.kernel @buffers() attributes {warps = 2 : i32} {
  %t = arith.constant dense<0.0> : tensor<64x16xf32, #m>
  %u = arith.constant dense<0.0> : tensor<128x16xf32, #m>
  // CHECK: %[[FIRST:.*]] = block.alloc {offset = 8192 : i64}
  // CHECK: %[[SECOND:.*]] = block.alloc {offset = 8192 : i64}
  // CHECK: %[[THIRD:.*]] = block.alloc {offset = 0 : i64} : <128x16xf32>
  %first = block.alloc : !block.shared<64x16xf32>
  %second = block.alloc : !block.shared<64x16xf32>
  %third = block.alloc : !block.shared<128x16xf32>
  // CHECK-NOT: block.barrier
  // CHECK: block.write %{{.*}} -> %[[FIRST]]
  block.write %t -> %first : tensor<64x16xf32, #m> -> !block.shared<64x16xf32>
  block.write %u -> %third : tensor<128x16xf32, #m> -> !block.shared<128x16xf32>
  block.barrier
  // CHECK: block.read %[[FIRST]]
  %a = block.read %first : !block.shared<64x16xf32> -> tensor<64x16xf32, #m>
  // CHECK-NEXT: block.barrier
  // CHECK-NEXT: block.write %{{.*}} -> %[[SECOND]]
  block.write %a -> %second : tensor<64x16xf32, #m> -> !block.shared<64x16xf32>
  block.barrier
  %b = block.read %second : !block.shared<64x16xf32> -> tensor<64x16xf32, #m>
  %d = block.read %third : !block.shared<128x16xf32> -> tensor<128x16xf32, #m>
  block.return
}

// A buffer that is used in a loop lives as long as the loop; scratch memory only as long as its operation: a conversion
// between warps, and a sum over rows that two warps share. A maximum within a warp takes none.
// CHECK-LABEL: block.kernel @loop
// CHECK-SAME: shared_bytes = 1536 : i64
block.kernel @loop(%n: i32) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = arith.constant dense<0.0> : tensor<8x16xf32, #m>
  // CHECK: block.alloc {offset = 0 : i64} : <2x8x16xf32>
  %ring = block.alloc : !block.shared<2x8x16xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK: block.convert %{{.*}} {block.scratch = 1024 : i64}
    %u = block.convert %t : tensor<8x16xf32, #m> -> tensor<8x16xf32, #t>
    %stage = block.stage %ring[%c0] : !block.shared<2x8x16xf32> -> !block.shared<8x16xf32>
    block.write %t -> %stage : tensor<8x16xf32, #m> -> !block.shared<8x16xf32>
    // CHECK: tile.reduce sum %{{.*}} axis 0 {block.scratch = 1024 : i64}
    %rows = tile.reduce sum %t axis 0 : tensor<8x16xf32, #m> -> tensor<1x16xf32, #r>
    // CHECK: tile.reduce max %{{.*}} axis 1 :
    %columns = tile.reduce max %t axis 1 : tensor<8x16xf32, #m> -> tensor<8x1xf32, #c>
  }
  // CHECK: block.convert %{{.*}} {block.scratch = 0 : i64}
  %u = block.convert %t : tensor<8x16xf32, #m> -> tensor<8x16xf32, #t>
  block.return
}

// Buffers that each pass of a loop fills before it reads them live within a pass. The barrier is there already, or it
// is added.
// CHECK-LABEL: block.kernel @passes
// CHECK-SAME: shared_bytes = 512 : i64
block.kernel @passes(%n: i32) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = arith.constant dense<0.0> : tensor<8x16xf32, #m>
  // CHECK: %[[A:.*]] = block.alloc {offset = 0 : i64}
  // CHECK: %[[B:.*]] = block.alloc {offset = 0 : i64}
  %a = block.alloc : !block.shared<8x16xf32>
  %b = block.alloc : !block.shared<8x16xf32>
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK-NEXT: block.barrier
    // CHECK-NEXT: block.write %{{.*}} -> %[[A]]
    block.barrier
    block.write %t -> %a : tensor<8x16xf32, #m> -> !block.shared<8x16xf32>
    block.barrier
    // CHECK: block.read %[[A]]
    %u = block.read %a : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
    // CHECK-NEXT: block.barrier
    // CHECK-NEXT: block.write %{{.*}} -> %[[B]]
    block.write %u -> %b : tensor<8x16xf32, #m> -> !block.shared<8x16xf32>
    block.barrier
    %v = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  }
  block.return
}

// Roles run side by side: buffers of two of them share nothing. What TMA fills and wgmma reads begins where the swizzle
// does, at multiples of 1024 bytes. The barriers of rings come last, two of 8 bytes for each stage.
#g = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
// CHECK-LABEL: block.kernel @roles
// CHECK-SAME: shared_bytes = 33808 : i64
block.kernel @roles(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  // CHECK: block.alloc {barriers = 33792 : i64, offset = 17408 : i64} : <1x128x64xbf16, step = 1, span = 8>
  %ring = block.alloc : !block.shared<1x128x64xbf16, step = 1, span = 8>
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 240] {
    %t = arith.constant dense<0.0> : tensor<64x66xf32, #g>
    // CHECK: block.alloc {offset = 0 : i64} : <64x66xf32>
    %a = block.alloc : !block.shared<64x66xf32>
    block.write %t -> %a : tensor<64x66xf32, #g> -> !block.shared<64x66xf32>
    block.acquire %ring[%c0] : !block.shared<1x128x64xbf16, step = 1, span = 8>
    block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<1x128x64xbf16, step = 1, span = 8>
  }, {
    %t = arith.constant dense<0.0> : tensor<1x32xf32, #g>
    // CHECK: block.alloc {offset = 16896 : i64} : <1x32xf32>
    %a = block.alloc : !block.shared<1x32xf32>
    block.write %t -> %a : tensor<1x32xf32, #g> -> !block.shared<1x32xf32>
  }
  block.return
}

// A product reads its buffers until somebody waits for it.
!stage = !block.shared<64x64xbf16, step = 1, span = 8>
// CHECK-LABEL: block.kernel @product
// CHECK-SAME: shared_bytes = 16384 : i64
block.kernel @product() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #g>
  %v = arith.constant dense<0.0> : tensor<64x64xbf16, #g>
  %a = block.alloc : !stage
  %b = block.alloc : !stage
  block.write %v -> %a : tensor<64x64xbf16, #g> -> !stage
  block.barrier
  %t = block.dot_async %a, %a, %zero : !stage, !stage, tensor<64x64xf32, #g>
  block.write %v -> %b : tensor<64x64xbf16, #g> -> !stage
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #g>>
  block.return
}

// A ring that is handed to and fro shares its place with nobody, though nothing else lives while it does: the barriers of
// threads do not hold back bulk copies.
// CHECK-LABEL: block.kernel @handed
// CHECK-SAME: shared_bytes = 24608 : i64
block.kernel @handed(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %v = arith.constant dense<0.0> : tensor<64x64xbf16, #g>
  // CHECK: block.alloc {offset = 16384 : i64} : <64x64xbf16, step = 1, span = 8>
  %a = block.alloc : !stage
  // CHECK: block.alloc {barriers = 24576 : i64, offset = 0 : i64} : <2x64x64xbf16, step = 1, span = 8>
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.write %v -> %a : tensor<64x64xbf16, #g> -> !stage
  block.barrier
  %b = block.read %a : !stage -> tensor<64x64xbf16, #g>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %s = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !stage
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}
