// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(decompose-composites))' | FileCheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-NOT: cleave.softmax
// CHECK: cleave.cast %{{.*}} : tensor<8x4xbf16> -> tensor<8x4xf32>
// CHECK: cleave.reduce max
// CHECK: cleave.exp
// CHECK: cleave.reduce sum
// CHECK: cleave.div
// CHECK: cleave.cast %{{.*}} : tensor<8x4xf32> -> tensor<8x4xbf16>
func.func @softmax(%x: tensor<8x4xbf16>) -> tensor<8x4xbf16> {
  %0 = cleave.softmax %x, dim = 1 : tensor<8x4xbf16>
  return %0 : tensor<8x4xbf16>
}

// The variance is that of the differences from the mean (two passes), not E[x^2] - E[x]^2.
// CHECK-LABEL: func.func @normalize
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32>
// CHECK: %[[SUM:.*]] = cleave.reduce sum %[[X]], [1]
// CHECK: %[[MEAN:.*]] = cleave.mul %[[SUM]]
// CHECK: %[[WIDE:.*]] = cleave.broadcast %[[MEAN]], [0]
// CHECK: %[[DIFF:.*]] = cleave.sub %[[X]], %[[WIDE]]
// CHECK: %[[SQUARE:.*]] = cleave.mul %[[DIFF]], %[[DIFF]]
// CHECK: cleave.reduce sum %[[SQUARE]], [1]
// CHECK-NOT: cleave.normalize
func.func @normalize(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %y, %mean, %variance = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<8x4xf32> -> tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
  return %y : tensor<8x4xf32>
}
