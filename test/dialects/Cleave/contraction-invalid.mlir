// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @element_types(%a: tensor<2x3xf32>, %b: tensor<3x4xf64>) {
  // constraint: cleave.matmul: The operands, the bias and the result
  // expected-error @below {{'cleave.matmul' op expects operands of one element type; got: 'f32' and 'f64'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf64> -> tensor<2x4xf32>
  return
}

// -----

func.func @rank(%a: tensor<3xf32>, %b: tensor<3x4xf32>) {
  // constraint: cleave.matmul: The operands, the bias and the result
  // expected-error @below {{expects operands of rank 2 or more}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b : tensor<3xf32>, tensor<3x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @batch(%a: tensor<5x2x3xf32>, %b: tensor<6x3x4xf32>) {
  // constraint: cleave.matmul: Both operands have the same k
  // expected-error @below {{expects equal batch dimensions; got: 'tensor<5x2x3xf32>' and 'tensor<6x3x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b : tensor<5x2x3xf32>, tensor<6x3x4xf32> -> tensor<5x2x4xf32>
  return
}

// -----

func.func @contracted(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // constraint: cleave.matmul: Both operands have the same k
  // expected-error @below {{expects the contracted dimensions to agree; got: 3 of lhs and 4 of rhs}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b {transpose_rhs} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @bias(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>, %c: tensor<2xf32>) {
  // constraint: cleave.matmul: `bias` is [n]
  // expected-error @below {{expects a bias of type 'tensor<4xf32>', one element for each column of the result; got: 'tensor<2xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b bias %c : tensor<2x3xf32>, tensor<3x4xf32>, tensor<2xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @bias_type(%a: tensor<2x3xf16>, %b: tensor<3x4xf16>, %c: tensor<4xf32>) {
  // constraint: cleave.matmul: The operands, the bias and the result
  // expected-error @below {{expects a bias of type 'tensor<4xf16>', one element for each column of the result; got: 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b bias %c : tensor<2x3xf16>, tensor<3x4xf16>, tensor<4xf32> -> tensor<2x4xf16>
  return
}

// -----

func.func @groups(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: `groups` divides
  // expected-error @below {{expects groups that divide the 3 input and 4 output channels; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @filter_channels(%x: tensor<1x4x8xf32>, %w: tensor<4x4x3xf32>) {
  // constraint: cleave.convolution: `groups` divides
  // expected-error @below {{expects a filter over ic/groups = 2 channels; got: 4}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x4x8xf32>, tensor<4x4x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @strides(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{expects strides of at least 1; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 0>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @pads(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: `strides`, `dilations`
  // expected-error @below {{expects one value of pad_low for each of the 1 spatial dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0, 0>,
    pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @window_fits(%x: tensor<1x3x2xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{expects a window that fits into the padded input along spatial dimension 0; got: a window of 3 in 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x2xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @gradient_type(%dy: tensor<1x4x5xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution_input_grad: A convolution of a tensor
  // expected-error @below {{expects a gradient of the forward op's result type 'tensor<1x4x6xf32>'; got: 'tensor<1x4x5xf32>'}}
  %0 = cleave.convolution_input_grad %dy, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x4x5xf32>, tensor<4x3x3xf32> -> tensor<1x3x8xf32>
  return
}

// -----

func.func @pool_padding(%x: tensor<1x3x8xf32>) {
  // constraint: cleave.max_pool: Each padding is smaller
  // expected-error @below {{expects padding smaller than the window along spatial dimension 0; got: pad_low 2, pad_high 0, window 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.max_pool %x {window = array<i64: 2>, strides = array<i64: 1>, dilations = array<i64: 1>,
    pad_low = array<i64: 2>, pad_high = array<i64: 0>} : tensor<1x3x8xf32> -> tensor<1x3x9xf32>
  return
}

// -----

func.func @conv_padneg(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{expects pad_low of at least 0; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: -1>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @conv_groups0(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: `groups` divides
  // expected-error @below {{expects groups that divide the 3 input and 4 output channels; got: 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 0 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_types(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf16>) {
  // constraint: cleave.convolution: Input and filter have
  // expected-error @below {{expects input and filter of one element type; got: 'f32' and 'f16'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf16> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<1x3xf32>, %w: tensor<4x3xf32>) {
  // constraint: cleave.convolution: Input and filter have
  // expected-error @below {{expects a filter [oc, ic/groups, kernel...] of rank 3 or more; got: 'tensor<4x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64>, dilations = array<i64>, pad_low = array<i64>, pad_high = array<i64>, groups = 1 : i64} : tensor<1x3xf32>, tensor<4x3xf32> -> tensor<1x4xf32>
  return
}

// -----

func.func @convolution_ranks(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3x3xf32>) {
  // constraint: cleave.convolution: Input and filter have
  // expected-error @below {{of equal rank, 3 or more; got: 'tensor<1x3x8xf32>' and 'tensor<4x3x3x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3x3xf32> -> tensor<1x4x6xf32>
  return
}

// -----

func.func @convolution_output_groups(%x: tensor<1x4x8xf32>, %w: tensor<3x2x3xf32>) {
  // constraint: cleave.convolution: `groups` divides
  // expected-error @below {{expects groups that divide the 4 input and 3 output channels; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, groups = 2 : i64} : tensor<1x4x8xf32>, tensor<3x2x3xf32> -> tensor<1x3x6xf32>
  return
}

// -----

func.func @convolution_pad_high(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations and kernel
  // expected-error @below {{expects pad_high of at least 0; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: -1>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x5xf32>
  return
}

// -----

func.func @matmul_result(%a: tensor<2x3xf32>, %b: tensor<3x4xf32>) {
  // constraint: cleave.matmul: The operands, the bias and the result
  // expected-error @below {{inferred type(s) 'tensor<2x4xf32>' are incompatible with return type(s) of operation 'tensor<2x4xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf16>
  return
}

// -----

func.func @matmul_vector(%a: tensor<2x3xf32>, %b: tensor<3xf32>) {
  // constraint: cleave.matmul: The operands, the bias and the result
  // expected-error @below {{expects operands of rank 2 or more; got: 'tensor<2x3xf32>' and 'tensor<3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.matmul %a, %b : tensor<2x3xf32>, tensor<3xf32> -> tensor<2xf32>
  return
}

// -----

func.func @large_padding(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // constraint: cleave.convolution: Strides, dilations, kernel sizes and
  // expected-error @below {{expects pad_high of at most 2147483647; got: 2147483648}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.convolution %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pad_low = array<i64: 0>,
    pad_high = array<i64: 2147483648>, groups = 1 : i64} : tensor<1x3x8xf32>, tensor<4x3x3xf32> -> tensor<1x4x6xf32>
  return
}
