// RUN: cleave-opt %s -shift-random-origins="micro-batches=2" -verify-diagnostics
// RUN: cleave-opt %s -shift-random-origins="micro-batches=2" 2>/dev/null | FileCheck %s

// Every second sample: no run of all samples is cut, so that it is not known which number is whose.
cleave.state @seed : tensor<i64> {role = #cleave.role<scalar>, segments = [#cleave.segment<"seed", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @model(%x: tensor<4x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> tensor<f32> {
  %seed = cleave.read @seed : tensor<i64>
  %two = cleave.concat %x, %x dim = 0 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<8x2xf32>
  // Both halves have all samples: [half, micro-batch, sample].
  // CHECK: cleave.random_uniform {{.*}} {global_shape = array<i64: 2, 8, 2>
  %joined = cleave.random_uniform %seed, %seed {global_shape = array<i64: 8, 2>, site = 0 : i64} : tensor<i64>, tensor<i64> -> tensor<8x2xf32>
  %a = cleave.mul %two, %joined : tensor<8x2xf32>
  %half = cleave.slice %a, [0, 0], [4, 2], [2, 1] : tensor<8x2xf32> -> tensor<4x2xf32>
  // expected-remark @+1 {{other numbers are drawn here if a step has another number of ranks or micro-batches}}
  %unknown = cleave.random_uniform %seed, %seed {global_shape = array<i64: 4, 2>, site = 1 : i64} : tensor<i64>, tensor<i64> -> tensor<4x2xf32>
  %b = cleave.mul %half, %unknown : tensor<4x2xf32>
  %s = cleave.reduce sum %b, [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %s : tensor<f32>
}
