// RUN: sectile-opt %s --sectile-expand-conversions --split-input-file | FileCheck %s

// CHECK-LABEL: @from_bf16
// CHECK-SAME:  %[[X:.*]]: vector<16xbf16>
// CHECK:       %[[BITS:.*]] = arith.bitcast %[[X]] : vector<16xbf16> to vector<16xi16>
// CHECK:       %[[WIDE:.*]] = arith.extui %[[BITS]] : vector<16xi16> to vector<16xi32>
// CHECK:       %[[HIGH:.*]] = arith.shli %[[WIDE]]
// CHECK:       arith.bitcast %[[HIGH]] : vector<16xi32> to vector<16xf32>
func.func @from_bf16(%x: vector<16xbf16>) -> vector<16xf32> {
  %r = arith.extf %x : vector<16xbf16> to vector<16xf32>
  return %r : vector<16xf32>
}

// -----

// CHECK-LABEL: @to_bf16
// CHECK:       %[[NAN:.*]] = arith.cmpf uno
// CHECK:       %[[CHOSEN:.*]] = arith.select %[[NAN]]
// CHECK:       arith.trunci %[[CHOSEN]] : vector<8xi32> to vector<8xi16>
// CHECK-NOT:   arith.truncf
func.func @to_bf16(%x: vector<8xf32>) -> vector<8xbf16> {
  %r = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %r : vector<8xbf16>
}

// -----

// An e5m2 is the upper half of an f16, which the processor converts.
// CHECK-LABEL: @from_e5m2
// CHECK:       arith.extf {{.*}} : vector<8xf16> to vector<8xf32>
func.func @from_e5m2(%x: vector<8xf8E5M2>) -> vector<8xf32> {
  %r = arith.extf %x : vector<8xf8E5M2> to vector<8xf32>
  return %r : vector<8xf32>
}

// -----

// CHECK-LABEL: @to_e4m3
// CHECK:       arith.constant {{.*}}4.480000e+02
// CHECK-NOT:   arith.truncf
// CHECK:       arith.bitcast {{.*}} : i8 to f8E4M3FN
func.func @to_e4m3(%x: f32) -> f8E4M3FN {
  %r = arith.truncf %x : f32 to f8E4M3FN
  return %r : f8E4M3FN
}

// -----

// CHECK-LABEL: @f16_is_native
// CHECK-NEXT:  arith.extf
// CHECK-NEXT:  arith.truncf
func.func @f16_is_native(%x: vector<8xf16>) -> vector<8xf16> {
  %0 = arith.extf %x : vector<8xf16> to vector<8xf32>
  %1 = arith.truncf %0 : vector<8xf32> to vector<8xf16>
  return %1 : vector<8xf16>
}
