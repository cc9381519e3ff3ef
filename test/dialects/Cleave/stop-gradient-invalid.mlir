// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @of_integers(%x: tensor<2xi64>) {
  // constraint: cleave.stop_gradient: The operand and the result have the same floating
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<2xi64>'}}
  %0 = "cleave.stop_gradient"(%x) : (tensor<2xi64>) -> tensor<2xi64>
  return
}

// -----

func.func @shape(%x: tensor<4xf32>) {
  // constraint: cleave.stop_gradient: The operand and the result have the same floating
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.stop_gradient"(%x) : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.stop_gradient"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @integers(%x: tensor<4xi64>) {
  // constraint: cleave.stop_gradient: The operand and the result have the same floating
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.stop_gradient"(%x) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @number(%x: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.stop_gradient"(%x) : (f32) -> f32
  return
}
