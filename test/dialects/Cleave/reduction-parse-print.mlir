// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<8x4xf32>, %i: tensor<8x4xi64>) {
  // CHECK: cleave.reduce sum %{{.*}}, [1] : tensor<8x4xf32> -> tensor<8xf32>
  %0 = cleave.reduce sum %x, [1] : tensor<8x4xf32> -> tensor<8xf32>
  // CHECK: cleave.reduce max %{{.*}}, [0, 1] : tensor<8x4xi64> -> tensor<i64>
  %1 = cleave.reduce max %i, [0, 1] : tensor<8x4xi64> -> tensor<i64>
  // CHECK: cleave.argmax %{{.*}}, dim = 1 : tensor<8x4xf32> -> tensor<8xi64>
  %2 = cleave.argmax %x, dim = 1 : tensor<8x4xf32> -> tensor<8xi64>
  // CHECK: cleave.softmax %{{.*}}, dim = 0 : tensor<8x4xf32>
  %3 = cleave.softmax %x, dim = 0 : tensor<8x4xf32>
  // CHECK: cleave.log_softmax %{{.*}}, dim = 1 : tensor<8x4xf32>
  %4 = cleave.log_softmax %x, dim = 1 : tensor<8x4xf32>
  // CHECK: cleave.normalize %{{.*}}, [1], epsilon = 1.000000e-05 : tensor<8x4xf32> -> tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
  %y, %mean, %variance = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<8x4xf32> -> tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// Statistics of half-precision tensors are f32.
// CHECK-LABEL: func.func @half
func.func @half(%x: tensor<8x4xbf16>) {
  // CHECK: tensor<8x4xbf16> -> tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>
  %y, %mean, %variance = cleave.normalize %x, [0], epsilon = 0.0 : tensor<8x4xbf16> -> tensor<8x4xbf16>, tensor<4xf32>, tensor<4xf32>
  return
}
