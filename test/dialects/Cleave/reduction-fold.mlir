// RUN: cleave-opt %s -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @no_dims
func.func @no_dims(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: return %arg0
  %0 = cleave.reduce max %x, [] : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: func.func @splats
func.func @splats() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: cleave.constant dense<3.000000e+00> : tensor<4xf32>
  // CHECK-DAG: cleave.constant dense<0.000000e+00> : tensor<4xf32>
  %three = cleave.constant dense<3.0> : tensor<8x4xf32>
  %zero = cleave.constant dense<0.0> : tensor<8x4xf32>
  %0 = cleave.reduce max %three, [0] : tensor<8x4xf32> -> tensor<4xf32>
  %1 = cleave.reduce sum %zero, [0] : tensor<8x4xf32> -> tensor<4xf32>
  // A sum of eight thirds is not eight times a third: left to the device.
  // CHECK: cleave.reduce sum
  %2 = cleave.reduce sum %three, [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The maximum of nothing is not the value that a splat of nothing has.
// CHECK-LABEL: func @empty
// CHECK: cleave.reduce max
func.func @empty() -> tensor<3xf32> {
  %c = cleave.constant dense<5.0> : tensor<0x3xf32>
  %r = cleave.reduce max %c, [0] : tensor<0x3xf32> -> tensor<3xf32>
  return %r : tensor<3xf32>
}
