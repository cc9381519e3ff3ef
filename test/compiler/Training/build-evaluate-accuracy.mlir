// RUN: cleave-opt %s -split-input-file -build-evaluate 2>&1 | FileCheck %s

// The label's entry is picked where the class is the label, whichever op picks it: what a selection keeps elsewhere, or a product with the mask.
// CHECK-LABEL: func.func @evaluate
// CHECK: cleave.argmax %{{.*}}, dim = 1
// CHECK: cleave.write %{{.*}}, @scalar.eval_predictions
func.func @model.eval(%x: tensor<4x10xf32>, %y: tensor<4xi64>) -> (tensor<f32> {cleave.loss_sum}, tensor<f32>) {
  %zero = cleave.constant dense<0.0> : tensor<4x10xf32>
  %n = cleave.constant dense<4.0> : tensor<f32>
  %l = cleave.log_softmax %x, dim = 1 : tensor<4x10xf32>
  %c = cleave.iota dim = 1 : tensor<4x10xi64>
  %b = cleave.broadcast %y, [0] : tensor<4xi64> -> tensor<4x10xi64>
  %miss = cleave.compare ne %c, %b : tensor<4x10xi64>
  %picked = cleave.select %miss, %zero, %l : tensor<4x10xi1>, tensor<4x10xf32>
  %minus = cleave.neg %picked : tensor<4x10xf32>
  %s = cleave.reduce sum %minus, [0, 1] : tensor<4x10xf32> -> tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @evaluate
// CHECK: cleave.write %{{.*}}, @scalar.eval_predictions
func.func @model.eval(%x: tensor<4x10xf32>, %y: tensor<4xi64>) -> (tensor<f32> {cleave.loss_sum}, tensor<f32>) {
  %n = cleave.constant dense<4.0> : tensor<f32>
  %l = cleave.log_softmax %x, dim = 1 : tensor<4x10xf32>
  %minus = cleave.neg %l : tensor<4x10xf32>
  %c = cleave.iota dim = 1 : tensor<4x10xi64>
  %b = cleave.broadcast %y, [0] : tensor<4xi64> -> tensor<4x10xi64>
  %hit = cleave.compare eq %b, %c : tensor<4x10xi64>
  %mask = cleave.cast %hit : tensor<4x10xi1> -> tensor<4x10xf32>
  %picked = cleave.mul %mask, %minus : tensor<4x10xf32>
  %s = cleave.reduce sum %picked, [0, 1] : tensor<4x10xf32> -> tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// -----

// The scores of all classes but the label's: no cross-entropy.
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: scalar.eval_predictions
func.func @model.eval(%x: tensor<4x10xf32>, %y: tensor<4xi64>) -> (tensor<f32> {cleave.loss_sum}, tensor<f32>) {
  %zero = cleave.constant dense<0.0> : tensor<4x10xf32>
  %n = cleave.constant dense<4.0> : tensor<f32>
  %l = cleave.log_softmax %x, dim = 1 : tensor<4x10xf32>
  %c = cleave.iota dim = 1 : tensor<4x10xi64>
  %b = cleave.broadcast %y, [0] : tensor<4xi64> -> tensor<4x10xi64>
  %hit = cleave.compare eq %c, %b : tensor<4x10xi64>
  %others = cleave.select %hit, %zero, %l : tensor<4x10xi1>, tensor<4x10xf32>
  %s = cleave.reduce sum %others, [0, 1] : tensor<4x10xf32> -> tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// -----

// Divided by the mask, which is infinite where the class is not the label.
// CHECK-LABEL: func.func @evaluate
// CHECK-NOT: scalar.eval_predictions
func.func @model.eval(%x: tensor<4x10xf32>, %y: tensor<4xi64>) -> (tensor<f32> {cleave.loss_sum}, tensor<f32>) {
  %n = cleave.constant dense<4.0> : tensor<f32>
  %l = cleave.log_softmax %x, dim = 1 : tensor<4x10xf32>
  %c = cleave.iota dim = 1 : tensor<4x10xi64>
  %b = cleave.broadcast %y, [0] : tensor<4xi64> -> tensor<4x10xi64>
  %hit = cleave.compare eq %c, %b : tensor<4x10xi64>
  %mask = cleave.cast %hit : tensor<4x10xi1> -> tensor<4x10xf32>
  %quotient = cleave.div %l, %mask : tensor<4x10xf32>
  %s = cleave.reduce sum %quotient, [0, 1] : tensor<4x10xf32> -> tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}
