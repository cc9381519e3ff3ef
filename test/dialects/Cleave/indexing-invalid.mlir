// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // constraint: cleave.take: `dim` is a dimension
  // expected-error @below {{'cleave.take' op expects dim in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = 2 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @indices(%x: tensor<4x3xf32>, %i: tensor<2xi8>) {
  // constraint: cleave.take: The indices are
  // expected-error @below {{'cleave.take' op expects i32 or i64 indices; got: 'i8'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = 0 : tensor<4x3xf32>, tensor<2xi8> -> tensor<2x3xf32>
  return
}

// -----

func.func @updates(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) {
  // constraint: cleave.put_add: `updates` has the type
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<3x2xf32>'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<3x2xf32>
  return
}

// -----

func.func @numbers(%x: tensor<4xi1>, %i: tensor<2xi64>, %u: tensor<2xi1>) {
  // constraint: cleave.put_add: The elements are numbers
  // expected-error @below {{adds numbers, cast i1 first; got: 'tensor<4xi1>'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4xi1>, tensor<2xi64>, tensor<2xi1>
  return
}

// -----

func.func @take_dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // constraint: cleave.take: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = 2 : tensor<4x3xf32>, tensor<2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @take_negdim(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // constraint: cleave.take: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = -1 : tensor<4x3xf32>, tensor<2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @take_itype(%x: tensor<4x3xf32>, %i: tensor<2xi8>) {
  // constraint: cleave.take: The indices are
  // expected-error @below {{expects i32 or i64 indices; got: 'i8'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = 0 : tensor<4x3xf32>, tensor<2xi8> -> tensor<2x3xf32>
  return
}

// -----

func.func @take_result(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<2x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.take %x, %i, dim = 0 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @take_float(%x: tensor<4x3xf32>, %i: tensor<2xf32>) {
  // expected-error @below {{operand #1 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<2xf32>'}}
  %0 = cleave.take %x, %i, dim = 0 : tensor<4x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----

func.func @put_add_updates(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<3x3xf32>) {
  // constraint: cleave.put_add: `updates` has the type
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<3x3xf32>'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<3x3xf32>
  return
}

// -----

func.func @put_add_type(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf16>) {
  // constraint: cleave.put_add: `updates` has the type
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<2x3xf16>'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf16>
  return
}

// -----

func.func @put_add_dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // constraint: cleave.put_add: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = cleave.put_add %x, %i, %u, dim = 2 : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32>
  return
}

// -----

func.func @put_add_itype(%x: tensor<4x3xf32>, %i: tensor<2xi8>, %u: tensor<2x3xf32>) {
  // constraint: cleave.put_add: The indices are
  // expected-error @below {{expects i32 or i64 indices; got: 'i8'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4x3xf32>, tensor<2xi8>, tensor<2x3xf32>
  return
}

// -----

func.func @put_add_bool(%x: tensor<4x3xi1>, %i: tensor<2xi64>, %u: tensor<2x3xi1>) {
  // constraint: cleave.put_add: The elements are numbers
  // expected-error @below {{adds numbers, cast i1 first; got: 'tensor<4x3xi1>'}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<4x3xi1>, tensor<2xi64>, tensor<2x3xi1>
  return
}

// -----

func.func @put_add_scalar(%x: tensor<f32>, %i: tensor<2xi64>, %u: tensor<2xf32>) {
  // constraint: cleave.put_add: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 0), the operand's dimensions; got: 0}}
  %0 = cleave.put_add %x, %i, %u, dim = 0 : tensor<f32>, tensor<2xi64>, tensor<2xf32>
  return
}
