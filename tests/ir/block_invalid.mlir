// RUN: sectile-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{op has 1, 2, 4, 8, 16 or 32 warps, got 3}}
block.kernel @warps() attributes {warps = 3 : i32} {
  block.return
}

// -----

// expected-error@+1 {{op argument 0: tile.aligned16 is a unit attribute of views}}
block.kernel @argument(%x: i32 {tile.aligned16}) attributes {warps = 1 : i32} {
  block.return
}

// -----

block.kernel @no_layout() attributes {warps = 1 : i32} {
  // expected-error@+1 {{op needs a layout for each tensor, got 'tensor<4xi32>'}}
  %t = tile.iota : tensor<4xi32>
  block.return
}

// -----

#row = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = [[32]]>
block.kernel @other_warps() attributes {warps = 4 : i32} {
  // expected-error@+1 {{op is run by 4 warps, got a tensor that is held by 2}}
  %t = tile.iota : tensor<64xi32, #row>
  block.return
}

// -----

#row = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
block.kernel @rank() attributes {warps = 1 : i32} {
  // expected-error@+1 {{a layout of rank 1 is not one of a tensor of rank 2}}
  %t = arith.constant dense<0> : tensor<4x4xi32, #row>
  block.return
}

// -----

#row = #block.layout<register = [[3]], lane = [[1], [2], [4], [8], [16]], warp = []>
block.kernel @basis() attributes {warps = 1 : i32} {
  // expected-error@+1 {{layout: basis 0 of register, [3], must move one coordinate by a power of two}}
  %t = tile.iota : tensor<64xi32, #row>
  block.return
}

// -----

// expected-error@+1 {{a layout has 5 or 6 bases of lanes, got 4}}
#row = #block.layout<register = [], lane = [[1], [2], [4], [8]], warp = []>

// -----

// expected-error@+1 {{the bases of a layout have one coordinate for each dimension, got 2 and 1}}
#row = #block.layout<register = [[1, 0]], lane = [[1], [2], [4], [8], [16]], warp = []>

// -----

block.kernel @shared_rank() attributes {warps = 1 : i32} {
  // expected-error@+1 {{a shared buffer has rows and columns, or stages, rows and columns, got rank 1}}
  %b = block.alloc : !block.shared<4xf32>
  block.return
}

// -----

block.kernel @shared_type() attributes {warps = 1 : i32} {
  // expected-error@+1 {{a shared buffer holds f32, f16, bf16, f8E4M3FN, f8E5M2, i32 or i1, got 'f64'}}
  %b = block.alloc : !block.shared<4x4xf64>
  block.return
}

// -----

block.kernel @shared_swizzle() attributes {warps = 1 : i32} {
  // expected-error@+1 {{shared buffer: }}
  %b = block.alloc : !block.shared<4x8xf32, step = 1, span = 8>
  block.return
}

// -----

block.kernel @offset() attributes {warps = 1 : i32} {
  // expected-error@+1 {{op begins at a multiple of 16 bytes, got 8}}
  %b = block.alloc {offset = 8 : i64} : !block.shared<4x4xf32>
  block.return
}

// -----

block.kernel @no_ring(%i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x4xf32>
  // expected-error@+1 {{op needs a ring (stages, rows, columns), got '!block.shared<4x4xf32>'}}
  %s = block.stage %b[%i] : !block.shared<4x4xf32> -> !block.shared<4x4xf32>
  block.return
}

// -----

block.kernel @stage(%i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<2x4x4xf32>
  // expected-error@+1 {{op makes '!block.shared<4x4xf32>' of '!block.shared<2x4x4xf32>', got '!block.shared<4x8xf32>'}}
  %s = block.stage %b[%i] : !block.shared<2x4x4xf32> -> !block.shared<4x8xf32>
  block.return
}

// -----

#m = #block.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>
block.kernel @write() attributes {warps = 1 : i32} {
  %t = arith.constant dense<0.0> : tensor<4x8xf32, #m>
  %b = block.alloc : !block.shared<8x4xf32>
  // expected-error@+1 {{op needs a tensor of 'tensor<8x4xf32>' for '!block.shared<8x4xf32>', got 'tensor<4x8xf32}}
  block.write %t -> %b : tensor<4x8xf32, #m> -> !block.shared<8x4xf32>
  block.return
}

