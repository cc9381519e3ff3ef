// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels))' -verify-diagnostics

func.func @composite(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // expected-error @+1 {{form-kernels comes after decompose-composites; got: cleave.softmax}}
  %0 = cleave.softmax %x, dim = 1 : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
