// The example of a kernel in the dialect's documentation is one.
// RUN: sed -n '/```mlir/,/```$/p' %S/../../compiler/ir/Tile.td | grep -v '```' | sectile-opt | FileCheck %s

// CHECK: tile.kernel @copy
// CHECK: tile.return
