// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(assign-layouts),canonicalize,cse)' -split-input-file | FileCheck %s

// Between two convolutions nothing is moved: the bias, the activation and the sum are channels-last. The mean over space ends it.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:  (%[[X:.*]]: tensor<1x8x12x10xf32>, %[[W:.*]]: tensor<16x8x3x3xf32>, %[[V:.*]]: tensor<16x16x1x1xf32>, %[[B:.*]]: tensor<16xf32>)
// CHECK:       %[[T:.*]] = cleave.transpose %[[X]], [0, 2, 3, 1]
// CHECK:       %[[C:.*]] = cleave.last_convolution %[[T]], %[[W]] {{.*}} : tensor<1x12x10x8xf32>, tensor<16x8x3x3xf32> -> tensor<1x12x10x16xf32>
// CHECK:       %[[R:.*]] = cleave.broadcast %[[B]], [3] : tensor<16xf32> -> tensor<1x12x10x16xf32>
// CHECK:       %[[A:.*]] = cleave.relu
// CHECK:       %[[D:.*]] = cleave.last_convolution %[[A]], %[[V]]
// CHECK:       %[[S:.*]] = cleave.add %[[D]], %[[A]] : tensor<1x12x10x16xf32>
// CHECK:       %[[M:.*]] = cleave.reduce sum %[[S]], [1, 2]
// CHECK-NOT:   cleave.transpose
// CHECK:       return %[[M]] : tensor<1x16xf32>
func.func @chain(%x: tensor<1x8x12x10xf32>, %w: tensor<16x8x3x3xf32>, %v: tensor<16x16x1x1xf32>, %b: tensor<16xf32>) -> tensor<1x16xf32> {
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x8x12x10xf32>, tensor<16x8x3x3xf32> -> tensor<1x16x12x10xf32>
  %1 = cleave.broadcast %b, [1] : tensor<16xf32> -> tensor<1x16x12x10xf32>
  %2 = cleave.add %0, %1 : tensor<1x16x12x10xf32>
  %3 = cleave.relu %2 : tensor<1x16x12x10xf32>
  %4 = cleave.convolution %3, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x16x12x10xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x12x10xf32>
  %5 = cleave.add %4, %3 : tensor<1x16x12x10xf32>
  %6 = cleave.reduce sum %5, [2, 3] : tensor<1x16x12x10xf32> -> tensor<1x16xf32>
  return %6 : tensor<1x16xf32>
}

// -----

// One convolution whose tensors cross the function's border moves as much either way, and stays plain.
// CHECK-LABEL: func.func @alone
// CHECK-NOT:   cleave.transpose
// CHECK:       cleave.convolution
func.func @alone(%x: tensor<1x8x12x12xf32>, %w: tensor<8x8x1x1xf32>) -> tensor<1x8x12x12xf32> {
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x8x12x12xf32>, tensor<8x8x1x1xf32> -> tensor<1x8x12x12xf32>
  return %0 : tensor<1x8x12x12xf32>
}

// -----

// Pools, slices, pads and concatenations take part. Two users that want the result plain share one transpose.
// CHECK-LABEL: func.func @moves
// CHECK:       cleave.transpose %{{.*}}, [0, 2, 3, 1]
// CHECK:       cleave.last_convolution
// CHECK:       cleave.last_pool
// CHECK:       cleave.slice %{{.*}}, [0, 0, 0, 4], [1, 6, 6, 4], [1, 1, 1, 1]
// CHECK:       cleave.concat %{{.*}}, %{{.*}} dim = 3 : tensor<1x6x6x8xf32>, tensor<1x6x6x4xf32> -> tensor<1x6x6x12xf32>
// CHECK:       cleave.pad %{{.*}}, [0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0]
// CHECK:       %[[C:.*]] = cleave.last_convolution
// CHECK:       %[[T:.*]] = cleave.transpose %[[C]], [0, 3, 1, 2]
// CHECK-NOT:   cleave.transpose
// CHECK:       return %[[T]], %[[T]]
func.func @moves(%x: tensor<1x8x12x12xf32>, %w: tensor<8x8x3x3xf32>, %v: tensor<8x12x3x3xf32>) -> (tensor<1x8x7x8xf32>, tensor<1x8x7x8xf32>) {
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x8x12x12xf32>, tensor<8x8x3x3xf32> -> tensor<1x8x12x12xf32>
  %1 = cleave.max_pool %0 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<1x8x12x12xf32> -> tensor<1x8x6x6xf32>
  %2 = cleave.slice %1, [0, 4, 0, 0], [1, 4, 6, 6], [1, 1, 1, 1] : tensor<1x8x6x6xf32> -> tensor<1x4x6x6xf32>
  %3 = cleave.concat %1, %2 dim = 1 : tensor<1x8x6x6xf32>, tensor<1x4x6x6xf32> -> tensor<1x12x6x6xf32>
  %4 = cleave.pad %3, [0, 0, 1, 0], [0, 0, 0, 2], [0, 0, 0, 0], value = 0.0 : tensor<1x12x6x6xf32> -> tensor<1x12x7x8xf32>
  %5 = cleave.convolution %4, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 1, 1>, pad_high = array<i64: 1, 1>, groups = 1 : i64} : tensor<1x12x7x8xf32>, tensor<8x12x3x3xf32> -> tensor<1x8x7x8xf32>
  return %5, %5 : tensor<1x8x7x8xf32>, tensor<1x8x7x8xf32>
}

// -----

// A patch embedding: the transpose behind the convolution is what channels-last is, and disappears.
// CHECK-LABEL: func.func @patches
// CHECK:       cleave.transpose %{{.*}}, [0, 2, 3, 1]
// CHECK:       %[[C:.*]] = cleave.last_convolution
// CHECK:       %[[R:.*]] = cleave.reshape %[[C]] : tensor<1x4x4x8xf32> -> tensor<1x16x8xf32>
// CHECK-NEXT:  return %[[R]]
func.func @patches(%x: tensor<1x3x16x16xf32>, %w: tensor<8x3x4x4xf32>) -> tensor<1x16x8xf32> {
  %0 = cleave.convolution %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x3x16x16xf32>, tensor<8x3x4x4xf32> -> tensor<1x8x4x4xf32>
  %1 = cleave.reshape %0 : tensor<1x8x4x4xf32> -> tensor<1x8x16xf32>
  %2 = cleave.transpose %1, [0, 2, 1] : tensor<1x8x16xf32> -> tensor<1x16x8xf32>
  return %2 : tensor<1x16x8xf32>
}

// -----

// Without a library's kernel that gains, nothing changes: a transpose alone is none.
// CHECK-LABEL: func.func @no_convolution
// CHECK:       cleave.relu %{{.*}} : tensor<2x8x16xf32>
// CHECK-NEXT:  cleave.transpose
func.func @no_convolution(%x: tensor<2x8x16xf32>) -> tensor<2x16x8xf32> {
  %0 = cleave.relu %x : tensor<2x8x16xf32>
  %1 = cleave.transpose %0, [0, 2, 1] : tensor<2x8x16xf32> -> tensor<2x16x8xf32>
  return %1 : tensor<2x16x8xf32>
}
