// RUN: sectile-opt %s -verify-diagnostics -split-input-file

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @no_ring(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs a ring (stages, rows, columns), got}}
  block.acquire %ring[%c0] : !block.shared<64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @stage(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op makes}}
  %K = block.wait_full %ring[%c0] : !block.shared<2x64x64xbf16, step = 1, span = 8> -> !block.shared<64x32xbf16>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @rows(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x512x64xbf16>
  // expected-error@+1 {{op copies boxes of up to 256 rows, got 512}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x512x64xbf16>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @wide(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x128xbf16, step = 1, span = 8>
  // expected-error@+1 {{op swizzles rows of 128 bytes by step 1 and span 8, 64 by 2 and 4, or 32 by 4 and 2, got rows of 256}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x128xbf16, step = 1, span = 8>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @fact(%x: !tile.view<2xbf16> {tile.access = "input", tile.unit_stride, tile.aligned16}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs a view with tile.bulk}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 1, span = 8>
  block.return
}

// -----

#d = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0]]>
block.kernel @groups(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 2 : i32} {
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
block.kernel @accumulator(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
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
block.kernel @columns(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
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
block.kernel @left(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 4 : i32} {
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
block.kernel @roles(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 5 : i32} {
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
block.kernel @budget(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 8 : i32} {
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
block.kernel @file(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op has 168 registers for each of the 384 threads at launch, the roles need 240}}
  block.specialize roles ["p", "c"] warps [4, 8] registers [240, 240] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @shares(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 16 : i32} {
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
block.kernel @barrier(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 8 : i32} {
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
block.kernel @outside(%x: !tile.view<2xbf16> {tile.access = "input", tile.bulk}) attributes {warps = 8 : i32} {
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

// -----

block.kernel @columns_of_box(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x512xbf16>
  // expected-error@+1 {{op copies boxes of up to 256 columns, got panels of 512}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x512xbf16>
  block.return
}

// -----

block.kernel @row_bytes(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x12xbf16>
  // expected-error@+1 {{op copies rows of multiples of 16 bytes, got 24}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x12xbf16>
  block.return
}

// -----

block.kernel @other_swizzle(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 2, span = 4>
  // expected-error@+1 {{op swizzles rows of 128 bytes by step 1 and span 8, 64 by 2 and 4, or 32 by 4 and 2, got rows of 128}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16, step = 2, span = 4>
  block.return
}

// -----

block.kernel @pattern(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x12x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs rows in multiples of 8, as the swizzle repeats, got 12}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x12x64xbf16, step = 1, span = 8>
  block.return
}

// -----

block.kernel @place(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x4x8xbf16>
  // expected-error@+1 {{op needs panels in multiples of 128 bytes, got 64}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x4x8xbf16>
  block.return
}

// -----

block.kernel @dimensions(%x: !tile.view<6xbf16>) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16>
  // expected-error@+1 {{op copies rows and columns of views of rank 2 to 5, got a view of rank 6}}
  block.copy_bulk %x[%c0, %c0, %c0, %c0, %c0, %c0] -> %ring[%c0] : !tile.view<6xbf16> -> !block.shared<2x64x64xbf16>
  block.return
}

// -----

block.kernel @indices(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xbf16>
  // expected-error@+1 {{op needs one index for each of the 2 dimensions, got 1}}
  block.copy_bulk %x[%c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xbf16>
  block.return
}

// -----

block.kernel @element(%x: !tile.view<2xbf16> {tile.bulk}) attributes {warps = 4 : i32} {
  %c0 = arith.constant 0 : i32
  %ring = block.alloc : !block.shared<2x64x64xf16>
  // expected-error@+1 {{op needs the view's element type}}
  block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !block.shared<2x64x64xf16>
  block.return
}

// -----

block.kernel @panels() attributes {warps = 4 : i32} {
  // expected-error@+1 {{the 128 columns of a shared buffer are whole panels, got panels of 48}}
  %a = block.alloc : !block.shared<64x128xbf16, panel = 48>
  block.return
}

// -----

block.kernel @word() attributes {warps = 4 : i32} {
  // expected-error@+1 {{a shared buffer has step, span, unit and panel, got pane}}
  %a = block.alloc : !block.shared<64x128xbf16, pane = 64>
  block.return
}

// -----

#r = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0]]>
block.kernel @flat() attributes {warps = 4 : i32} {
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %z = arith.constant dense<0.0> : tensor<64xf32, #r>
  // expected-error@+1 {{op accumulates in f32 and two dimensions, got}}
  %t = block.dot_async %b, %b, %z : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64xf32, #r>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @half() attributes {warps = 4 : i32} {
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %z = arith.constant dense<0.0> : tensor<64x64xf16, #c>
  // expected-error@+1 {{op accumulates in f32 and two dimensions, got}}
  %t = block.dot_async %b, %b, %z : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf16, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @rows_of_groups() attributes {warps = 4 : i32} {
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %z = arith.constant dense<0.0> : tensor<32x64xf32, #c>
  // expected-error@+1 {{op has 64 rows for each of the 1 groups of warps and columns in multiples of 8, got}}
  %t = block.dot_async %b, %b, %z : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<32x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @integers() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xi1>
  // expected-error@+1 {{op multiplies floats of 8 and 16 bits, got}}
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xi1>, !block.shared<64x64xi1>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @words() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xf32>
  // expected-error@+1 {{op multiplies floats of 8 and 16 bits, got}}
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xf32>, !block.shared<64x64xf32>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @bytes() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xf8E4M3FN, step = 2, span = 4>
  // expected-error@+1 {{op reads elements of 8 bits along k only: needs B of [n,k] and transposed_b, got}}
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xf8E4M3FN, step = 2, span = 4>, !block.shared<64x64xf8E4M3FN, step = 2, span = 4>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @not_swizzled() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xbf16>
  // expected-error@+1 {{op needs B in rows of 128 bytes swizzled by step 1 and span 8, of 64 by 2 and 4, or of 32 by 4 and 2, got}}
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xbf16>, !block.shared<64x64xbf16>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @registers() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %p = arith.constant dense<0.0> : tensor<64x64xbf16, #c>
  // expected-error@+1 {{op needs A as}}
  %t = block.dot_async %p, %b, %zero : tensor<64x64xbf16, #c>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @a_ring() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %ring = block.alloc : !block.shared<2x64x64xbf16, step = 1, span = 8>
  // expected-error@+1 {{op needs one stage of a ring, got}}
  %t = block.dot_async %ring, %b, %zero : !block.shared<2x64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
block.kernel @negative() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %b = block.alloc : !block.shared<64x64xbf16, step = 1, span = 8>
  %t = block.dot_async %b, %b, %zero : !block.shared<64x64xbf16, step = 1, span = 8>, !block.shared<64x64xbf16, step = 1, span = 8>, tensor<64x64xf32, #c>
  // expected-error@+1 {{op leaves 0 or more products pending, got -1}}
  %s = block.dot_wait %t pending -1 : !block.token<tensor<64x64xf32, #c>>
  block.return
}

// -----

block.kernel @names() attributes {warps = 8 : i32} {
  // expected-error@+1 {{op has two roles with the name "c"}}
  block.specialize roles ["c", "c"] warps [4, 4] registers [24, 240] {
  }, {
  }
  block.return
}

// -----

block.kernel @counts() attributes {warps = 8 : i32} {
  // expected-error@+1 {{op needs two or more roles, with as many numbers of warps, of registers, and bodies, got 2, 2, 1 and 2}}
  block.specialize roles ["p", "c"] warps [4, 4] registers [24] {
  }, {
  }
  block.return
}

// -----

block.kernel @steps() attributes {warps = 8 : i32} {
  // expected-error@+1 {{op role "c" may use 24 to 240 registers a thread, in steps of 8, got 100}}
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 100] {
  }, {
  }
  block.return
}

// -----

// 64512 fit the file of 65536, but 640 threads are launched with 96 each.
block.kernel @launch() attributes {warps = 20 : i32} {
  // expected-error@+1 {{op has 96 registers for each of the 640 threads at launch, the roles need 104}}
  block.specialize roles ["p", "c"] warps [4, 16] registers [24, 120] {
  }, {
  }
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
!buffer = !block.shared<64x64xbf16, step = 1, span = 8>
block.kernel @a_shape() attributes {warps = 4 : i32} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
  %p = arith.constant dense<0.0> : tensor<64x32xbf16, #a>
  %b = block.alloc : !buffer
  // expected-error@+1 {{op needs A of 64x64x'bf16', got 'tensor<64x32xbf16}}
  %t = block.dot_async %p, %b, %zero : tensor<64x32xbf16, #a>, !buffer, tensor<64x64xf32, #c>
  block.return
}

// -----

// A role's tensors are held by its own warps.
#r = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32], [0], [0]]>
block.kernel @warps_of_role() attributes {warps = 8 : i32} {
  block.specialize roles ["p", "c"] warps [4, 4] registers [24, 240] {
  }, {
    // expected-error@+1 {{op is run by 4 warps, got a tensor that is held by 8}}
    %i = tile.iota : tensor<64xi32, #r>
  }
  block.return
}
