// RUN: sectile-opt %s -verify-diagnostics -split-input-file

tile.kernel @iota_type() {
  // expected-error@+1 {{op makes a tile of i32 of rank 1, got 'tensor<4xf32>'}}
  %t = tile.iota : tensor<4xf32>
  tile.return
}

// -----

tile.kernel @iota_rank() {
  // expected-error@+1 {{op makes a tile of i32 of rank 1, got 'tensor<4x4xi32>'}}
  %t = tile.iota : tensor<4x4xi32>
  tile.return
}

// -----

tile.kernel @splat(%s: f32) {
  // expected-error@+1 {{failed to verify that the scalar has the tile's element type}}
  %t = "tile.splat"(%s) : (f32) -> tensor<4xi32>
  tile.return
}

// -----

tile.kernel @extract() {
  %t = tile.iota : tensor<2xi32>
  // expected-error@+1 {{op needs a tile of one element, got 'tensor<2xi32>'}}
  %s = tile.extract %t : tensor<2xi32>
  tile.return
}

// -----

tile.kernel @broadcast_rank() {
  %t = tile.iota : tensor<4xi32>
  // expected-error@+1 {{op keeps the rank, got 'tensor<4xi32>' to 'tensor<4x4xi32>': reshape first}}
  %b = tile.broadcast %t : tensor<4xi32> -> tensor<4x4xi32>
  tile.return
}

// -----

tile.kernel @broadcast_size(%s: f32) {
  %t = tile.splat %s : tensor<2x4xf32>
  // expected-error@+1 {{op stretches dimensions of size 1, got 'tensor<2x4xf32>' to 'tensor<2x8xf32>' (axis 1)}}
  %b = tile.broadcast %t : tensor<2x4xf32> -> tensor<2x8xf32>
  tile.return
}

// -----

tile.kernel @broadcast_element(%s: f32) {
  %t = tile.splat %s : tensor<1xf32>
  // expected-error@+1 {{op keeps the element type, got 'tensor<1xf32>' to 'tensor<4xf16>'}}
  %b = tile.broadcast %t : tensor<1xf32> -> tensor<4xf16>
  tile.return
}

// -----

tile.kernel @reshape_size() {
  %t = tile.iota : tensor<8xi32>
  // expected-error@+1 {{op keeps the number of elements, got 'tensor<8xi32>' to 'tensor<3x3xi32>'}}
  %r = tile.reshape %t : tensor<8xi32> -> tensor<3x3xi32>
  tile.return
}

// -----

tile.kernel @reshape_element() {
  %t = tile.iota : tensor<8xi32>
  // expected-error@+1 {{op keeps the element type, got 'tensor<8xi32>' to 'tensor<8xf32>'}}
  %r = tile.reshape %t : tensor<8xi32> -> tensor<8xf32>
  tile.return
}

// -----

tile.kernel @transpose_order(%s: f32) {
  %t = tile.splat %s : tensor<2x4xf32>
  // expected-error@+1 {{op needs each axis of 'tensor<2x4xf32>' once, got [1, 1] for 'tensor<4x4xf32>'}}
  %r = tile.transpose %t [1, 1] : tensor<2x4xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @transpose_range(%s: f32) {
  %t = tile.splat %s : tensor<2x4xf32>
  // expected-error@+1 {{op needs each axis of 'tensor<2x4xf32>' once, got [2, -1] for 'tensor<4x2xf32>'}}
  %r = tile.transpose %t [2, -1] : tensor<2x4xf32> -> tensor<4x2xf32>
  tile.return
}

// -----

tile.kernel @transpose_shape(%s: f32) {
  %t = tile.splat %s : tensor<2x4xf32>
  // expected-error@+1 {{op makes dimension 0 from dimension 1, got 'tensor<2x4xf32>' to 'tensor<2x4xf32>'}}
  %r = tile.transpose %t [1, 0] : tensor<2x4xf32> -> tensor<2x4xf32>
  tile.return
}
