// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @reduce_dim(%x: tensor<8x4xf32>) {
  // expected-error @below {{'cleave.reduce' op expects dims in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [2] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<8x4xf32>) {
  // expected-error @below {{expects strictly increasing dims; got: 0 after 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [1, 0] : tensor<8x4xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_type(%x: tensor<8x4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<8xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [1] : tensor<8x4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_element(%x: tensor<8xi1>) {
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.reduce max %x, [0] : tensor<8xi1> -> tensor<i1>
  return
}

// -----

func.func @argmax_dim(%x: tensor<8xf32>) {
  // expected-error @below {{'cleave.argmax' op expects dim in [0, 1), the operand's dimensions; got: 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 1 : tensor<8xf32> -> tensor<i64>
  return
}

// -----

func.func @softmax_dim(%x: tensor<8xf32>) {
  // expected-error @below {{'cleave.softmax' op expects dim in [0, 1), the operand's dimensions; got: -1}}
  %0 = cleave.softmax %x, dim = -1 : tensor<8xf32>
  return
}

// -----

func.func @normalize_none(%x: tensor<8xf32>) {
  // expected-error @below {{expects at least one dimension to normalize over; got: none}}
  %0:3 = cleave.normalize %x, [], epsilon = 0.1 : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @normalize_epsilon(%x: tensor<8xf32>) {
  // expected-error @below {{expects epsilon >= 0; got: -1.0}}
  %0:3 = cleave.normalize %x, [0], epsilon = -1.0 : tensor<8xf32> -> tensor<8xf32>, tensor<f32>, tensor<f32>
  return
}

// -----

func.func @log_softmax(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = "cleave.log_softmax"(%a) <{dim = 2 : i64}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}
