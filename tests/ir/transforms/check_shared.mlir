// RUN: sectile-opt %s -split-input-file -verify-diagnostics --sectile-check-shared

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @write() attributes {warps = 2 : i32} {
  %t = arith.constant dense<0.0> : tensor<8x16xf32, #m>
  %b = block.alloc : !block.shared<8x16xf32>
  // expected-note@+1 {{stored here}}
  block.write %t -> %b : tensor<8x16xf32, #m> -> !block.shared<8x16xf32>
  // expected-error@+1 {{op reads what other threads may not have stored yet: a block.barrier is missing}}
  %u = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  block.return
}

// -----

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @nothing() attributes {warps = 2 : i32} {
  // expected-note@+1 {{the buffer}}
  %b = block.alloc : !block.shared<8x16xf32>
  // expected-error@+1 {{op reads shared memory that nothing has filled}}
  %u = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  block.return
}

// -----

// A loop's next pass overwrites what this one reads.
#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @again(%n: i32) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %t = arith.constant dense<0.0> : tensor<8x16xf32, #m>
  %b = block.alloc : !block.shared<8x16xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    // expected-error@+1 {{op overwrites what other threads may still read: a block.barrier is missing}}
    block.write %t -> %b : tensor<8x16xf32, #m> -> !block.shared<8x16xf32>
    block.barrier
    // expected-note@+1 {{read here}}
    %u = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  }
  block.return
}

// -----

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @group(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 2 : i32} {
  %b = block.alloc : !block.shared<8x16xf32>
  // expected-note@+1 {{the copy}}
  block.copy_async %x[%i, %i] -> %b : !tile.view<2xf32> -> !block.shared<8x16xf32>
  block.wait pending 0
  block.barrier
  // expected-error@+1 {{op reads a copy that is in no group: a block.commit and a block.wait are missing}}
  %u = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  block.return
}

// -----

// The wait leaves one group pending: the second copy's, which is read.
#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @wait(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 2 : i32} {
  %a = block.alloc : !block.shared<8x16xf32>
  %b = block.alloc : !block.shared<8x16xf32>
  block.copy_async %x[%i, %i] -> %a : !tile.view<2xf32> -> !block.shared<8x16xf32>
  block.commit
  // expected-note@+1 {{the copy}}
  block.copy_async %x[%i, %i] -> %b : !tile.view<2xf32> -> !block.shared<8x16xf32>
  block.commit
  block.wait pending 1
  block.barrier
  %u = block.read %a : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  // expected-error@+1 {{op reads a copy that may be under way: a block.wait for its group is missing}}
  %v = block.read %b : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
  block.return
}

// -----

// A ring of two whose copies never leave the slot that is being read.
#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0]]>
block.kernel @ring(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %n: i32) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = block.alloc : !block.shared<2x8x16xf32>
  %first = block.stage %ring[%c0] : !block.shared<2x8x16xf32> -> !block.shared<8x16xf32>
  block.copy_async %x[%c0, %c0] -> %first : !tile.view<2xf32> -> !block.shared<8x16xf32>
  block.commit
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%slot = %c0) -> (i32) : i32 {
    %now = block.stage %ring[%slot] : !block.shared<2x8x16xf32> -> !block.shared<8x16xf32>
    block.wait pending 0
    block.barrier
    // expected-note@+1 {{read here}}
    %t = block.read %now : !block.shared<8x16xf32> -> tensor<8x16xf32, #m>
    %later = block.stage %ring[%slot] : !block.shared<2x8x16xf32> -> !block.shared<8x16xf32>
    // expected-error@+1 {{op overwrites what other threads may still read: a block.barrier is missing}}
    block.copy_async %x[%i, %c0] -> %later : !tile.view<2xf32> -> !block.shared<8x16xf32>
    block.commit
    scf.yield %slot : i32
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!buffer = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @product() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %x = arith.constant dense<0.0> : tensor<64x64xbf16, #c>
  %a = block.alloc : !buffer
  // expected-note@+1 {{stored here}}
  block.write %x -> %a : tensor<64x64xbf16, #c> -> !buffer
  // expected-error@+1 {{op reads what other threads may not have stored yet: a block.barrier is missing}}
  %t = block.dot_async %a, %a, %zero : !buffer, !buffer, tensor<64x64xf32, #c>
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  block.return
}

// -----

// A barrier does not end a product; waiting for a later one does.
#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!buffer = !block.shared<64x64xbf16, step = 1, span = 8>
!token = !block.token<tensor<64x64xf32, #c>>
block.kernel @in_flight() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %x = arith.constant dense<0.0> : tensor<64x64xbf16, #c>
  %a = block.alloc : !buffer
  %b = block.alloc : !buffer
  block.write %x -> %a : tensor<64x64xbf16, #c> -> !buffer
  block.write %x -> %b : tensor<64x64xbf16, #c> -> !buffer
  block.barrier
  %t = block.dot_async %a, %a, %zero : !buffer, !buffer, tensor<64x64xf32, #c>
  // expected-note@+1 {{the product}}
  %u = block.dot_async %b, %b, %zero : !buffer, !buffer, tensor<64x64xf32, #c>
  %r = block.dot_wait %t pending 1 : !token
  block.barrier
  block.write %x -> %a : tensor<64x64xbf16, #c> -> !buffer
  // expected-error@+1 {{op overwrites what a product in flight may still read: a block.dot_wait is missing}}
  block.write %x -> %b : tensor<64x64xbf16, #c> -> !buffer
  %s = block.dot_wait %u pending 0 : !token
  block.return
}
