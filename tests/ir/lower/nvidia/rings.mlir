// RUN: sectile-opt %s --sectile-check-layouts --sectile-check-rings --sectile-plan-shared | sectile-opt --sectile-block-to-llvm="sm=90 arch-specific=1 ptx=84" \
// RUN:   | FileCheck %s
// RUN: sectile-opt %s --sectile-plan-shared --sectile-nvptx-block-to-llvm=processor=sm_90a | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_90a -mattr=+ptx84 | FileCheck %s --check-prefix=PTX --implicit-check-not=.local

#c = #block.layout<register = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#a = #block.layout<register = [[0, 1], [8, 0], [0, 8]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = [[16, 0], [32, 0]]>
#b = #block.layout<register = [[1, 0], [8, 0]], lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = [[0, 0], [0, 0]]>

// A ring of three stages: what divides is not a power of two. One map for two copies of the same box. Two roles read:
// eight warps. The second role's warps count from 4, the third's from 8.
// CHECK-LABEL: llvm.func @three(
// CHECK-SAME:  llvm.align = 64 : i64, llvm.byval = !llvm.array<25 x i64>, nvvm.grid_constant
// CHECK-SAME:  sectile.tensor_maps = [{columns = 32 : i64, parameter = 0 : i64, rows = 64 : i64, swizzle = 64 : i64}]
// CHECK:       "llvm.nvvm.mbarrier.init.shared"(%{{.*}}, %[[COUNT:.*]]) : (!llvm.ptr<3>, i32) -> ()
// CHECK:       arith.divui
// PTX-LABEL:   .entry three(
// PTX:         mov.b32 [[ONE:%r[0-9]+]], 1;
// PTX:         mbarrier.init.shared.b64 [sectile_shared+12288], [[ONE]];
// PTX:         mov.b32 [[READERS:%r[0-9]+]], 8;
// PTX-NEXT:    mbarrier.init.shared.b64 [sectile_shared+12312], [[READERS]];
// PTX-COUNT-2: mbarrier.init.shared.b64 {{.*}}, [[READERS]];
// PTX-NOT:     mbarrier.init
// PTX:         setmaxnreg.dec.sync.aligned.u32 24;
// PTX:         mbarrier.arrive.expect_tx.shared.b64
// PTX:         cp.async.bulk.tensor.2d
// The rows are read by threads: a warp's lanes have come this far when one of them says so.
// PTX:         ldmatrix
// PTX:         bar.warp.sync -1;
// PTX:         mbarrier.arrive.shared.b64
!ring = !block.shared<3x64x32xbf16, step = 2, span = 4>
!stage = !block.shared<64x32xbf16, step = 2, span = 4>
block.kernel @three(%x: !tile.view<2xbf16> {tile.bulk}, %n: i32) attributes {warps = 12 : i32} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %ring = block.alloc : !ring
  block.specialize roles ["producer", "left", "right"] warps [4, 4, 4] registers [24, 168, 168] {
    block.acquire %ring[%c0] : !ring
    block.copy_bulk %x[%c0, %c0] -> %ring[%c0] : !tile.view<2xbf16> -> !ring
    scf.for %j = %c1 to %n step %c1 : i32 {
      %row = arith.muli %j, %c64 : i32
      block.acquire %ring[%j] : !ring
      block.copy_bulk %x[%row, %c0] -> %ring[%j] : !tile.view<2xbf16> -> !ring
    }
  }, {
    scf.for %j = %c0 to %n step %c1 : i32 {
      %s = block.wait_full %ring[%j] : !ring -> !stage
      %t = block.read %s : !stage -> tensor<64x32xbf16, #a>
      block.release %ring[%j] : !ring
    }
  }, {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32, #c>
    scf.for %j = %c0 to %n step %c1 : i32 {
      %s = block.wait_full %ring[%j] : !ring -> !stage
      %t = block.dot_async %s, %s, %zero {transposed_b} : !stage, !stage, tensor<64x64xf32, #c>
      %r = block.dot_wait %t pending 0 : !block.token<tensor<64x64xf32, #c>>
      block.release %ring[%j] : !ring
    }
  }
  block.return
}
