// RUN: cleave-opt %s -split-input-file -split-loss="micro-batches=3" | FileCheck %s

// What the division of a whole evaluation needs stands on the module: the host adds up the batches' counts, and the guard acts on their sum once.
// CHECK: module attributes {cleave.evaluation = {divisor = "plus 1"}, cleave.loss_guards
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.add %a, %one : tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}
func.func @model.eval(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.add %a, %one : tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// A count that is a mean, at least a half, and replaced where it is not positive.
// CHECK: module attributes {cleave.evaluation = {count = "mean", divisor = "at-least 0.5,where le 0 then 1"}}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<8.0> : tensor<f32>
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}
func.func @model.eval(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %eight = cleave.constant dense<8.0> : tensor<f32>
  %half = cleave.constant dense<0.5> : tensor<f32>
  %zero = cleave.constant dense<0.0> : tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %mean = cleave.div %a, %eight : tensor<f32>
  %low = cleave.max %mean, %half : tensor<f32>
  %is = cleave.compare gt %low, %zero : tensor<f32>
  %n = cleave.select %is, %low, %one : tensor<i1>, tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// A mean of all samples whose loss is no sum over them has no value for a part of a batch.
// CHECK: module attributes {cleave.evaluation = {batches = "whole"}}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %l = cleave.reduce max %q, [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}
func.func @model.eval(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %l = cleave.reduce max %q, [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// What is added to the sum is added by each batch, and the guard acts once: each batch is divided by its own count.
// CHECK: module attributes {cleave.evaluation = {batches = "whole"}
// CHECK: func.func @model.eval
// CHECK: cleave.div
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.add %a, %one : tensor<f32>
  %t = cleave.add %s, %one : tensor<f32>
  %l = cleave.div %t, %n : tensor<f32>
  return %l : tensor<f32>
}
func.func @model.eval(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.add %a, %one : tensor<f32>
  %t = cleave.add %s, %one : tensor<f32>
  %l = cleave.div %t, %n : tensor<f32>
  return %l : tensor<f32>
}
