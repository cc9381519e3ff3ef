// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // constraint: cleave.pick: `dim` is a dimension
  // expected-error @below {{'cleave.pick' op expects dim in [0, 2), the operand's dimensions; got: 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 2, batch = 0 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @indices(%x: tensor<4x3xf32>, %i: tensor<2xi8>) {
  // constraint: cleave.pick: The indices are
  // expected-error @below {{'cleave.pick' op expects i32 or i64 indices; got: 'i8'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi8> -> tensor<2x3xf32>
  return
}

// -----

func.func @batch(%x: tensor<4x3xf32>, %i: tensor<4x2xi64>) {
  // constraint: cleave.pick: `batch` is from 0
  // expected-error @below {{expects a batch in [0, 0], the dimensions before dim that the indices have too; got: 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 1 : tensor<4x3xf32>, tensor<4x2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @batches(%x: tensor<4x3xf32>, %i: tensor<5x2xi64>) {
  // constraint: cleave.pick: `batch` is from 0
  // expected-error @below {{expects 1 equal batch dimensions; got: 'tensor<4x3xf32>' and 'tensor<5x2xi64>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 1, batch = 1 : tensor<4x3xf32>, tensor<5x2xi64> -> tensor<4x2xf32>
  return
}

// -----

func.func @updates(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<3x2xf32>) {
  // constraint: cleave.put: `updates` has the type
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<3x2xf32>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<3x2xf32>
  return
}

// -----

func.func @numbers(%x: tensor<4xi1>, %i: tensor<2xi64>, %u: tensor<2xi1>) {
  // constraint: cleave.put: With `combine`, the elements
  // expected-error @below {{combines numbers, cast other elements first; got: 'tensor<4xi1>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 combine max : tensor<4xi1>, tensor<2xi64>, tensor<2xi1>
  return
}

// -----

func.func @count(%x: tensor<4x3xf32>) {
  // constraint: cleave.top_k: `count` is from 1
  // expected-error @below {{expects a count between 1 and the size of the last dimension; got: 4 of 'tensor<4x3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 4 : tensor<4x3xf32> -> tensor<4x4xi64>
  return
}

// -----

func.func @order(%x: tensor<4x3xi1>) {
  // constraint: cleave.top_k: The elements are floating-point
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'i1'}}
  %0 = cleave.top_k %x, 2 : tensor<4x3xi1> -> tensor<4x2xi64>
  return
}

// -----

func.func @numbers(%x: tensor<4xi8>) {
  // constraint: cleave.check_index: The elements are i32
  // expected-error @below {{expects i32 or i64 elements; got: 'i8'}}
  %0 = cleave.check_index %x, 0 to 4 : tensor<4xi8>
  return
}

// -----

func.func @empty(%x: tensor<4xi64>) {
  // constraint: cleave.check_index: `first` is smaller
  // expected-error @below {{expects a first number that is smaller than the end; got: 4 to 4}}
  %0 = cleave.check_index %x, 4 to 4 : tensor<4xi64>
  return
}

// -----

func.func @pick_result(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // expected-error @below {{inferred type(s) 'tensor<2x3xf32>' are incompatible with return type(s) of operation 'tensor<2x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x4xf32>
  return
}

// -----

func.func @pick_negbatch(%x: tensor<4x3xf32>, %i: tensor<2xi64>) {
  // constraint: cleave.pick: `batch` is from 0
  // expected-error @below {{expects a batch in [0, 0], the dimensions before dim that the indices have too; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = -1 : tensor<4x3xf32>, tensor<2xi64> -> tensor<2x3xf32>
  return
}

// -----

func.func @pick_bool(%x: tensor<4x3xf32>, %i: tensor<2xi1>) {
  // constraint: cleave.pick: The indices are
  // expected-error @below {{expects i32 or i64 indices; got: 'i1'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi1> -> tensor<2x3xf32>
  return
}

// -----

func.func @pick_ui(%x: tensor<4x3xf32>, %i: tensor<2xui64>) {
  // constraint: cleave.pick: The indices are
  // expected-error @below {{expects i32 or i64 indices; got: 'ui64'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xui64> -> tensor<2x3xf32>
  return
}

// -----

func.func @put_dim(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // constraint: cleave.put: `dim` is a dimension
  // expected-error @below {{expects dim in [0, 2), the operand's dimensions; got: 2}}
  %0 = cleave.put %x, %i, %u, dim = 2, batch = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32>
  return
}

// -----

func.func @put_itype(%x: tensor<4x3xf32>, %i: tensor<2xi16>, %u: tensor<2x3xf32>) {
  // constraint: cleave.put: The indices are
  // expected-error @below {{expects i32 or i64 indices; got: 'i16'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi16>, tensor<2x3xf32>
  return
}

