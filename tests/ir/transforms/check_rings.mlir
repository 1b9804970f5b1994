// RUN: sectile-opt %s -split-input-file -verify-diagnostics --sectile-check-rings

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @not_acquired(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op copies into a ring of which this role acquires no stage: others may still read it}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @late(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op copies into a stage before it is acquired}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-note@+1 {{acquired here}}
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @not_filled(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op acquires a stage of a ring that this role does not fill: who waits for it waits forever}}
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @nobody_fills(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  // expected-note@+1 {{the ring}}
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op waits for a ring that nobody fills}}
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @not_released(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op waits for stages of a ring that this role never releases: its producer waits forever}}
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @not_waited(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op releases a stage of a ring that this role never waits for}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @twice(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-note@+1 {{released here}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op releases a stage for the second time}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @read_after(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-note@+1 {{released here}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op reads a stage that was released}}
  %r = block.read %K : !block.shared<64x64xbf16, step = 1, span = 8> -> tensor<64x64xbf16, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @in_flight(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-note@+1 {{the product}}
  %t = block.dot_async %K, %K, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  // expected-error@+1 {{op releases a stage that a product in flight may still read: a block.dot_wait is missing}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @never(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-error@+2 {{op is never waited for: its result is nowhere}}
  // expected-note@+1 {{the product}}
  %t = block.dot_async %K, %K, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  // expected-error@+1 {{op releases a stage that a product in flight may still read: a block.dot_wait is missing}}
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @again(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  block.acquire %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x64xbf16, step = 1, span = 8>
  %t = block.dot_async %K, %K, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  // expected-note@+1 {{waited for here}}
  %s = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  // expected-error@+1 {{op waits for a product for the second time}}
  %u = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
  block.release %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}
