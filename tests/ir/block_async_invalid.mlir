// RUN: sectile-opt %s -verify-diagnostics -split-input-file

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @no_ring(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs a ring (stages, rows, columns), got}}
  block.acquire %ring[%c0] : !block.shared<64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @stage(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op makes}}
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x32xbf16>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @rows(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x512x64xbf16>
  // expected-error@+1 {{op copies boxes of up to 256 rows, got 512}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x512x64xbf16>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @wide(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x128xbf16, step = 1, span = 8>
  // expected-error@+1 {{op swizzles rows of 128 bytes by step 1 and span 8, 64 by 2 and 4, or 32 by 4 and 2, got rows of 256}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x128xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @fact(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs a view with tile.aligned16}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#d = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]]>
block.kernel @groups(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 2 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %z = arith.constant dense<0.0> : tensor<64x64xf32, #d>
  // expected-error@+1 {{op is done by groups of 4 warps, got 2 warps}}
  %t = block.dot_async %b, %b, %z : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #d>
  block.return
}

// -----

#d = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]]>
block.kernel @accumulator(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %z = arith.constant dense<0.0> : tensor<64x64xf32, #d>
  // expected-error@+1 {{op needs the accumulator as}}
  %t = block.dot_async %b, %b, %z : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #d>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @columns(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %zero = arith.constant dense<0.0> : tensor<64x32xf32, #c>
  // expected-error@+1 {{op needs B of 32 columns and of rows in multiples of 16, got 64 columns and 64 rows}}
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x32xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @left(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %a = block.alloc : !block.shared<64x32xbf16, step = 2, span = 4>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  // expected-error@+1 {{op needs A of 64x64x}}
  %t = block.dot_async %a, %b, %zero : !block.shared<64x32xbf16, step = 2, span = 4>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @roles(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 5 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op role "p" needs whole groups of 4 warps, got 1}}
  block.specialize roles ["p", "c"] warps [1, 4] registers [24, 240] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @budget(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op role "c" may use 24 to 240 registers a thread, in steps of 8, got 244}}
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 244] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @file(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op has 64512 registers for all roles, 168 for each of the 384 threads at launch, got 92160}}
  block.specialize roles ["p", "c"] warps [4, 8] registers [240, 240] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @shares(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 16 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op shares out the 16 warps of the kernel, got 12}}
  block.specialize roles ["p", "c"] warps [4, 8] registers [24, 240] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @barrier(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 240] {
    // expected-error@+1 {{op waits for all threads, which in role 'p' do not come}}
    block.barrier
  }, {
  }
  block.return
}

// -----

#r = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0], [0]]>
block.kernel @outside(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 8 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  %i = tile.iota : tensor<64xi32, #r>
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 240] {
  }, {
    // expected-error@+1 {{op in role 'c' uses a tensor that all warps hold}}
    %j = arith.addi %i, %i : tensor<64xi32, #r>
  }
  block.return
}
