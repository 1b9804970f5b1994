// RUN: sectile-opt %s --sectile-cpu-pipeline=processor=haswell | FileCheck %s --check-prefix=HASWELL
// RUN: sectile-opt %s --sectile-cpu-pipeline=processor=znver4 | FileCheck %s --check-prefix=ZNVER4
// RUN: sectile-opt %s --sectile-cpu-pipeline="processor=znver4 schedule=vectorWidth=8" | FileCheck %s --check-prefix=NARROW
// RUN: not sectile-opt %s --sectile-cpu-pipeline=processor=nonesuch 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not sectile-opt %s --sectile-cpu-pipeline=schedule=blockK=3 2>&1 | FileCheck %s --check-prefix=FIELD

// The vectors are as wide as the processor's, and nothing but the LLVM dialect is left.
// HASWELL:     llvm.func @scale
// HASWELL:     vector<8xf32>
// HASWELL-NOT: {{(arith|scf|vector|math|func|tile|builtin.unrealized)[._]}}
// ZNVER4:      llvm.func @scale
// ZNVER4:      vector<16xf32>
// NARROW-NOT:  vector<16xf32>

// UNKNOWN: target 'cpu:nonesuch': LLVM knows no such x86-64 processor
// FIELD:   there is no field 'blockK'
tile.kernel @scale(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) {
  %p = tile.program 0
  %c64 = arith.constant 64 : i32
  %i = arith.muli %p, %c64 : i32
  %t = tile.load %x[%i] : !tile.view<1xf32> -> tensor<64xf32>
  %e = math.exp2 %t : tensor<64xf32>
  tile.store %e, %y[%i] : tensor<64xf32>, !tile.view<1xf32>
  tile.return
}
