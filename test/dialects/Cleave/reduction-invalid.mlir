// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @reduce_dim(%x: tensor<8x4xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
  // expected-error @below {{'cleave.reduce' op expects dims in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [2] : tensor<8x4xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<8x4xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
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
  // constraint: cleave.reduce: The elements are floating
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.reduce max %x, [0] : tensor<8xi1> -> tensor<i1>
  return
}

// -----

func.func @argmax_dim(%x: tensor<8xf32>) {
  // constraint: cleave.argmax: `dim` is a dimension
  // expected-error @below {{'cleave.argmax' op expects dim in [0, 1), the operand's dimensions; got: 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 1 : tensor<8xf32> -> tensor<i64>
  return
}

// -----

func.func @softmax_dim(%x: tensor<8xf32>) {
  // constraint: cleave.softmax: `dim` is a dimension
  // expected-error @below {{'cleave.softmax' op expects dim in [0, 1), the operand's dimensions; got: -1}}
  %0 = cleave.softmax %x, dim = -1 : tensor<8xf32>
  return
}

// -----

func.func @normalize_none(%x: tensor<8xf32>) {
  // constraint: cleave.normalize: `dims` names at least
  // expected-error @below {{expects at least one dimension to normalize over; got: none}}
  %0:3 = cleave.normalize %x, [], epsilon = 0.1 : tensor<8xf32> -> tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @normalize_epsilon(%x: tensor<8xf32>) {
  // constraint: cleave.normalize: `epsilon` is 0
  // expected-error @below {{expects epsilon >= 0; got: -1.0}}
  %0:3 = cleave.normalize %x, [0], epsilon = -1.0 : tensor<8xf32> -> tensor<8xf32>, tensor<f32>, tensor<f32>
  return
}

// -----

func.func @log_softmax(%a: tensor<8x4xf32>) {
  // constraint: cleave.log_softmax: `dim` is a dimension
  // expected-error @+1 {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = "cleave.log_softmax"(%a) <{dim = 2 : i64}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @reduce_dims(%x: tensor<4x3xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
  // expected-error @below {{expects dims in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [2] : tensor<4x3xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @reduce_twice(%x: tensor<4x3xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
  // expected-error @below {{expects strictly increasing dims; got: 1 after 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [1, 1] : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_order(%x: tensor<4x3xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
  // expected-error @below {{expects strictly increasing dims; got: 0 after 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [1, 0] : tensor<4x3xf32> -> tensor<f32>
  return
}

// -----

func.func @reduce_bool(%x: tensor<4x3xi1>) {
  // constraint: cleave.reduce: The elements are floating
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.reduce sum %x, [1] : tensor<4x3xi1> -> tensor<4xi1>
  return
}

// -----

func.func @reduce_neg(%x: tensor<4x3xf32>) {
  // constraint: cleave.reduce: `dims` increases strictly
  // expected-error @below {{expects dims in [0, 2), the operand's dimensions; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [-1] : tensor<4x3xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<4x3xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.reduce sum %x, [1] : tensor<4x3xf32> -> tensor<3xf32>
  return
}

// -----

func.func @argmax_dim(%x: tensor<4x3xf32>) {
  // constraint: cleave.argmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 2 : tensor<4x3xf32> -> tensor<4xi64>
  return
}

// -----

func.func @argmax_neg(%x: tensor<4x3xf32>) {
  // constraint: cleave.argmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = -1 : tensor<4x3xf32> -> tensor<4xi64>
  return
}

// -----

func.func @argmax_bool(%x: tensor<4x3xi1>) {
  // constraint: cleave.argmax: The elements are floating
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.argmax %x, dim = 1 : tensor<4x3xi1> -> tensor<4xi64>
  return
}

// -----

func.func @argmax_result(%x: tensor<4x3xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4xi64>' are incompatible with return type(s) of operation 'tensor<3xi64>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 1 : tensor<4x3xf32> -> tensor<3xi64>
  return
}

// -----

func.func @argmax_rtype(%x: tensor<4x3xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4xi64>' are incompatible with return type(s) of operation 'tensor<4xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 1 : tensor<4x3xf32> -> tensor<4xi32>
  return
}

// -----

func.func @argmax_empty(%x: tensor<4x0xf32>) {
  // constraint: cleave.argmax: `dim` is a dimension
  // expected-error @below {{expects at least one element along dim; got: 'tensor<4x0xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.argmax %x, dim = 1 : tensor<4x0xf32> -> tensor<4xi64>
  return
}

// -----

func.func @softmax_dim(%x: tensor<4x3xf32>) {
  // constraint: cleave.softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = cleave.softmax %x, dim = 2 : tensor<4x3xf32>
  return
}

// -----

func.func @softmax_neg(%x: tensor<4x3xf32>) {
  // constraint: cleave.softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: -1}}
  %0 = cleave.softmax %x, dim = -1 : tensor<4x3xf32>
  return
}

// -----

func.func @softmax_int(%x: tensor<4x3xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4x3xi64>'}}
  %0 = cleave.softmax %x, dim = 1 : tensor<4x3xi64>
  return
}

// -----

func.func @softmax_types(%x: tensor<4x3xf32>) {
  // constraint: cleave.softmax: The operand and the result
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.softmax"(%x) <{dim = 1 : i64}> : (tensor<4x3xf32>) -> tensor<4x3xf16>
  return
}

// -----

func.func @softmax_scalar(%x: tensor<f32>) {
  // constraint: cleave.softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 0), the operand's dimensions; got: 0}}
  %0 = cleave.softmax %x, dim = 0 : tensor<f32>
  return
}

// -----

func.func @log_softmax_dim(%x: tensor<4x3xf32>) {
  // constraint: cleave.log_softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = cleave.log_softmax %x, dim = 2 : tensor<4x3xf32>
  return
}

// -----

func.func @log_softmax_neg(%x: tensor<4x3xf32>) {
  // constraint: cleave.log_softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: -1}}
  %0 = cleave.log_softmax %x, dim = -1 : tensor<4x3xf32>
  return
}

// -----

func.func @log_softmax_int(%x: tensor<4x3xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4x3xi64>'}}
  %0 = cleave.log_softmax %x, dim = 1 : tensor<4x3xi64>
  return
}

// -----

func.func @log_softmax_types(%x: tensor<4x3xf32>) {
  // constraint: cleave.log_softmax: The operand and the result
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.log_softmax"(%x) <{dim = 1 : i64}> : (tensor<4x3xf32>) -> tensor<4x3xf16>
  return
}

// -----

func.func @log_softmax_scalar(%x: tensor<f32>) {
  // constraint: cleave.log_softmax: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 0), the operand's dimensions; got: 0}}
  %0 = cleave.log_softmax %x, dim = 0 : tensor<f32>
  return
}

// -----

func.func @normalize_dims(%x: tensor<4x3xf32>) {
  // constraint: cleave.normalize: `dims` names at least
  // expected-error @below {{expects dims in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.normalize %x, [2], epsilon = 1.0e-5 : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @normalize_none(%x: tensor<4x3xf32>) {
  // constraint: cleave.normalize: `dims` names at least
  // expected-error @below {{expects at least one dimension to normalize over; got: none}}
  %0, %1, %2 = cleave.normalize %x, [], epsilon = 1.0e-5 : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
  return
}

// -----

func.func @normalize_eps(%x: tensor<4x3xf32>) {
  // constraint: cleave.normalize: `epsilon` is 0
  // expected-error @below {{expects epsilon >= 0; got: -1.000000e+00}}
  %0, %1, %2 = cleave.normalize %x, [1], epsilon = -1.0 : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @normalize_nan(%x: tensor<4x3xf32>) {
  // constraint: cleave.normalize: `epsilon` is 0
  // expected-error @below {{expects epsilon >= 0; got: nan}}
  %0, %1, %2 = "cleave.normalize"(%x) <{dims = array<i64: 1>, epsilon = 0x7FF8000000000000 : f64}> : (tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @normalize_result(%x: tensor<4x3xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4x3xf32>', 'tensor<4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4x3xf32>', 'tensor<3xf32>', 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<3xf32>, tensor<4xf32>
  return
}

// -----

func.func @normalize_stat(%x: tensor<4x3xf16>) {
  // expected-error @below {{inferred type(s) 'tensor<4x3xf16>', 'tensor<4xf32>', 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<4x3xf16>', 'tensor<4xf16>', 'tensor<4xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.normalize %x, [1], epsilon = 1.0e-5 : tensor<4x3xf16> -> tensor<4x3xf16>, tensor<4xf16>, tensor<4xf16>
  return
}

// -----

func.func @normalize_twice(%x: tensor<4x3xf32>) {
  // constraint: cleave.normalize: `dims` names at least
  // expected-error @below {{expects strictly increasing dims; got: 1 after 1}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.normalize %x, [1, 1], epsilon = 1.0e-5 : tensor<4x3xf32> -> tensor<4x3xf32>, tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @reduce_unsigned(%x: tensor<4x3xui8>) {
  // constraint: cleave.reduce: The elements are floating
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'ui8'}}
  %0 = cleave.reduce sum %x, [1] : tensor<4x3xui8> -> tensor<4xui8>
  return
}

// -----

func.func @argmax_unsigned(%x: tensor<4x3xui8>) {
  // constraint: cleave.argmax: The elements are floating
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'ui8'}}
  %0 = cleave.argmax %x, dim = 1 : tensor<4x3xui8> -> tensor<4xi64>
  return
}
