// RUN: sectile-opt %s --split-input-file --sectile-block-to-llvm=sm=90 | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: not sectile-opt %s --split-input-file --sectile-block-to-llvm=sm=75 2>/dev/null | FileCheck %s --check-prefix=SM75
// RUN: not sectile-opt %s --split-input-file --sectile-block-to-llvm=sm=75 2>&1 >/dev/null | FileCheck %s --check-prefix=ERROR

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// Two atoms of the result, two along k. Nothing past the end of k, so nothing is masked.
// CHECK-LABEL: llvm.func @f16
// SM90-NOT:    arith.select
// SM90-COUNT-4: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"
// SM90-NOT:    llvm.nvvm.mma
// SM75-LABEL:  llvm.func @f16
// SM75-COUNT-8: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.f32.f32"
block.kernel @f16(%x: f32) attributes {warps = 1 : i32} {
  %h = tile.cast %x : f32 to f16
  %a = tile.splat %h : tensor<16x32xf16, #a>
  %b = tile.splat %h : tensor<32x16xf16, #b>
  %c = tile.splat %x : tensor<16x16xf32, #c>
  %d = block.dot mma %a, %b, %c : tensor<16x32xf16, #a>, tensor<32x16xf16, #b>, tensor<16x16xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// k ends within the atom: elements from 12 on are 0 in both operands, half of the upper registers by lane.
// CHECK-LABEL: llvm.func @short
// SM90:        %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c12_i32
// SM90:        arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : bf16
// SM90:        llvm.call_intrinsic "llvm.nvvm.mma.m16n8k16.row.col.bf16"
// ERROR:       error: mma multiplies no 'bf16' on sm_75
block.kernel @short(%x: f32) attributes {warps = 1 : i32} {
  %h = tile.cast %x : f32 to bf16
  %a = tile.splat %h : tensor<16x12xbf16, #a>
  %b = tile.splat %h : tensor<12x8xbf16, #b>
  %c = tile.splat %x : tensor<16x8xf32, #c>
  %d = block.dot mma %a, %b, %c : tensor<16x12xbf16, #a>, tensor<12x8xbf16, #b>, tensor<16x8xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>
#a = #block.layout<register = [[8, 0], [0, 4]], lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]], warp = []>
#b = #block.layout<register = [[4, 0]], lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]], warp = []>

// f32 in three parts of 11 bits: six products that count.
// CHECK-LABEL:  llvm.func @f32
// ERROR:        error: mma multiplies no 'f32' on sm_75
// SM90-COUNT-6: llvm.call_intrinsic "llvm.nvvm.mma.m16n8k8.row.col.tf32"
// SM90-NOT:     llvm.nvvm.mma
block.kernel @f32(%x: f32) attributes {warps = 1 : i32} {
  %a = tile.splat %x : tensor<16x8xf32, #a>
  %b = tile.splat %x : tensor<8x8xf32, #b>
  %c = tile.splat %x : tensor<16x8xf32, #c>
  %d = block.dot mma %a, %b, %c : tensor<16x8xf32, #a>, tensor<8x8xf32, #b>, tensor<16x8xf32, #c>
  block.return
}

// -----

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []>

// By scalar instructions: a loop along k that reads two rows and two columns.
// CHECK-LABEL: llvm.func @fma
// SM90:        scf.for
// SM90:        math.fma
block.kernel @fma(%x: f32) attributes {warps = 1 : i32, shared_bytes = 1024 : i64} {
  %a = block.alloc {offset = 0 : i64} : !block.shared<16x6xf32>
  %b = block.alloc {offset = 512 : i64} : !block.shared<6x8xbf16>
  %c = tile.splat %x : tensor<16x8xf32, #c>
  %d = block.dot fma %a, %b, %c : !block.shared<16x6xf32>, !block.shared<6x8xbf16>, tensor<16x8xf32, #c>
  block.return
}
