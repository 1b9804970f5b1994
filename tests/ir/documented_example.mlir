// The examples of kernels in the documentation of the dialects are some.
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/Tile.td | grep -v '```' | sectile-opt | FileCheck %s
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/Block.td | grep -v '```' | sectile-opt --sectile-check-layouts --sectile-check-shared | FileCheck %s --check-prefix=BLOCK
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/BlockAsync.td | grep -v '```' | sectile-opt --sectile-check-layouts --sectile-check-rings --sectile-check-shared | FileCheck %s --check-prefix=ASYNC

// CHECK: tile.kernel @copy
// CHECK: tile.return

// BLOCK: block.kernel @copy
// BLOCK: block.return

// ASYNC: block.kernel @products
// ASYNC: block.return
