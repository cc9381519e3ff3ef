// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul
func.func @matmul(%x: tensor<2x8x4xf32>, %w: tensor<16x4xf32>, %v: tensor<2x4x8xf32>, %b: tensor<16xf32>) {
  // CHECK: cleave.matmul %{{.*}}, %{{.*}} {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32> -> tensor<2x8x16xf32>
  %0 = cleave.matmul %x, %w {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32> -> tensor<2x8x16xf32>
  // CHECK: cleave.matmul %{{.*}}, %{{.*}} : tensor<2x8x4xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  %1 = cleave.matmul %x, %v : tensor<2x8x4xf32>, tensor<2x4x8xf32> -> tensor<2x8x8xf32>
  // CHECK: cleave.matmul %{{.*}}, %{{.*}} bias %{{.*}} {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>, tensor<16xf32> -> tensor<2x8x16xf32>
  %2 = cleave.matmul %x, %w bias %b {transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>, tensor<16xf32> -> tensor<2x8x16xf32>
  return
}

// CHECK-LABEL: func.func @windows
func.func @windows(%x: tensor<8x3x32x32xf32>, %w: tensor<16x3x3x3xf32>, %p: tensor<8x3x16x16xf32>) {
  // CHECK: cleave.convolution %{{.*}}, %{{.*}} : tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x16x32x32xf32>
  %y = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
    pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x16x32x32xf32>
  // CHECK: cleave.convolution_input_grad
  %dx = cleave.convolution_input_grad %y, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
    pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x16x32x32xf32>, tensor<16x3x3x3xf32> -> tensor<8x3x32x32xf32>
  // CHECK: cleave.convolution_weight_grad
  %dw = cleave.convolution_weight_grad %x, %y {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>,
    pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<8x3x32x32xf32>, tensor<8x16x32x32xf32> -> tensor<16x3x3x3xf32>
  // CHECK: cleave.max_pool %
  %m = cleave.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32> -> tensor<8x3x16x16xf32>
  // CHECK: cleave.max_pool_grad
  %dm = cleave.max_pool_grad %x, %p {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32>, tensor<8x3x16x16xf32>
  // CHECK: cleave.avg_pool %{{.*}} {count_pad
  %a = cleave.avg_pool %x {count_pad, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x32x32xf32> -> tensor<8x3x16x16xf32>
  // CHECK: cleave.avg_pool_grad
  %da = cleave.avg_pool_grad %p {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>,
    pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<8x3x16x16xf32> -> tensor<8x3x32x32xf32>
  return
}
