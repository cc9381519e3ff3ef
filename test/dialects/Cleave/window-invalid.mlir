// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// Pools and the gradients of windows.

func.func @avg_pool(%x: tensor<1x2x8x8xf32>) {
  // expected-error @+3 {{failed to infer returned types}}
  // constraint: cleave.avg_pool: `window`, `strides`
  // expected-error @+1 {{expects one value of window for each of the 2 spatial dimensions; got: 1}}
  %0 = "cleave.avg_pool"(%x) <{window = array<i64: 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @max_pool_grad(%x: tensor<1x2x8x8xf32>, %dy: tensor<1x2x3x4xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x2x4x4xf32>'; got: 'tensor<1x2x3x4xf32>'}}
  %0 = "cleave.max_pool_grad"(%x, %dy) <{window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x8x8xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @avg_pool_grad(%dy: tensor<1x2x3x4xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x2x4x4xf32>'; got: 'tensor<1x2x3x4xf32>'}}
  %0 = "cleave.avg_pool_grad"(%dy) <{window = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>}> : (tensor<1x2x3x4xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @convolution_weight_grad(%x: tensor<1x2x8x8xf32>, %dy: tensor<1x4x8x8xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @+1 {{expects a gradient of the forward op's result type 'tensor<1x4x6x6xf32>'; got: 'tensor<1x4x8x8xf32>'}}
  %0 = "cleave.convolution_weight_grad"(%x, %dy) <{strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64}> : (tensor<1x2x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<4x2x3x3xf32>
  return
}

// -----

func.func @max_pool_window0(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Windows, strides and dilations
  // expected-error @below {{expects window of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 0>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x9xf32>
  return
}

// -----

func.func @avg_pool_negpad(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Windows, strides and dilations
  // expected-error @below {{expects pad_low of at least 0; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: -1>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x6xf32>
  return
}

// -----

func.func @convolution_input_grad_groups(%dy: tensor<1x4x6xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects groups that divide the 3 input and 4 output channels; got: 2}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x4x6xf32>, tensor<4x3x3xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @convolution_input_grad_strides(%dy: tensor<1x4x6xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects strides of at least 1; got: 0}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x4x6xf32>, tensor<4x3x3xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @convolution_input_grad_rank(%dy: tensor<1x4x6xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects an input [n, ic, in...] and a filter [oc, ic/groups, kernel...] of equal rank, 3 or more; got: 'tensor<4x3xf32>' and 'tensor<4x3x3xf32>'}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x4x6xf32>, tensor<4x3x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @convolution_input_grad_type(%dy: tensor<1x4x6xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects input and filter of one element type; got: 'f16' and 'f32'}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x4x6xf32>, tensor<4x3x3xf32> -> tensor<1x3x8xf16>
  return
}

// -----

func.func @convolution_input_grad_pads(%dy: tensor<1x4x6xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects one value of pad_low for each of the 1 spatial dimensions; got: 2}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x4x6xf32>, tensor<4x3x3xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @convolution_weight_grad_groups(%x: tensor<1x3x8xf32>, %dy: tensor<1x4x6xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @below {{expects groups that divide the 3 input and 4 output channels; got: 2}}
  %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x3x8xf32>, tensor<1x4x6xf32> -> tensor<4x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_strides(%x: tensor<1x3x8xf32>, %dy: tensor<1x4x6xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @below {{expects strides of at least 1; got: 0}}
  %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<1x4x6xf32> -> tensor<4x3x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_rank(%x: tensor<1x3x8xf32>, %dy: tensor<1x4x6xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @below {{expects a filter [oc, ic/groups, kernel...] of rank 3 or more; got: 'tensor<4x3xf32>'}}
  %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<1x4x6xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @convolution_weight_grad_type(%x: tensor<1x3x8xf32>, %dy: tensor<1x4x6xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @below {{expects input and filter of one element type; got: 'f32' and 'f16'}}
  %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<1x4x6xf32> -> tensor<4x3x3xf16>
  return
}

// -----

func.func @convolution_weight_grad_pads(%x: tensor<1x3x8xf32>, %dy: tensor<1x4x6xf32>) {
  // constraint: cleave.convolution_weight_grad: A convolution of `input`
  // expected-error @below {{expects one value of pad_low for each of the 1 spatial dimensions; got: 2}}
  %0 = cleave.convolution_weight_grad %x, %dy {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<1x4x6xf32> -> tensor<4x3x3xf32>
  return
}

// -----

func.func @avg_pool_strides(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Windows, strides and dilations
  // expected-error @below {{expects strides of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_strides(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Windows, strides and dilations
  // expected-error @below {{expects strides of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_grad_strides(%dy: tensor<1x3x7xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @below {{expects strides of at least 1; got: 0}}
  %0 = cleave.avg_pool_grad %dy {window = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x7xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @max_pool_grad_strides(%x: tensor<1x3x8xf32>, %dy: tensor<1x3x7xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @below {{expects strides of at least 1; got: 0}}
  %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 2>, strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32>, tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_window(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Windows, strides and dilations
  // expected-error @below {{expects a window that fits into the padded input along spatial dimension 0; got: a window of 9 in 8}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 9>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_window(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Windows, strides and dilations
  // expected-error @below {{expects a window that fits into the padded input along spatial dimension 0; got: a window of 9 in 8}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 9>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_grad_window(%dy: tensor<1x3x7xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @below {{expects a window that fits into the padded input along spatial dimension 0; got: a window of 9 in 8}}
  %0 = cleave.avg_pool_grad %dy {window = array<i64: 9>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x7xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @max_pool_grad_window(%x: tensor<1x3x8xf32>, %dy: tensor<1x3x7xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @below {{expects a window that fits into the padded input along spatial dimension 0; got: a window of 9 in 8}}
  %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 9>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32>, tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_dilations(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: `window`, `strides`
  // expected-error @below {{expects one value of dilations for each of the 1 spatial dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_dilations(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: `window`, `strides`
  // expected-error @below {{expects one value of dilations for each of the 1 spatial dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_grad_dilations(%dy: tensor<1x3x7xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @below {{expects one value of dilations for each of the 1 spatial dimensions; got: 2}}
  %0 = cleave.avg_pool_grad %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x7xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @max_pool_grad_dilations(%x: tensor<1x3x8xf32>, %dy: tensor<1x3x7xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @below {{expects one value of dilations for each of the 1 spatial dimensions; got: 2}}
  %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32>, tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_padding(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Each padding is smaller
  // expected-error @below {{expects padding smaller than the window along spatial dimension 0; got: pad_low 0, pad_high 2, window 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 2>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_padding(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Each padding is smaller
  // expected-error @below {{expects padding smaller than the window along spatial dimension 0; got: pad_low 0, pad_high 2, window 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 2>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_grad_padding(%dy: tensor<1x3x7xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @below {{expects padding smaller than the window along spatial dimension 0; got: pad_low 0, pad_high 2, window 2}}
  %0 = cleave.avg_pool_grad %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 2>} : tensor<1x3x7xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @max_pool_grad_padding(%x: tensor<1x3x8xf32>, %dy: tensor<1x3x7xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @below {{expects padding smaller than the window along spatial dimension 0; got: pad_low 0, pad_high 2, window 2}}
  %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 2>} : tensor<1x3x8xf32>, tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_negative(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Windows, strides and dilations
  // expected-error @below {{expects pad_high of at least 0; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: -1>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_negative(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Windows, strides and dilations
  // expected-error @below {{expects pad_high of at least 0; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: -1>} : tensor<1x3x8xf32> -> tensor<1x3x7xf32>
  return
}

// -----

func.func @avg_pool_grad_negative(%dy: tensor<1x3x7xf32>) {
  // constraint: cleave.avg_pool_grad: `avg_pool` of a tensor
  // expected-error @below {{expects pad_high of at least 0; got: -1}}
  %0 = cleave.avg_pool_grad %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: -1>} : tensor<1x3x7xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @max_pool_grad_negative(%x: tensor<1x3x8xf32>, %dy: tensor<1x3x7xf32>) {
  // constraint: cleave.max_pool_grad: `max_pool` of `input`
  // expected-error @below {{expects pad_high of at least 0; got: -1}}
  %0 = cleave.max_pool_grad %x, %dy {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: -1>} : tensor<1x3x8xf32>, tensor<1x3x7xf32>
  return
}

// -----

func.func @max_pool_rank(%x: tensor<1x3xf32>) {
  // constraint: cleave.max_pool: The operand has rank 3
  // expected-error @below {{expects an input [n, c, in...] of rank 3 or more; got: 'tensor<1x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64>, strides = array<i64>, dilations = array<i64>, pad_low = array<i64>, pad_high = array<i64>} : tensor<1x3xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @avg_pool_rank(%x: tensor<1x3xf32>) {
  // constraint: cleave.avg_pool: The operand has rank 3
  // expected-error @below {{expects an input [n, c, in...] of rank 3 or more; got: 'tensor<1x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64>, strides = array<i64>, dilations = array<i64>, pad_low = array<i64>, pad_high = array<i64>} : tensor<1x3xf32> -> tensor<1x3xf32>
  return
}

// -----

func.func @dilation(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{op expects dilations of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 0, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32> -> tensor<1x3x3x3xf32>
  return
}

// -----

func.func @empty_filter(%x: tensor<1x2x5x5xf32>, %w: tensor<3x2x0x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{op expects window of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x2x5x5xf32>, tensor<3x2x0x3xf32> -> tensor<1x3x6x3xf32>
  return
}

// -----

func.func @pool_dilation(%x: tensor<1x2x5x5xf32>) {
  // constraint: cleave.max_pool: Windows, strides and dilations
  // expected-error @below {{op expects dilations of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 0>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>} : tensor<1x2x5x5xf32> -> tensor<1x2x4x5xf32>
  return
}

// -----

func.func @max_pool_large(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Windows, strides, dilations and
  // expected-error @below {{expects strides of at most 2147483647; got: 2147483648}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 2147483648>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x1xf32>
  return
}

// -----

func.func @avg_pool_large(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.avg_pool: Windows, strides, dilations and
  // expected-error @below {{expects strides of at most 2147483647; got: 2147483648}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.avg_pool %x {window = array<i64: 2>, strides = array<i64: 2147483648>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x1xf32>
  return
}
