// RUN: cleave-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @neutral
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = cleave.constant dense<0.0> : tensor<4xf32>
  %one = cleave.constant dense<1.0> : tensor<4xf32>
  %0 = cleave.add %zero, %x : tensor<4xf32>
  %1 = cleave.sub %0, %zero : tensor<4xf32>
  %2 = cleave.mul %one, %1 : tensor<4xf32>
  %3 = cleave.div %2, %one : tensor<4xf32>
  %4 = cleave.neg %3 : tensor<4xf32>
  %5 = cleave.neg %4 : tensor<4xf32>
  %6 = cleave.cast %5 : tensor<4xf32> -> tensor<4xf32>
  return %6 : tensor<4xf32>
}

// 0 * inf is NaN.
// CHECK-LABEL: func @zero_times
// CHECK: cleave.mul
func.func @zero_times(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  %zero = cleave.constant dense<0.0> : tensor<4xf32>
  %none = cleave.constant dense<0> : tensor<4xi64>
  %0 = cleave.mul %x, %zero : tensor<4xf32>
  // CHECK-NOT: cleave.mul
  %1 = cleave.mul %i, %none : tensor<4xi64>
  return %0, %1 : tensor<4xf32>, tensor<4xi64>
}

// CHECK-LABEL: func @constants
// CHECK-DAG: cleave.constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-DAG: cleave.constant dense<[127, -128, 0]> : tensor<3xi8>
// CHECK-DAG: cleave.constant dense<[0, 3]> : tensor<2xi64>
// CHECK-NOT: cleave.add
func.func @constants() -> (tensor<2xf32>, tensor<3xi8>, tensor<2xi64>) {
  %a = cleave.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = cleave.constant dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = cleave.add %a, %b : tensor<2xf32>
  %c = cleave.constant dense<[1.0e9, -1.0e9, 0x7FC00000]> : tensor<3xf32>
  %1 = cleave.cast %c : tensor<3xf32> -> tensor<3xi8>
  %d = cleave.constant dense<[7, 7]> : tensor<2xi64>
  %e = cleave.constant dense<[0, 2]> : tensor<2xi64>
  %2 = cleave.div %d, %e : tensor<2xi64>
  return %0, %1, %2 : tensor<2xf32>, tensor<3xi8>, tensor<2xi64>
}

// 2^30 + 2^22 + 1 is rounded to f32 first, as by the code: to 2^30 + 2^22, which lies between two numbers of bf16.
// CHECK-LABEL: func @rounded_twice
// CHECK: cleave.constant dense<1.073740e+09> : tensor<2xbf16>
func.func @rounded_twice() -> tensor<2xbf16> {
  %a = cleave.constant dense<[1077936129, 1077936129]> : tensor<2xi64>
  %0 = cleave.cast %a : tensor<2xi64> -> tensor<2xbf16>
  return %0 : tensor<2xbf16>
}

// CHECK-LABEL: func @integer_splats
// CHECK-DAG: cleave.constant dense<42> : tensor<4xi64>
// CHECK-DAG: cleave.constant dense<-6> : tensor<4xi64>
func.func @integer_splats() -> (tensor<4xi64>, tensor<4xi64>) {
  %a = cleave.constant dense<6> : tensor<4xi64>
  %b = cleave.constant dense<7> : tensor<4xi64>
  %0 = cleave.mul %a, %b : tensor<4xi64>
  %1 = cleave.neg %a : tensor<4xi64>
  return %0, %1 : tensor<4xi64>, tensor<4xi64>
}

// 4098 elements stay code.
// CHECK-LABEL: func @too_big
// CHECK: cleave.broadcast
func.func @too_big() -> tensor<4098xf32> {
  %a = cleave.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = cleave.broadcast %a, [1] : tensor<2xf32> -> tensor<2049x2xf32>
  %1 = cleave.reshape %0 : tensor<2049x2xf32> -> tensor<4098xf32>
  return %1 : tensor<4098xf32>
}
