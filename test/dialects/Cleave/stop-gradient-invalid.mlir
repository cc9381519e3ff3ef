// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @of_integers(%x: tensor<2xi64>) {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of floating-point values, but got 'tensor<2xi64>'}}
  %0 = "cleave.stop_gradient"(%x) : (tensor<2xi64>) -> tensor<2xi64>
  return
}
