// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// Pools and the gradients of windows.

func.func @avg_pool(%x: tensor<1x2x8x8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{expects one value of window for each of the 2 spatial dimensions; got: 1}}
  %0 = "cleave.avg_pool"(%x) <{window = array<i64: 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @max_pool_grad(%x: tensor<1x2x8x8xf32>, %dy: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x2x4x4xf32>'; got: 'tensor<1x2x3x4xf32>'}}
  %0 = "cleave.max_pool_grad"(%x, %dy) <{window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x8x8xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @avg_pool_grad(%dy: tensor<1x2x3x4xf32>) {
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x2x4x4xf32>'; got: 'tensor<1x2x3x4xf32>'}}
  %0 = "cleave.avg_pool_grad"(%dy) <{window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x3x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @convolution_weight_grad(%x: tensor<1x2x8x8xf32>, %dy: tensor<1x4x8x8xf32>) {
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x4x6x6xf32>'; got: 'tensor<1x4x8x8xf32>'}}
  %0 = "cleave.convolution_weight_grad"(%x, %dy) <{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}> : (tensor<1x2x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<4x2x3x3xf32>
  return
}
