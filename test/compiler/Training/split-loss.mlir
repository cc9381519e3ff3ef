// RUN: cleave-opt %s -split-input-file -split-loss -verify-diagnostics | FileCheck %s

// A mean over a constant number of elements: the division is undone.
// CHECK-LABEL: func @model
// CHECK-SAME: -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count})
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0, [0, 1]
// CHECK: cleave.div
// CHECK: %[[N:.*]] = cleave.constant dense<1.200000e+01>
// CHECK: return %[[S]], %[[N]]
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<4x3xf32>, tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %s = cleave.reduce sum %x, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %x, %l : tensor<4x3xf32>, tensor<f32>
}

// -----

// Through a negation and a counted divisor.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[C:.*]] = cleave.reduce sum %arg1
// CHECK: %[[NEG:.*]] = cleave.neg %[[S]]
// CHECK: return %[[NEG]], %[[C]]
func.func @model(%x: tensor<4xf32>, %m: tensor<4xf32>) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %x, [0] : tensor<4xf32> -> tensor<f32>
  %c = cleave.reduce sum %m, [0] : tensor<4xf32> -> tensor<f32>
  %d = cleave.div %s, %c : tensor<f32>
  %l = cleave.neg %d : tensor<f32>
  return %l : tensor<f32>
}

// -----

// What is no sum over samples is counted as a whole.
// CHECK-LABEL: func @model
// CHECK: %[[L:.*]] = cleave.add
// CHECK: %[[B:.*]] = cleave.constant dense<4.000000e+00>
// CHECK: %[[S:.*]] = cleave.mul %[[L]], %[[B]]
func.func @model(%x: tensor<4xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %x, [0] : tensor<4xf32> -> tensor<f32>
  %t = cleave.reduce max %x, [0] : tensor<4xf32> -> tensor<f32>
  // expected-remark @+1 {{the loss is averaged over batches of 4 samples, and depends on that number: a term of it needs several samples together}}
  %l = cleave.add %s, %t : tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{no result of @model carries 'cleave.loss'}}
func.func @model(%x: tensor<f32>) -> tensor<f32> {
  return %x : tensor<f32>
}
