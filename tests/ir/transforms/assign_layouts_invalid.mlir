// RUN: sectile-opt %s -split-input-file -verify-diagnostics --sectile-assign-layouts

tile.kernel @constant(%x: !tile.view<1xf32>, %i: i32) {
  // expected-error@+1 {{op has elements that differ: the block level knows constants of equal elements}}
  %t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  tile.store %t, %x[%i] : tensor<2xf32>, !tile.view<1xf32>
  tile.return
}

// -----

tile.kernel @loop(%x: !tile.view<1xf32>, %i: i32) {
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<2xf32>
  // expected-error@+1 {{op has tensors, but no layouts for them are known; legal: tile, elementwise arith and math, scf.for and scf.if}}
  %r = scf.execute_region -> tensor<2xf32> {
    scf.yield %t : tensor<2xf32>
  }
  tile.return
}
