// RUN: sectile-opt %s -split-input-file -verify-diagnostics --sectile-check-layouts

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = []>
#c = #block.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = []>
#other = #block.layout<register = [], lane = [[1, 0], [2, 0], [0, 0], [0, 0], [0, 0]], warp = []>
block.kernel @reduce(%x: f32) attributes {warps = 1 : i32} {
  %t = tile.splat %x : tensor<4x16xf32, #m>
  %s = tile.reduce sum %t axis 1 : tensor<4x16xf32, #m> -> tensor<4x1xf32, #c>
  %b = tile.broadcast %s : tensor<4x1xf32, #c> -> tensor<4x16xf32, #m>
  // expected-error@+1 {{op makes the source's layout, reduced along the axis: needs 'tensor<4x1xf32, #block.layout<register = [], lane = [[0, 0], [0, 0], [0, 0], [1, 0], [2, 0]], warp = []>>', got}}
  %r = tile.reduce sum %t axis 1 : tensor<4x16xf32, #m> -> tensor<4x1xf32, #other>
  // expected-error@+1 {{op moves nothing: needs 'tensor<4x1xf32}}
  %d = tile.broadcast %r : tensor<4x1xf32, #other> -> tensor<4x16xf32, #m>
  block.return
}

// -----

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = []>
#t = #block.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [8, 0], [0, 1], [0, 2]], warp = []>
block.kernel @transpose(%x: f32) attributes {warps = 1 : i32} {
  %t = tile.splat %x : tensor<4x16xf32, #m>
  %u = tile.transpose %t [1, 0] : tensor<4x16xf32, #m> -> tensor<16x4xf32, #t>
  // expected-error@+1 {{op moves nothing: needs 'tensor<4x16xf32}}
  %v = tile.transpose %t [1, 0] : tensor<4x16xf32, #m> -> tensor<16x4xf32, #m>
  block.return
}

// -----

#all = #block.layout<register = [], lane = [[0], [0], [0], [0], [0]], warp = []>
#row = #block.layout<register = [], lane = [[1], [2], [4], [8], [16]], warp = []>
block.kernel @extract(%x: f32) attributes {warps = 1 : i32} {
  %c0 = arith.constant 0 : i32
  %t = tile.splat %x : tensor<1xf32, #all>
  %s = tile.extract %t : tensor<1xf32, #all>
  %u = tile.splat %x : tensor<1xf32, #row>
  // expected-error@+1 {{op needs an element that every thread holds: needs 'tensor<1xf32}}
  %v = tile.extract %u : tensor<1xf32, #row>
  block.return
}

// -----

#m = #block.layout<register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [1, 0], [2, 0]], warp = []>
#n = #block.layout<register = [[1, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>
block.kernel @conversion(%x: f32) attributes {warps = 1 : i32} {
  %t = tile.splat %x : tensor<4x16xf32, #m>
  %u = tile.cast %t : tensor<4x16xf32, #m> to tensor<4x16xf16, #m>
  // expected-error@+1 {{op keeps the layout: needs 'tensor<4x16xf32}}
  %v = tile.cast %t : tensor<4x16xf32, #m> to tensor<4x16xf16, #n>
  block.return
}