// -----

#m = #block.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>
block.kernel @read() attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x8xf32>
  // expected-error@+1 {{op needs a tensor of 'tensor<8x4xf32>' for '!block.shared<4x8xf32>', transposed, got 'tensor<4x8xf32}}
  %t = block.read %b transposed : !block.shared<4x8xf32> -> tensor<4x8xf32, #m>
  block.return
}

// -----

#m = #block.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>
block.kernel @read_ring() attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<2x4x8xf32>
  // expected-error@+1 {{op needs one stage of a ring, got '!block.shared<2x4x8xf32>'}}
  %t = block.read %b : !block.shared<2x4x8xf32> -> tensor<4x8xf32, #m>
  block.return
}

// -----

block.kernel @copy_facts(%x: !tile.view<2xf32> {tile.unit_stride}, %i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x8xf32>
  // expected-error@+1 {{op needs a view with tile.aligned16}}
  block.copy_async %x[%i, %i] -> %b : !tile.view<2xf32> -> !block.shared<4x8xf32>
  block.return
}

// -----

block.kernel @copy_chunks(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x6xf32>
  // expected-error@+1 {{op copies chunks of 16 bytes, got rows of 24 bytes}}
  block.copy_async %x[%i, %i] -> %b : !tile.view<2xf32> -> !block.shared<4x6xf32>
  block.return
}

// -----

block.kernel @copy_indices(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x8xf32>
  // expected-error@+1 {{op needs one index for each of the 2 dimensions, got 1}}
  block.copy_async %x[%i] -> %b : !tile.view<2xf32> -> !block.shared<4x8xf32>
  block.return
}

// -----

block.kernel @copy_rank(%x: !tile.view<1xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x8xf32>
  // expected-error@+1 {{op copies rows and columns, got a view of rank 1}}
  block.copy_async %x[%i] -> %b : !tile.view<1xf32> -> !block.shared<4x8xf32>
  block.return
}

// -----

block.kernel @copy_type(%x: !tile.view<2xf32> {tile.unit_stride, tile.aligned16}, %i: i32) attributes {warps = 1 : i32} {
  %b = block.alloc : !block.shared<4x8xbf16>
  // expected-error@+1 {{op needs the view's element type 'f32', got '!block.shared<4x8xbf16>'}}
  block.copy_async %x[%i, %i] -> %b : !tile.view<2xf32> -> !block.shared<4x8xbf16>
  block.return
}

// -----

block.kernel @wait() attributes {warps = 1 : i32} {
  // expected-error@+1 {{op leaves 0 or more groups pending, got -1}}
  block.wait pending -1
  block.return
}

// -----

