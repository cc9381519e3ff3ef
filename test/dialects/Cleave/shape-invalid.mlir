// RUN: cleave-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{keeps the number of elements; got: 'tensor<8x4xf32>' -> 'tensor<31xf32>'}}
  %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<31xf32>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{moves elements without changing their type}}
  %0 = cleave.reshape %a : tensor<8x4xf32> -> tensor<32xf16>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{needs a permutation of the operand's 2 dimensions}}
  %0 = cleave.transpose %a, [1, 1] : tensor<8x4xf32> -> tensor<4x8xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+1 {{needs one result dimension for every operand dimension; got: 2 for 'tensor<4xf32>'}}
  %0 = cleave.broadcast %a, [0, 1] : tensor<4xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<4x8xf32>) {
  // expected-error @+1 {{dims increase strictly and lie in the result}}
  %0 = cleave.broadcast %a, [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<1xf32>) {
  // expected-error @+1 {{operand dimension 0 equals result dimension 1; got: 'tensor<1xf32>' -> 'tensor<8x4xf32>'}}
  %0 = cleave.broadcast %a, [1] : tensor<1xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{sizes are not negative; got: -1}}
  %0 = cleave.slice %a, [0], [-1], [1] : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{needs a start, a size and a step for every dimension}}
  %0 = cleave.slice %a, [0, 0], [8], [1] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{steps are positive; got: 0 in dimension 0}}
  %0 = cleave.slice %a, [0], [8], [0] : tensor<8xf32> -> tensor<8xf32>
  return
}

// -----
func.func @f(%a: tensor<8xf32>) {
  // expected-error @+1 {{reads inside its operand; got: elements 2 to 8 of dimension 0}}
  %0 = cleave.slice %a, [2], [4], [2] : tensor<8xf32> -> tensor<4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{needs operands that have dimension 2}}
  %0 = cleave.concat %a dim = 2 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>, %b: tensor<2xf32>) {
  // expected-error @+1 {{operands have the result's rank; got: 'tensor<2xf32>' -> 'tensor<4x4xf32>'}}
  %0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<2xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @f(%a: tensor<2x4xf32>, %b: tensor<2x5xf32>) {
  // expected-error @+1 {{operands differ in dimension 0 only; got: 'tensor<2x5xf32>' -> 'tensor<4x4xf32>'}}
  %0 = cleave.concat %a, %b dim = 0 : tensor<2x4xf32>, tensor<2x5xf32> -> tensor<4x4xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{needs low, high and interior for every dimension}}
  %0 = cleave.pad %a, [1], [1], [], value = 0.0 : tensor<4xf32> -> tensor<6xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{low, high and interior are not negative; slice to remove}}
  %0 = cleave.pad %a, [-1], [1], [0], value = 0.0 : tensor<4xf32> -> tensor<4xf32>
  return
}

// -----
func.func @f() {
  // expected-error @+1 {{dim is one of the result's; got: 2}}
  %0 = cleave.iota dim = 2 : tensor<8x4xi64>
  return
}

// -----
func.func @f(%o: tensor<1xi64>) {
  // expected-error @+1 {{the origin has one i64 for every result dimension; got: 'tensor<1xi64>'}}
  %0 = cleave.iota dim = 1 origin %o : tensor<1xi64> : tensor<8x4xi64>
  return
}

// -----
func.func @f(%s: tensor<1xi64>) {
  // expected-error @+1 {{seed and step are scalars}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8>} : tensor<1xi64>, tensor<1xi64> -> tensor<8xf32>
  return
}

// -----
func.func @f(%s: tensor<i64>) {
  // expected-error @+1 {{global_shape has one size for every result dimension; got: 2 sizes for 'tensor<8xf32>'}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8, 1>} : tensor<i64>, tensor<i64> -> tensor<8xf32>
  return
}

// -----
func.func @f(%s: tensor<i64>) {
  // expected-error @+1 {{the result is the whole tensor, or with an origin a part of it}}
  %0 = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8>} : tensor<i64>, tensor<i64> -> tensor<4xf32>
  return
}

// -----
func.func @f(%a: tensor<8x4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.offload"(%a) : (tensor<8x4xf32>) -> tensor<4x8xf32>
  return
}
