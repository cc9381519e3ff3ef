// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{'cleave.pick' op expects dim in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 2, batch = 0 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @indices(%x: tensor<4x3xf32>, %i: tensor<2xi8>) {
  // expected-error @below {{'cleave.pick' op expects i32 or i64 indices; got: 'i8'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi8> -> tensor<2x3xf32>
  return
}

// -----

func.func @batch(%x: tensor<4x3xf32>, %i: tensor<4x2xi64>) {
  // expected-error @below {{expects a batch in [0, 0], the dimensions before dim that the indices have too; got: 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 1 : tensor<4x3xf32>, tensor<4x2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @batches(%x: tensor<4x3xf32>, %i: tensor<5x2xi64>) {
  // expected-error @below {{expects 1 equal batch dimensions; got: 'tensor<4x3xf32>' and 'tensor<5x2xi64>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 1, batch = 1 : tensor<4x3xf32>, tensor<5x2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @updates(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) {
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<3x2xf32>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<3x2xf32>
  return
}

// -----

func.func @numbers(%x: tensor<4xi1>, %i: tensor<2xi64>, %u: tensor<2xi1>) {
  // expected-error @below {{combines numbers, cast other elements first; got: 'tensor<4xi1>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 combine max : tensor<4xi1>, tensor<2xi64>, tensor<2xi1>
  return
}

// -----

func.func @count(%x: tensor<4x3xf32>) {
  // expected-error @below {{expects a count between 1 and the size of the last dimension; got: 4 of 'tensor<4x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 4 : tensor<4x3xf32> -> tensor<4x4xi64>
  return
}

// -----

func.func @order(%x: tensor<4x3xi1>) {
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.top_k %x, 2 : tensor<4x3xi1> -> tensor<4x2xi64>
  return
}

// -----

func.func @numbers(%x: tensor<4xi8>) {
  // expected-error @below {{expects i32 or i64 elements; got: 'i8'}}
  %0 = cleave.check_index %x, 0 to 4 : tensor<4xi8>
  return
}

// -----

func.func @empty(%x: tensor<4xi64>) {
  // expected-error @below {{expects a first number that is smaller than the end; got: 4 to 4}}
  %0 = cleave.check_index %x, 4 to 4 : tensor<4xi64>
  return
}
