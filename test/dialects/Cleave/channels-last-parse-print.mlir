// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<1x5x6x8xf32>, %w: tensor<4x4x3x3xf32>, %b: tensor<4xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>) {
  // CHECK: cleave.last_convolution %{{.*}}, %{{.*}} {{[{]}}dilations = array<i64: 1, 1>, groups = 2 : i64, {{.*}} : tensor<1x5x6x8xf32>, tensor<4x4x3x3xf32> -> tensor<1x3x4x4xf32>
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 2 : i64} : tensor<1x5x6x8xf32>, tensor<4x4x3x3xf32> -> tensor<1x3x4x4xf32>
  // CHECK: cleave.last_convolution %{{.*}}, %{{.*}} bias %{{.*}} : tensor<1x5x6x8xf32>, tensor<4x4x3x3xf32>, tensor<4xf32> -> tensor<1x3x4x4xf32>
  %1 = cleave.last_convolution %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 2 : i64} : tensor<1x5x6x8xf32>, tensor<4x4x3x3xf32>, tensor<4xf32> -> tensor<1x3x4x4xf32>
  return %0, %1 : tensor<1x3x4x4xf32>, tensor<1x3x4x4xf32>
}

// CHECK-LABEL: func.func @pools
func.func @pools(%x: tensor<2x5x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  // CHECK: cleave.last_pool %{{.*}} {{[{]}}dilations = array<i64: 1>, {{.*}} : tensor<2x5x8xf32> -> tensor<2x4x8xf32>
  %0 = cleave.last_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<2x5x8xf32> -> tensor<2x4x8xf32>
  // CHECK: cleave.last_pool %{{.*}} {{[{]}}count_pad, {{.*}}mean
  %1 = cleave.last_pool %x {mean, count_pad, window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<2x5x8xf32> -> tensor<2x4x8xf32>
  return %0, %1 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}
