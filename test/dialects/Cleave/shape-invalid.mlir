// RUN: cleave-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<8x4xf32>) {
  // constraint: cleave.reshape: The operand and the result have the same number
  // expected-error @+1 {{keeps the number of elements; got: 'tensor<8x4xf32>' -> 'tensor<31xf32>'}}
  %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<31xf32>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // constraint: cleave.reshape: The operand and the result have the same number
  // expected-error @+1 {{moves elements without changing their type}}
  %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<32xf16>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // constraint: cleave.transpose: `permutation` has each dimension
  // expected-error @below {{needs a permutation of the operand's 2 dimensions}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %a, [1, 1] : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // constraint: cleave.broadcast: `dims` has one dimension
  // expected-error @+1 {{needs one result dimension for every operand dimension; got: 2 for 'tensor<4xf32>'}}
  %0 = cleave.broadcast %a, [0, 1] : tensor<4xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<4x8xf32>) {
  // constraint: cleave.broadcast: `dims` has one dimension
  // expected-error @+1 {{dims increase strictly and lie in the result}}
  %0 = cleave.broadcast %a, [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<1xf32>) {
  // constraint: cleave.broadcast: Each dimension of the operand
  // expected-error @+1 {{operand dimension 0 equals result dimension 1; got: 'tensor<1xf32>' -> 'tensor<8x4xf32>'}}
  %0 = cleave.broadcast %a, [1] : tensor<1xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // constraint: cleave.slice: Starts and sizes are 0 or more
  // expected-error @below {{sizes are not negative; got: -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.slice %a, [0], [-1], [1] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // constraint: cleave.slice: `starts`, `sizes` and `steps` have
  // expected-error @+1 {{needs a start, a size and a step for every dimension}}
  %0 = cleave.slice %a, [0, 0], [8], [1] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // constraint: cleave.slice: Starts and sizes are 0 or more
  // expected-error @+1 {{steps are positive; got: 0 in dimension 0}}
  %0 = cleave.slice %a, [0], [8], [0] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // constraint: cleave.slice: Each element that is read
  // expected-error @+1 {{reads inside its operand; got: 4 elements from 2 on in steps of 2, of dimension 0 of}}
  %0 = cleave.slice %a, [2], [4], [2] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>) {
  // constraint: cleave.concat: There is at least one operand
  // expected-error @below {{needs operands that have dimension 2}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.concat %a dim = 2 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // constraint: cleave.concat: The operands have the same rank
  // expected-error @+1 {{operands have the result's rank; got: 'tensor<2xf32>' -> 'tensor<4x4xf32>'}}
  %0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<2xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x5xf32>) {
  // constraint: cleave.concat: The operands have the same rank
  // expected-error @+1 {{operands differ in dimension 0 only; got: 'tensor<2x5xf32>' -> 'tensor<4x4xf32>'}}
  %0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<2x5xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // constraint: cleave.pad: `low`, `high` and `interior`
  // expected-error @below {{needs low, high and interior for every dimension}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %a, [1], [1], [], value = 0.0 : tensor<4xf32> -> tensor<6xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // constraint: cleave.pad: `low`, `high` and `interior`
  // expected-error @below {{low, high and interior are not negative (slice removes elements); got: }}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %a, [-1], [1], [0], value = 0.0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
func.func @f() {
  // constraint: cleave.iota: `dim` is a dimension
  // expected-error @+1 {{dim is one of the result's; got: 2}}
  %0 = cleave.iota dim = 2 : tensor<8x4xi64>
  return
}

// -----
func.func @f(%o: tensor<1xi64>) {
  // constraint: cleave.iota: `origin` is a vector
  // expected-error @+1 {{the origin has one i64 for every result dimension; got: 'tensor<1xi64>'}}
  %0 = cleave.iota dim = 1 origin %o : tensor<1xi64> : tensor<8x4xi64>
  return
}

// -----
func.func @f(%s: tensor<1xi64>) {
  // constraint: cleave.random_uniform: `seed` and `step`
  // expected-error @+1 {{seed and step are scalars}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8>} : tensor<1xi64>, tensor<1xi64> -> tensor<8xf32>
  return
}

// -----
func.func @f(%s: tensor<i64>) {
  // constraint: cleave.random_uniform: `global_shape` has
  // expected-error @+1 {{global_shape has one size for every result dimension; got: 2 sizes for 'tensor<8xf32>'}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8, 1>} : tensor<i64>, tensor<i64> -> tensor<8xf32>
  return
}

// -----
func.func @f(%s: tensor<i64>) {
  // constraint: cleave.random_uniform: Without `origin`
  // expected-error @+1 {{the result is the whole tensor, or with an origin a part of it}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8>} : tensor<i64>, tensor<i64> -> tensor<4xf32>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // constraint: cleave.offload: The result has the operand's type
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.offload"(%a) : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @reshape_dyn(%x: tensor<?x4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?x4xf32>'}}
  %0 = cleave.reshape %x : tensor<?x4xf32> -> tensor<32xf32>
  return
}

// -----

func.func @reshape_float(%x: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.reshape"(%x) : (f32) -> tensor<1xf32>
  return
}

// -----

func.func @transpose_short(%x: tensor<8x4xf32>) {
  // constraint: cleave.transpose: `permutation` has each dimension
  // expected-error @below {{needs a permutation of the operand's 2 dimensions}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %x, [1] : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_range(%x: tensor<8x4xf32>) {
  // constraint: cleave.transpose: `permutation` has each dimension
  // expected-error @below {{needs a permutation of the operand's 2 dimensions}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %x, [0, 2] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @transpose_neg(%x: tensor<8x4xf32>) {
  // constraint: cleave.transpose: `permutation` has each dimension
  // expected-error @below {{needs a permutation of the operand's 2 dimensions}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %x, [-1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<8x4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4x8xf32>' are incompatible with return type(s) of operation 'tensor<8x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %x, [1, 0] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @transpose_type(%x: tensor<8x4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4x8xf32>' are incompatible with return type(s) of operation 'tensor<4x8xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.transpose %x, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @broadcast_type(%x: tensor<4xf32>) {
  // constraint: cleave.broadcast: The operand and the result have the same element
  // expected-error @below {{moves elements without changing their type; got: 'tensor<4xf32>' -> 'tensor<8x4xf16>'}}
  %0 = cleave.broadcast %x, [1] : tensor<4xf32> -> tensor<8x4xf16>
  return
}

// -----

func.func @broadcast_range(%x: tensor<4xf32>) {
  // constraint: cleave.broadcast: `dims` has one dimension
  // expected-error @below {{dims increase strictly and lie in the result; got: array<i64: 2>}}
  %0 = cleave.broadcast %x, [2] : tensor<4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @concat_none() {
  // expected-error @below {{expected non-function type}}
  %0 = cleave.concat dim = 0 : -> tensor<0xf32>
  return
}

// -----

func.func @concat_neg(%x: tensor<2x4xf32>) {
  // constraint: cleave.concat: There is at least one operand
  // expected-error @below {{needs operands that have dimension -1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.concat %x dim = -1 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @concat_sum(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<5x4xf32>' are incompatible with return type(s) of operation 'tensor<6x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.concat %x, %y dim = 0 : tensor<2x4xf32>, tensor<3x4xf32> -> tensor<6x4xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<2x4xf32>, %y: tensor<3x4xf16>) {
  // constraint: cleave.concat: The operands have the same rank
  // expected-error @below {{moves elements without changing their type; got: 'tensor<3x4xf16>' -> 'tensor<5x4xf32>'}}
  %0 = cleave.concat %x, %y dim = 0 : tensor<2x4xf32>, tensor<3x4xf16> -> tensor<5x4xf32>
  return
}

// -----

func.func @concat_scalar(%x: tensor<f32>) {
  // constraint: cleave.concat: The operands have the same rank
  // expected-error @below {{operands have the result's rank; got: 'tensor<f32>' -> 'tensor<1xf32>'}}
  %0 = cleave.concat %x dim = 0 : tensor<f32> -> tensor<1xf32>
  return
}

// -----

func.func @offload_type(%x: tensor<4xf32>) {
  // constraint: cleave.offload: The result has the operand's type
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.offload"(%x) : (tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @offload_dyn(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = cleave.offload %x : tensor<?xf32>
  return
}

// -----

func.func @offload_float(%x: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.offload"(%x) : (f32) -> f32
  return
}

// -----

func.func @pad_interior(%x: tensor<4xf32>) {
  // constraint: cleave.pad: `low`, `high` and `interior`
  // expected-error @below {{low, high and interior are not negative (slice removes elements); got: }}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [1], [1], [-1], value = 0.0 : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----

func.func @pad_high(%x: tensor<4xf32>) {
  // constraint: cleave.pad: `low`, `high` and `interior`
  // expected-error @below {{low, high and interior are not negative (slice removes elements); got: }}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [1], [-1], [0], value = 0.0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----

func.func @pad_result(%x: tensor<4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<6xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [1], [1], [0], value = 0.0 : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @pad_rank(%x: tensor<4x4xf32>) {
  // constraint: cleave.pad: `low`, `high` and `interior`
  // expected-error @below {{needs low, high and interior for every dimension}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [1], [1], [0], value = 0.0 : tensor<4x4xf32> -> tensor<6x4xf32>
  return
}

// -----

func.func @iota_neg() {
  // constraint: cleave.iota: `dim` is a dimension
  // expected-error @below {{dim is one of the result's; got: -1 for 'tensor<8x4xi64>'}}
  %0 = cleave.iota dim = -1 : tensor<8x4xi64>
  return
}

// -----

func.func @iota_origin_type(%o: tensor<2xi32>) {
  // constraint: cleave.iota: `origin` is a vector
  // expected-error @below {{the origin has one i64 for every result dimension; got: 'tensor<2xi32>'}}
  %0 = cleave.iota dim = 1 origin %o : tensor<2xi32> : tensor<8x4xi64>
  return
}

// -----

func.func @iota_scalar() {
  // constraint: cleave.iota: `dim` is a dimension
  // expected-error @below {{dim is one of the result's; got: 0 for 'tensor<i64>'}}
  %0 = cleave.iota dim = 0 : tensor<i64>
  return
}

// -----

func.func @random_uniform_int(%s: tensor<i64>) {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<8xi64>'}}
  %0 = "cleave.random_uniform"(%s, %s) <{site = 0 : i64, global_shape = array<i64: 8>}> : (tensor<i64>, tensor<i64>) -> tensor<8xi64>
  return
}

// -----

func.func @random_uniform_origin(%s: tensor<i64>, %o: tensor<2xi64>) {
  // constraint: cleave.random_uniform: `origin` is a vector
  // expected-error @below {{the origin has one i64 for every result dimension; got: 'tensor<2xi64>'}}
  %0 = cleave.random_uniform %s, %s origin %o : tensor<2xi64> {site = 0 : i64, global_shape = array<i64: 8>} : tensor<i64>, tensor<i64> -> tensor<8xf32>
  return
}

// -----

func.func @random_uniform_larger(%s: tensor<i64>, %o: tensor<1xi64>) {
  // constraint: cleave.random_uniform: Without `origin`
  // expected-error @below {{the result is the whole tensor, or with an origin a part of it; got: 'tensor<16xf32>' of global_shape array<i64: 8>}}
  %0 = cleave.random_uniform %s, %s origin %o : tensor<1xi64> {site = 0 : i64, global_shape = array<i64: 8>} : tensor<i64>, tensor<i64> -> tensor<16xf32>
  return
}

// -----

func.func @slice_negstart(%x: tensor<8xf32>) {
  // constraint: cleave.slice: Starts and sizes are 0 or more
  // expected-error @below {{reads inside its operand; got: 4 elements from -1 on in steps of 1, of dimension 0 of 'tensor<8xf32>'}}
  %0 = cleave.slice %x, [-1], [4], [1] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @slice_result(%x: tensor<8xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.slice %x, [0], [4], [1] : tensor<8xf32> -> tensor<5xf32>
  return
}

// -----

func.func @broadcast_dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = cleave.broadcast %x, [0] : tensor<?xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reshape_elements(%x: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = cleave.reshape %x : tensor<4xindex> -> tensor<4xindex>
  return
}

// -----

func.func @iota_elements() {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = cleave.iota dim = 0 : tensor<4xindex>
  return
}

// -----

func.func @random_scalars(%s: tensor<i64>, %t: tensor<i32>) {
  // constraint: cleave.random_uniform: `seed` and `step`
  // expected-error @below {{operand #1 must be statically shaped tensor of 64-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<i32>'}}
  %0 = "cleave.random_uniform"(%s, %t) <{site = 0 : i64, global_shape = array<i64: 8>}> : (tensor<i64>, tensor<i32>) -> tensor<8xf32>
  return
}

// -----

func.func @offload_elements(%x: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = cleave.offload %x : tensor<4xindex>
  return
}

// -----

func.func @transpose_dynamic(%x: tensor<?x4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?x4xf32>'}}
  %0 = cleave.transpose %x, [1, 0] : tensor<?x4xf32> -> tensor<4x?xf32>
  return
}

// -----

func.func @transpose_number(%x: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.transpose"(%x) <{permutation = array<i64>}> : (f32) -> f32
  return
}

// -----

func.func @pad_elements(%x: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = cleave.pad %x, [1], [1], [0], value = 0.0 : tensor<4xindex> -> tensor<6xindex>
  return
}

// -----

func.func @pad_too_large(%x: tensor<4xf32>) {
  // constraint: cleave.pad: Each dimension of the result
  // expected-error @below {{op has a result of at most 2^63 - 1 elements along a dimension}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [9223372036854775807], [0], [0], value = 0.0 : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @slice_sizes(%x: tensor<8xf32>) {
  // constraint: cleave.slice: `starts`, `sizes` and `steps` have
  // expected-error @below {{needs a start, a size and a step for every dimension; got: }}
  %0 = cleave.slice %x, [0], [8, 1], [1] : tensor<8xf32> -> tensor<8x1xf32>
  return
}

// -----

func.func @slice_steps(%x: tensor<8x4xf32>) {
  // constraint: cleave.slice: `starts`, `sizes` and `steps` have
  // expected-error @below {{needs a start, a size and a step for every dimension; got: }}
  %0 = cleave.slice %x, [0, 0], [8, 4], [1] : tensor<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @slice_empty(%x: tensor<8xf32>) {
  // constraint: cleave.slice: Starts and sizes are 0 or more
  // expected-error @below {{reads inside its operand; got: 0 elements from -1 on}}
  %0 = cleave.slice %x, [-1], [0], [1] : tensor<8xf32> -> tensor<0xf32>
  return
}

// -----

func.func @concat_nothing() {
  // constraint: cleave.concat: There is at least one operand
  // expected-error @below {{needs operands that have dimension 0}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cleave.concat"() <{dim = 0 : i64}> : () -> tensor<0xf32>
  return
}

// -----

func.func @pad_interior(%x: tensor<4xf32>) {
  // constraint: cleave.pad: Each dimension of the result
  // expected-error @below {{has a result of at most 2^63 - 1 elements along a dimension}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.pad %x, [0], [0], [4611686018427387904], value = 0.0 : tensor<4xf32> -> tensor<5xf32>
  return
}

// -----

func.func @random_uniform_origin_type(%s: tensor<i64>, %o: tensor<1xi32>) {
  // constraint: cleave.random_uniform: `origin` is a vector
  // expected-error @below {{the origin has one i64 for every result dimension; got: 'tensor<1xi32>'}}
  %0 = cleave.random_uniform %s, %s origin %o : tensor<1xi32> {site = 0 : i64, global_shape = array<i64: 8>} : tensor<i64>, tensor<i64> -> tensor<8xf32>
  return
}

// -----

func.func @concat_of_more_elements_than_64_bits_count(%x: tensor<0x4611686018427387904xf32>) {
  // constraint: cleave.concat: The result has
  // expected-error @below {{'cleave.concat' op has a result of at most 2^63 - 1 elements along a dimension; got: more along dimension 1}}
  // expected-error @below {{failed to infer returned types}}
  %0 = cleave.concat %x, %x dim = 1 : tensor<0x4611686018427387904xf32>, tensor<0x4611686018427387904xf32> -> tensor<0x4xf32>
  return
}

// -----

// Each operand has 2^62 bytes, and the result has 2^63.
func.func @concat_of_more_bytes_than_64_bits_count(%x: tensor<1152921504606846976xf32>) {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<2305843009213693952xf32>'}}
  %0 = cleave.concat %x, %x dim = 0 : tensor<1152921504606846976xf32>, tensor<1152921504606846976xf32> -> tensor<2305843009213693952xf32>
  return
}

// -----

// The product of these sizes is 0 modulo 2^64.
func.func @reshape_of_more_bytes_than_64_bits_count(%x: tensor<0xf32>) {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4294967296x4294967296xf32>'}}
  %0 = cleave.reshape %x : tensor<0xf32> -> tensor<4294967296x4294967296xf32>
  return
}