// -----

func.func @put_batch(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf32>) {
  // constraint: cleave.put: `batch` is from 0
  // expected-error @below {{expects 1 equal batch dimensions; got: 'tensor<4x3xf32>' and 'tensor<2xi64>'}}
  %0 = cleave.put %x, %i, %u, dim = 1, batch = 1 : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf32>
  return
}

// -----

func.func @put_utype(%x: tensor<4x3xf32>, %i: tensor<2xi64>, %u: tensor<2x3xf16>) {
  // constraint: cleave.put: `updates` has the type
  // expected-error @below {{expects updates of type 'tensor<2x3xf32>', the slices that the indices name; got: 'tensor<2x3xf16>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 : tensor<4x3xf32>, tensor<2xi64>, tensor<2x3xf16>
  return
}

// -----

func.func @top_k_scalar(%x: tensor<f32>) {
  // constraint: cleave.top_k: The operand has at least one
  // expected-error @below {{expects a count between 1 and the size of the last dimension; got: 1 of 'tensor<f32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 1 : tensor<f32> -> tensor<1xi64>
  return
}

// -----

func.func @top_k_zero(%x: tensor<4xf32>) {
  // constraint: cleave.top_k: `count` is from 1
  // expected-error @below {{expects a count between 1 and the size of the last dimension; got: 0 of 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 0 : tensor<4xf32> -> tensor<0xi64>
  return
}

// -----

func.func @top_k_result(%x: tensor<4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<2xi64>' are incompatible with return type(s) of operation 'tensor<3xi64>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 2 : tensor<4xf32> -> tensor<3xi64>
  return
}

// -----

func.func @top_k_rtype(%x: tensor<4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<2xi64>' are incompatible with return type(s) of operation 'tensor<2xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.top_k %x, 2 : tensor<4xf32> -> tensor<2xi32>
  return
}

// -----

func.func @top_k_unsigned(%x: tensor<4xui8>) {
  // constraint: cleave.top_k: The elements are floating-point
  // expected-error @below {{takes floating-point and signed integer elements, cast others first; got: 'ui8'}}
  %0 = cleave.top_k %x, 2 : tensor<4xui8> -> tensor<2xi64>
  return
}

// -----

func.func @check_index_float(%x: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xf32>'}}
  %0 = "cleave.check_index"(%x) <{first = 0 : i64, end = 4 : i64}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @check_index_order(%x: tensor<4xi64>) {
  // constraint: cleave.check_index: `first` is smaller
  // expected-error @below {{expects a first number that is smaller than the end; got: 5 to 4}}
  %0 = cleave.check_index %x, 5 to 4 : tensor<4xi64>
  return
}

// -----

func.func @check_index_bool(%x: tensor<4xi1>) {
  // constraint: cleave.check_index: The elements are i32
  // expected-error @below {{expects i32 or i64 elements; got: 'i1'}}
  %0 = cleave.check_index %x, 0 to 2 : tensor<4xi1>
  return
}

// -----

func.func @check_index_unsigned(%x: tensor<4xui64>) {
  // constraint: cleave.check_index: The elements are i32
  // expected-error @below {{expects i32 or i64 elements; got: 'ui64'}}
  %0 = cleave.check_index %x, 0 to 2 : tensor<4xui64>
  return
}

// -----

func.func @check_index_result(%x: tensor<4xi64>) {
  // expected-error @below {{inferred type(s) 'tensor<4xi64>' are incompatible with return type(s) of operation 'tensor<4xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cleave.check_index"(%x) <{first = 0 : i64, end = 4 : i64}> : (tensor<4xi64>) -> tensor<4xi32>
  return
}

// -----

func.func @pick_scalar(%x: tensor<4x3xf32>, %i: tensor<i64>) {
  // constraint: cleave.pick: `batch` is from 0
  // expected-error @below {{expects a batch in [0, 1], the dimensions before dim that the indices have too; got: 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pick %x, %i, dim = 1, batch = 1 : tensor<4x3xf32>, tensor<i64> -> tensor<4xf32>
  return
}

// -----

func.func @put_unsigned(%x: tensor<4xui8>, %i: tensor<2xi64>, %u: tensor<2xui8>) {
  // constraint: cleave.put: With `combine`, the elements
  // expected-error @below {{combines numbers, cast other elements first; got: 'tensor<4xui8>'}}
  %0 = cleave.put %x, %i, %u, dim = 0, batch = 0 combine max : tensor<4xui8>, tensor<2xi64>, tensor<2xui8>
  return
}
