// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(finish-kernels))' -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @bias
// CHECK-SAME:  (%[[X:.*]]: tensor<1x5x6x8xf32>, %[[W:.*]]: tensor<16x8x1x1xf32>, %[[B:.*]]: tensor<16xf32>)
// CHECK-NEXT:  %[[Y:.*]] = cleave.last_convolution %[[X]], %[[W]] bias %[[B]]
// CHECK-NEXT:  %[[R:.*]] = cleave.relu %[[Y]]
// CHECK-NEXT:  return %[[R]]
func.func @bias(%x: tensor<1x5x6x8xf32>, %w: tensor<16x8x1x1xf32>, %b: tensor<16xf32>) -> tensor<1x5x6x16xf32> {
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<16x8x1x1xf32> -> tensor<1x5x6x16xf32>
  %1 = cleave.broadcast %b, [3] : tensor<16xf32> -> tensor<1x5x6x16xf32>
  %2 = cleave.add %1, %0 : tensor<1x5x6x16xf32>
  %3 = cleave.relu %2 : tensor<1x5x6x16xf32>
  return %3 : tensor<1x5x6x16xf32>
}

// -----

// A convolution that something else reads keeps its bias apart.
// CHECK-LABEL: func.func @shared
// CHECK:       %[[C:.*]] = cleave.last_convolution
// CHECK-NOT:   bias
// CHECK:       cleave.add %[[C]]
func.func @shared(%x: tensor<1x5x6x8xf32>, %w: tensor<16x8x1x1xf32>, %b: tensor<16xf32>) -> (tensor<1x5x6x16xf32>, tensor<1x5x6x16xf32>) {
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<16x8x1x1xf32> -> tensor<1x5x6x16xf32>
  %1 = cleave.broadcast %b, [3] : tensor<16xf32> -> tensor<1x5x6x16xf32>
  %2 = cleave.add %0, %1 : tensor<1x5x6x16xf32>
  return %0, %2 : tensor<1x5x6x16xf32>, tensor<1x5x6x16xf32>
}

// -----

// In bf16 the sum would not be rounded before the bias is added.
// CHECK-LABEL: func.func @narrow
// CHECK:       cleave.add
func.func @narrow(%x: tensor<1x5x6x8xbf16>, %w: tensor<16x8x1x1xbf16>, %b: tensor<16xbf16>) -> tensor<1x5x6x16xbf16> {
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xbf16>, tensor<16x8x1x1xbf16> -> tensor<1x5x6x16xbf16>
  %1 = cleave.broadcast %b, [3] : tensor<16xbf16> -> tensor<1x5x6x16xbf16>
  %2 = cleave.add %0, %1 : tensor<1x5x6x16xbf16>
  return %2 : tensor<1x5x6x16xbf16>
}