#m = #block.layout<register = [], lane = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]], warp = []>
block.kernel @convert() attributes {warps = 1 : i32} {
  %t = arith.constant dense<0.0> : tensor<4x8xf32, #m>
  // expected-error@+1 {{op keeps shape and element type, got 'tensor<4x8xf32}}
  %u = block.convert %t : tensor<4x8xf32, #m> -> tensor<8x4xf32, #m>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
block.kernel @dot_operand() attributes {warps = 1 : i32} {
  %a = arith.constant dense<0.0> : tensor<16x16xf16, #acc>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error@+1 {{op mma needs operand A as 'tensor<16x16xf16, #block.layout<register = [[0, 1], [8, 0], [0, 8]]}}
  %d = block.dot mma %a, %b, %c : tensor<16x16xf16, #acc>, tensor<16x8xf16, #b>, tensor<16x8xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_operand_b() attributes {warps = 1 : i32} {
  %a = arith.constant dense<0.0> : tensor<16x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #a>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error@+1 {{op mma needs operand B as 'tensor<16x8xf16, #block.layout<register = [[1, 0], [8, 0]]}}
  %d = block.dot mma %a, %b, %c : tensor<16x16xf16, #a>, tensor<16x8xf16, #a>, tensor<16x8xf32, #acc>
  block.return
}

// -----

#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
block.kernel @dot_accumulator() attributes {warps = 1 : i32} {
  %a = arith.constant dense<0.0> : tensor<16x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xf16, #b>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #b>
  // expected-error@+1 {{op mma needs an accumulator in the layout of mma.sync, got 'tensor<16x8xf32}}
  %d = block.dot mma %a, %b, %c : tensor<16x16xf16, #a>, tensor<16x8xf16, #b>, tensor<16x8xf32, #b>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
block.kernel @dot_types() attributes {warps = 1 : i32} {
  %a = arith.constant dense<0.0> : tensor<16x16xf16, #a>
  %b = arith.constant dense<0.0> : tensor<16x8xbf16, #b>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error@+1 {{op mma multiplies operands of one type, got 'tensor<16x16xf16}}
  %d = block.dot mma %a, %b, %c : tensor<16x16xf16, #a>, tensor<16x8xbf16, #b>, tensor<16x8xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_shapes() attributes {warps = 1 : i32} {
  %a = block.alloc : !block.shared<16x16xf32>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error@+1 {{op needs an accumulator of f32 and shape [16, 16], got 'tensor<16x8xf32}}
  %d = block.dot fma %a, %a, %c : !block.shared<16x16xf32>, !block.shared<16x16xf32>, tensor<16x8xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_depth() attributes {warps = 1 : i32} {
  %a = block.alloc : !block.shared<16x16xf32>
  %b = block.alloc : !block.shared<8x16xf32>
  %c = arith.constant dense<0.0> : tensor<16x8xf32, #acc>
  // expected-error@+1 {{op needs [m,k] x [k,n], got '!block.shared<16x16xf32>' x '!block.shared<8x16xf32>'}}
  %d = block.dot fma %a, %b, %c : !block.shared<16x16xf32>, !block.shared<8x16xf32>, tensor<16x8xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_mma_shared() attributes {warps = 1 : i32} {
  %a = block.alloc : !block.shared<16x16xf32>
  %c = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  // expected-error@+1 {{op mma multiplies tensors, got '!block.shared<16x16xf32>' x '!block.shared<16x16xf32>'}}
  %d = block.dot mma %a, %a, %c : !block.shared<16x16xf32>, !block.shared<16x16xf32>, tensor<16x16xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_places() attributes {warps = 1 : i32} {
  %a = block.alloc : !block.shared<16x16xf32>
  %c = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  // expected-error@+1 {{op needs both operands in registers or both in shared memory, got '!block.shared<16x16xf32>' x 'tensor<16x16xf32}}
  %d = block.dot fma %a, %c, %c : !block.shared<16x16xf32>, tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc>
  block.return
}

// -----

#acc = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
block.kernel @dot_transposed() attributes {warps = 1 : i32} {
  %c = arith.constant dense<0.0> : tensor<16x16xf32, #acc>
  // expected-error@+1 {{op reads only buffers transposed}}
  %d = block.dot fma %c, %c, %c {transposed_a} : tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc>, tensor<16x16xf32, #acc>
  block.return
}

// -----

block.kernel @barriers() attributes {warps = 4 : i32} {
  // expected-error@+1 {{op has barriers at a multiple of 8 bytes, got 4}}
  %a = block.alloc {barriers = 4 : i64} : !block.shared<2x16x8xf32>
  block.return
}

// -----

block.kernel @noRing() attributes {warps = 4 : i32} {
  // expected-error@+1 {{op has barriers for each stage of a ring, got '!block.shared<16x8xf32>'}}
  %a = block.alloc {barriers = 8 : i64} : !block.shared<16x8xf32>
  block.return
}

// -----

block.kernel @oddPanels() attributes {warps = 4 : i32} {
  // expected-error@+1 {{op has panels of as many columns as a power of two, got '!block.shared<16x96xf32, panel = 48>'}}
  %a = block.alloc : !block.shared<16x96xf32, panel = 48>
  block.return
}
