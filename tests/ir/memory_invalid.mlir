// RUN: sectile-opt %s -verify-diagnostics -split-input-file

tile.kernel @dim(%x: !tile.view<2xf32>) {
  // expected-error@+1 {{op needs an axis from 0 to 1, got -1}}
  %n = tile.dim %x, -1 : !tile.view<2xf32>
  tile.return
}

// -----

tile.kernel @load_indices(%x: !tile.view<2xf32>, %i: i32) {
  // expected-error@+1 {{op needs one index for each of the 2 dimensions, got 1}}
  %t = tile.load %x[%i] : !tile.view<2xf32> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @load_rank(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{op needs a tile of rank 1 or less, got 'tensor<4x4xf32>'}}
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @load_element(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{op needs the view's element type 'f32', got 'tensor<4xf16>'}}
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<4xf16>
  tile.return
}

// -----

tile.kernel @load_padding(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{op needs padding of the view's element type 'f32', got 'i32'}}
  %t = tile.load %x[%i] pad 1 : i32 : !tile.view<1xf32> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @load_scalar(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{result #0 must be tile (rank and sizes from 1 on, at most 2^24 elements) of 32-bit float}}
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<f32>
  tile.return
}

// -----

tile.kernel @load_empty(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{result #0 must be tile (rank and sizes from 1 on}}
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<0xf32>
  tile.return
}

// -----

tile.kernel @load_dynamic(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{result #0 must be tile (rank and sizes from 1 on}}
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<?xf32>
  tile.return
}

// -----

tile.kernel @load_huge(%x: !tile.view<2xf32>, %i: i32) {
  // expected-error@+1 {{result #0 must be tile (rank and sizes from 1 on}}
  %t = tile.load %x[%i, %i] : !tile.view<2xf32> -> tensor<4294967296x4294967296xf32>
  tile.return
}

// -----

tile.kernel @store(%x: !tile.view<2xf32>, %i: i32) {
  %t = tile.iota : tensor<4xi32>
  // expected-error@+1 {{op needs the view's element type 'f32', got 'tensor<4xi32>'}}
  tile.store %t, %x[%i, %i] : tensor<4xi32>, !tile.view<2xf32>
  tile.return
}

// -----

tile.kernel @atomic_type(%x: !tile.view<1xf16>, %i: i32) {
  %t = tile.load %x[%i] : !tile.view<1xf16> -> tensor<4xf16>
  // expected-error@+1 {{op adds f32 or i32, got 'f16'}}
  tile.atomic_add %t, %x[%i] : tensor<4xf16>, !tile.view<1xf16>
  tile.return
}

// -----

tile.kernel @atomic_indices(%x: !tile.view<1xi32>, %i: i32) {
  %t = tile.iota : tensor<4xi32>
  // expected-error@+1 {{op needs one index for each of the 1 dimensions, got 2}}
  tile.atomic_add %t, %x[%i, %i] : tensor<4xi32>, !tile.view<1xi32>
  tile.return
}
