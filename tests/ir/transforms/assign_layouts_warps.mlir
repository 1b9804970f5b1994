// RUN: not sectile-opt %s --sectile-assign-layouts=warps=6 2>&1 | FileCheck %s
// CHECK: error: a kernel runs in 1, 2, 4, 8, 16 or 32 warps, got 6
tile.kernel @empty() {
  tile.return
}
