// RUN: cleave-opt %s -split-input-file -split-loss="loss-average=rank data-ranks=2" -verify-diagnostics | FileCheck %s

// One entry a rank: its part of the batch.
// CHECK-LABEL: func @model
// CHECK-SAME: -> (tensor<2xf32> {cleave.loss_sum}, tensor<2xf32> {cleave.loss_count})
// CHECK: %[[R:.*]] = cleave.reshape %arg0 : tensor<4x3xf32> -> tensor<2x2x3xf32>
// CHECK: cleave.reduce sum %[[R]], [1, 2]
// CHECK: cleave.constant dense<6.000000e+00> : tensor<2xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<4x3xf32>, tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %s = cleave.reduce sum %x, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %x, %l : tensor<4x3xf32>, tensor<f32>
}

// -----

func.func @model(%x: tensor<3xf32>) -> (tensor<f32> {cleave.loss}) {
  // expected-error @+1 {{dimension 0 of the summed tensor does not divide by 2 data ranks}}
  %s = cleave.reduce sum %x, [0] : tensor<3xf32> -> tensor<f32>
  return %s : tensor<f32>
}
