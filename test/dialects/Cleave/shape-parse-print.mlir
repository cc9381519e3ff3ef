// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func @shapes
func.func @shapes(%a: tensor<8x4xf32>, %bias: tensor<4xf32>, %s: tensor<2x4xf32>, %t: tensor<6x4xf32>) -> tensor<10x4xf32> {
  // CHECK: cleave.reshape %{{.*}} : tensor<8x4xf32> -> tensor<32xf32>
  %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<32xf32>
  // CHECK: cleave.transpose %{{.*}}, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %1 = cleave.transpose %a, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  // CHECK: cleave.broadcast %{{.*}}, [1] : tensor<4xf32> -> tensor<8x4xf32>
  %2 = cleave.broadcast %bias, [1] : tensor<4xf32> -> tensor<8x4xf32>
  // CHECK: cleave.slice %{{.*}}, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
  %3 = cleave.slice %a, [2, 0], [4, 4], [1, 1] : tensor<8x4xf32> -> tensor<4x4xf32>
  // CHECK: cleave.concat %{{.*}}, %{{.*}} dim = 0 : tensor<2x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  %4 = cleave.concat %s, %t dim = 0 : tensor<2x4xf32>, tensor<6x4xf32> -> tensor<8x4xf32>
  // CHECK: cleave.offload %{{.*}} : tensor<8x4xf32>
  %7 = cleave.offload %4 : tensor<8x4xf32>
  // CHECK: cleave.pad %{{.*}}, [1, 0], [1, 0], [0, 0], value = 0.000000e+00 : tensor<8x4xf32> -> tensor<10x4xf32>
  %5 = cleave.pad %a, [1, 0], [1, 0], [0, 0], value = 0.0 : tensor<8x4xf32> -> tensor<10x4xf32>
  // CHECK: cleave.iota dim = 1 : tensor<8x4xi64>
  %6 = cleave.iota dim = 1 : tensor<8x4xi64>
  return %5 : tensor<10x4xf32>
}
