// RUN: sectile-opt %s -verify-diagnostics -split-input-file

// expected-error@+1 {{op takes views, f32 and i32, got 'f16' as argument 1}}
tile.kernel @argument(%n: i32, %h: f16) {
  tile.return
}

// -----

// expected-error@+1 {{op returns nothing, got 'f32'}}
tile.kernel @result(%x: f32) -> f32 {
  tile.return
}

// -----

// expected-error@+1 {{failed to verify constraint: region with 1 blocks}}
tile.kernel @declaration(%x: f32)

// -----

// expected-error@+1 {{op ends with tile.return}}
tile.kernel @terminator() {
  scf.yield
}

// -----

// expected-error@+1 {{op argument 0: tile.name is a non-empty string, got 7}}
tile.kernel @name(%x: f32 {tile.name = 7}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 1: tile.name "x" is also the name of argument 0}}
tile.kernel @duplicate(%x: f32 {tile.name = "x"}, %y: f32 {tile.name = "x"}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.access of a view is "input", "output" or "inout", got "scalar"}}
tile.kernel @view_access(%x: !tile.view<1xf32> {tile.access = "scalar"}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.access of a scalar is "scalar", got "input"}}
tile.kernel @scalar_access(%x: f32 {tile.access = "input"}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.unit_stride is a unit attribute of views}}
tile.kernel @stride(%x: f32 {tile.unit_stride}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.bulk is a unit attribute of views of rank 2 to 5}}
tile.kernel @bulk_scalar(%x: f32 {tile.bulk}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.bulk is a unit attribute of views of rank 2 to 5}}
tile.kernel @bulk_row(%x: !tile.view<1xf32> {tile.bulk}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 1: tile.bulk is a unit attribute of views of rank 2 to 5}}
tile.kernel @bulk_rank(%x: !tile.view<5xf32> {tile.bulk}, %y: !tile.view<6xf32> {tile.bulk}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: tile.bulk is a unit attribute of views of rank 2 to 5}}
tile.kernel @bulk_value(%x: !tile.view<2xf32> {tile.bulk = 1}) {
  tile.return
}

// -----

// expected-error@+1 {{op argument 0: knows tile.name, tile.access, tile.unit_stride, tile.aligned16 and tile.bulk, got tile.alignment}}
tile.kernel @unknown(%x: !tile.view<1xf32> {tile.alignment = 16}) {
  tile.return
}

// -----

// expected-error@+1 {{a view has rank 1 to 6, got 7}}
tile.kernel @rank(%x: !tile.view<7xf32>) {
  tile.return
}

// -----

// expected-error@+1 {{a view holds f32, f16, bf16, f8E4M3FN, f8E5M2, i32 or i1, got 'f64'}}
tile.kernel @element(%x: !tile.view<1xf64>) {
  tile.return
}

// -----

// expected-error@+1 {{expected one rank, as in !tile.view<4xbf16>}}
tile.kernel @syntax(%x: !tile.view<4x4xf32>) {
  tile.return
}

// -----

tile.kernel @program() {
  // expected-error@+1 {{op needs a grid axis from 0 to 2, got 3}}
  %p = tile.program 3
  tile.return
}

// -----

func.func @return() {
  // expected-error@+1 {{op expects parent op 'tile.kernel'}}
  tile.return
}
