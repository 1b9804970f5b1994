// The examples of kernels in the documentation of the dialects are some.
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/Tile.td | grep -v '```' | sectile-opt | FileCheck %s
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/Block.td | grep -v '```' | sectile-opt --sectile-check-layouts --sectile-check-shared | FileCheck %s --check-prefix=BLOCK

// CHECK: tile.kernel @copy
// CHECK: tile.return

// BLOCK: block.kernel @copy
// BLOCK: block.return
