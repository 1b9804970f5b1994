// RUN: sectile-opt %s --sectile-expand-math --split-input-file | FileCheck %s --check-prefixes=CHECK,AVX2
// RUN: sectile-opt %s --sectile-expand-math=avx512=true --split-input-file | FileCheck %s --check-prefixes=CHECK,AVX512

// The hot function of softmax: as few operations as possible.
// CHECK-LABEL: @exp2
// AVX512:      llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// AVX512-COUNT-6: math.fma
// AVX512:      llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// AVX512-NEXT: return
// AVX2-COUNT-6: math.fma
// AVX2:        arith.shli
// AVX2:        arith.addi
// AVX2:        arith.cmpf uno
// CHECK-NOT:   math.exp2
func.func @exp2(%x: vector<16xf32>) -> vector<16xf32> {
  %r = math.exp2 %x : vector<16xf32>
  return %r : vector<16xf32>
}

// -----

// A value that is no NaN needs no check for one.
// CHECK-LABEL: @exp2_without_nan
// CHECK-NOT:   arith.cmpf uno
// CHECK:       return
func.func @exp2_without_nan(%x: vector<8xf32>) -> vector<8xf32> {
  %r = math.exp2 %x fastmath<nnan> : vector<8xf32>
  return %r : vector<8xf32>
}

// -----

// Scalars and odd shapes have no AVX-512 form of their own.
// CHECK-LABEL: @scalar
// CHECK-NOT:   llvm.call_intrinsic
// CHECK:       arith.shli {{.*}} : i32
func.func @scalar(%x: f32) -> f32 {
  %r = math.exp2 %x : f32
  return %r : f32
}

// -----

// CHECK-LABEL: @every_function
// CHECK-NOT:   math.{{exp|exp2|log|log2|tanh}} %
// CHECK:       return
func.func @every_function(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.log2 %0 : vector<8xf32>
  %2 = math.log %1 : vector<8xf32>
  %3 = math.tanh %2 : vector<8xf32>
  return %3 : vector<8xf32>
}

// -----

// What the processor has an instruction for stays.
// CHECK-LABEL: @native
// CHECK:       math.sqrt
// CHECK:       math.absf
func.func @native(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sqrt %x : vector<8xf32>
  %1 = math.absf %0 : vector<8xf32>
  return %1 : vector<8xf32>
}
