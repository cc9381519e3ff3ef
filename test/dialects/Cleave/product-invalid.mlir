// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @rank(%a: tensor<2x3x4xf32>, %b: tensor<3x4xf32>) {
  // constraint: cleave.matmul_bias_grad: Both operands have rank 2
  // expected-error @below {{'cleave.matmul_bias_grad' op expects operands of rank 2, of one element type and with as many rows; got: 'tensor<2x3x4xf32>' and 'tensor<3x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1 = cleave.matmul_bias_grad %a, %b : tensor<2x3x4xf32>, tensor<3x4xf32> -> tensor<4x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @element_types(%a: tensor<3x2xf32>, %b: tensor<3x4xf16>) {
  // constraint: cleave.matmul_bias_grad: Both operands have rank 2
  // expected-error @below {{of one element type}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1 = cleave.matmul_bias_grad %a, %b : tensor<3x2xf32>, tensor<3x4xf16> -> tensor<2x4xf32>, tensor<4xf32>
  return
}

// -----

func.func @rows(%a: tensor<5x2xf32>, %b: tensor<3x4xf32>) {
  // constraint: cleave.matmul_bias_grad: Both operands have rank 2
  // expected-error @below {{with as many rows}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1 = cleave.matmul_bias_grad %a, %b : tensor<5x2xf32>, tensor<3x4xf32> -> tensor<2x4xf32>, tensor<4xf32>
  return
}

// -----

// The sum is of the other operand.
func.func @side(%a: tensor<3x2xf32>, %b: tensor<3x4xf32>) {
  // expected-error @below {{incompatible with return type(s) of operation}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1 = cleave.matmul_bias_grad %a, %b {of_lhs} : tensor<3x2xf32>, tensor<3x4xf32> -> tensor<2x4xf32>, tensor<4xf32>
  return
}
