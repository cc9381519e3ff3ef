// RUN: cleave-opt %s -split-input-file -differentiate | FileCheck %s

// Parameters of f32 and a product of fp16, as automatic mixed precision exports them: its gradient is of fp16.
// CHECK: cleave.state @scalar.loss_scale
// CHECK-LABEL: func @c0
cleave.state @w : tensor<3x2xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<3x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<6x3xf16> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<3x2xf32>
  %h = cleave.cast %w : tensor<3x2xf32> -> tensor<3x2xf16>
  %y = cleave.matmul %x, %h : tensor<6x3xf16>, tensor<3x2xf16> -> tensor<6x2xf16>
  %z = cleave.cast %y : tensor<6x2xf16> -> tensor<6x2xf32>
  %sum = cleave.reduce sum %z, [0, 1] : tensor<6x2xf32> -> tensor<f32>
  %count = cleave.constant dense<12.0> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}

// -----

// Inputs of fp16, which have no gradient.
// CHECK: {{-----}}
// CHECK-NOT: scalar.loss_scale
cleave.state @w : tensor<3x2xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<3x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%h: tensor<6x3xf16> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<3x2xf32>
  %x = cleave.cast %h : tensor<6x3xf16> -> tensor<6x3xf32>
  %y = cleave.matmul %x, %w : tensor<6x3xf32>, tensor<3x2xf32> -> tensor<6x2xf32>
  %sum = cleave.reduce sum %y, [0, 1] : tensor<6x2xf32> -> tensor<f32>
  %count = cleave.constant dense<12.0> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
