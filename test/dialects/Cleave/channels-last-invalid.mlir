// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @rank(%x: tensor<1x5x6xf32>, %w: tensor<4x6x1x1xf32>) -> tensor<1x5x6x4xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{expects an input [n, in..., ic] and a filter [oc, ic/groups, kernel...] of one element type and equal rank}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6xf32>, tensor<4x6x1x1xf32> -> tensor<1x5x6x4xf32>
  return %0 : tensor<1x5x6x4xf32>
}

// -----

func.func @type(%x: tensor<1x5x6x8xf32>, %w: tensor<4x8x1x1xf16>) -> tensor<1x5x6x4xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{of one element type}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<4x8x1x1xf16> -> tensor<1x5x6x4xf32>
  return %0 : tensor<1x5x6x4xf32>
}

// -----

func.func @groups(%x: tensor<1x5x6x8xf32>, %w: tensor<4x8x1x1xf32>) -> tensor<1x5x6x4xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{expects groups that divide the channels}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 3 : i64} : tensor<1x5x6x8xf32>, tensor<4x8x1x1xf32> -> tensor<1x5x6x4xf32>
  return %0 : tensor<1x5x6x4xf32>
}

// -----

func.func @channels(%x: tensor<1x5x6x8xf32>, %w: tensor<4x5x1x1xf32>) -> tensor<1x5x6x4xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{and a filter over the channels of one}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<4x5x1x1xf32> -> tensor<1x5x6x4xf32>
  return %0 : tensor<1x5x6x4xf32>
}

// -----

func.func @bias(%x: tensor<1x5x6x8xf32>, %w: tensor<4x8x1x1xf32>, %b: tensor<8xf32>) -> tensor<1x5x6x4xf32> {
  // constraint: cleave.last_convolution: `bias` has one
  // expected-error @+1 {{expects a bias for each of the 4 channels}}
  %0 = cleave.last_convolution %x, %w bias %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<4x8x1x1xf32>, tensor<8xf32> -> tensor<1x5x6x4xf32>
  return %0 : tensor<1x5x6x4xf32>
}

// -----

func.func @result(%x: tensor<1x5x6x8xf32>, %w: tensor<4x8x1x1xf32>) -> tensor<1x4x5x6xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{expects the result 'tensor<1x5x6x4xf32>'}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<4x8x1x1xf32> -> tensor<1x4x5x6xf32>
  return %0 : tensor<1x4x5x6xf32>
}

// -----

func.func @window(%x: tensor<1x5x6x8xf32>, %w: tensor<4x8x7x1xf32>) -> tensor<1x1x6x4xf32> {
  // constraint: cleave.last_convolution: The result has the shape
  // expected-error @+1 {{expects a window that fits into the padded input along spatial dimension 0}}
  %0 = cleave.last_convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x5x6x8xf32>, tensor<4x8x7x1xf32> -> tensor<1x1x6x4xf32>
  return %0 : tensor<1x1x6x4xf32>
}

// -----

func.func @pool_rank(%x: tensor<5x6xf32>) -> tensor<5x6xf32> {
  // constraint: cleave.last_pool: The result has the shape
  // expected-error @+1 {{expects an input [n, in..., c] of rank 3 or more}}
  %0 = cleave.last_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<5x6xf32> -> tensor<5x6xf32>
  return %0 : tensor<5x6xf32>
}

// -----

func.func @pool_result(%x: tensor<1x5x6x8xf32>) -> tensor<1x5x6x8xf32> {
  // constraint: cleave.last_pool: The result has the shape
  // expected-error @+1 {{expects the result 'tensor<1x4x5x8xf32>'}}
  %0 = cleave.last_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<1x5x6x8xf32> -> tensor<1x5x6x8xf32>
  return %0 : tensor<1x5x6x8xf32>
}

// -----

func.func @pool_window(%x: tensor<1x5x1x8xf32>) -> tensor<1x4x1x8xf32> {
  // constraint: cleave.last_pool: The result has the shape
  // expected-error @+1 {{expects a window that fits into the padded input along spatial dimension 1}}
  %0 = cleave.last_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<1x5x1x8xf32> -> tensor<1x4x1x8xf32>
  return %0 : tensor<1x4x1x8xf32>
}

// -----

func.func @pool_dims(%x: tensor<1x5x8xf32>) -> tensor<1x4x8xf32> {
  // constraint: cleave.last_pool: The result has the shape
  // expected-error @+1 {{expects one value of strides for each of the 1 spatial dimensions}}
  %0 = cleave.last_pool %x {window = array<i64: 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<1x5x8xf32> -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}

// -----

// As for max_pool, a window has at least one element that is not padding.
func.func @pool_padding(%x: tensor<1x5x6x8xf32>) -> tensor<1x8x6x8xf32> {
  // constraint: cleave.last_pool: The result has the shape
  // expected-error @+1 {{expects padding smaller than the window along spatial dimension 0; got: pad_low 2, pad_high 2, window 2}}
  %0 = cleave.last_pool %x {window = array<i64: 2, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 2, 0>, pad_high = array<i64: 2, 0>} : tensor<1x5x6x8xf32> -> tensor<1x8x6x8xf32>
  return %0 : tensor<1x8x6x8xf32>
}
