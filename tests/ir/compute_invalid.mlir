// RUN: sectile-opt %s -verify-diagnostics -split-input-file

tile.kernel @reduce_type() {
  %t = arith.constant dense<true> : tensor<4xi1>
  // expected-error@+1 {{op combines f32, f16, bf16 and i32, got 'i1'}}
  %r = tile.reduce max %t axis 0 : tensor<4xi1> -> tensor<1xi1>
  tile.return
}

// -----

tile.kernel @reduce_axis() {
  %t = tile.iota : tensor<4xi32>
  // expected-error@+1 {{op needs an axis from 0 to 0, got 1}}
  %r = tile.reduce sum %t axis 1 : tensor<4xi32> -> tensor<1xi32>
  tile.return
}

// -----

tile.kernel @reduce_shape(%s: f32) {
  %t = tile.splat %s : tensor<4x8xf32>
  // expected-error@+1 {{op makes 'tensor<4x1xf32>' of 'tensor<4x8xf32>', got 'tensor<4xf32>'}}
  %r = tile.reduce min %t axis 1 : tensor<4x8xf32> -> tensor<4xf32>
  tile.return
}

// -----

tile.kernel @reduce_parts(%s: f32) {
  %t = tile.splat %s : tensor<4x8xf32>
  // expected-error@+1 {{op makes 'tensor<4x2xf32>' of 'tensor<4x8xf32>', got 'tensor<4x1xf32>'}}
  %r = tile.reduce min %t axis 1 parts 2 : tensor<4x8xf32> -> tensor<4x1xf32>
  tile.return
}

// -----

tile.kernel @reduce_no_parts(%s: f32) {
  %t = tile.splat %s : tensor<4x8xf32>
  // expected-error@+1 {{op needs at least one part, got -1}}
  %r = tile.reduce min %t axis 1 parts -1 : tensor<4x8xf32> -> tensor<4x1xf32>
  tile.return
}

// -----

tile.kernel @any_type(%s: f32) {
  %t = tile.splat %s : tensor<4x8xf32>
  // expected-error@+1 {{op asks about i1, got 'tensor<4x8xf32>'}}
  %r = tile.any %t : tensor<4x8xf32> -> i1
  tile.return
}

// -----

tile.kernel @dot_type() {
  %a = arith.constant dense<1> : tensor<4x4xi32>
  %c = arith.constant dense<0.0> : tensor<4x4xf32>
  // expected-error@+1 {{op multiplies floats, got 'tensor<4x4xi32>' x 'tensor<4x4xi32>'}}
  %r = tile.dot %a, %a, %c : tensor<4x4xi32>, tensor<4x4xi32>, tensor<4x4xf32>
  tile.return
}

// -----

tile.kernel @dot_inner() {
  %a = arith.constant dense<1.0> : tensor<4x8xf32>
  %c = arith.constant dense<0.0> : tensor<4x8xf32>
  // expected-error@+1 {{op needs [m,k] x [k,n], got 'tensor<4x8xf32>' x 'tensor<4x8xf32>'}}
  %r = tile.dot %a, %a, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  tile.return
}

// -----

tile.kernel @dot_rank() {
  %a = arith.constant dense<1.0> : tensor<4xf32>
  // expected-error@+1 {{op needs [m,k] x [k,n], got 'tensor<4xf32>' x 'tensor<4xf32>'}}
  %r = tile.dot %a, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  tile.return
}

// -----

tile.kernel @dot_accumulator() {
  %a = arith.constant dense<1.0> : tensor<4x4xf16>
  // expected-error@+1 {{op needs an accumulator of 'tensor<4x4xf32>', got 'tensor<4x4xf16>'}}
  %r = tile.dot %a, %a, %a : tensor<4x4xf16>, tensor<4x4xf16>, tensor<4x4xf16>
  tile.return
}

// -----

tile.kernel @cast_shape() {
  %t = tile.iota : tensor<4xi32>
  // expected-error@+1 {{op keeps the shape, got 'tensor<4xi32>' to 'tensor<2x2xf32>'}}
  %r = tile.cast %t : tensor<4xi32> to tensor<2x2xf32>
  tile.return
}

// -----

tile.kernel @cast_scalar(%s: f32) {
  // expected-error@+1 {{op keeps the shape, got 'f32' to 'tensor<1xf16>'}}
  %r = tile.cast %s : f32 to tensor<1xf16>
  tile.return
}

// -----

tile.kernel @cast_type(%s: f32) {
  // expected-error@+1 {{must be scalar or tile}}
  %r = tile.cast %s : f32 to f64
  tile.return
}
