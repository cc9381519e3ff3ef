// RUN: cleave-opt %s -split-input-file -split-loss="micro-batches=3" -verify-diagnostics | FileCheck %s

// What does not add up over batches is no count.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce max %m, [0] : tensor<8xf32> -> tensor<f32>
  // expected-remark @+1 {{depends on that number: it is not a sum over samples}}
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: func @model
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %b = cleave.broadcast %a, [] : tensor<f32> -> tensor<8xf32>
  %c = cleave.sub %m, %b : tensor<8xf32>
  %d = cleave.mul %c, %c : tensor<8xf32>
  %n = cleave.reduce sum %d, [0] : tensor<8xf32> -> tensor<f32>
  // expected-remark @+1 {{depends on that number: it is not a sum over samples}}
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// A clamped count is one, and is clamped when the counts of all micro-batches are added up.
// CHECK-LABEL: module attributes {cleave.loss_guards = [{kind = 0 : i64, number = 1.000000e+00 : f64
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[N:.*]] = cleave.reduce sum %arg1
// CHECK: return %[[S]], %[[N]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.max %a, %one : tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// A sum divided by a mean is a sum.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[N:.*]] = cleave.mul
// CHECK: %[[THREE:.*]] = cleave.constant dense<3.000000e+00>
// CHECK: %[[T:.*]] = cleave.mul %[[S]], %[[THREE]]
// CHECK: return %[[T]], %[[N]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %eighth = cleave.constant dense<0.125> : tensor<f32>
  %n = cleave.mul %a, %eighth : tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// The samples are not summed one by one.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %p = cleave.softmax %q, dim = 0 : tensor<8x3xf32>
  %r = cleave.mul %p, %q : tensor<8x3xf32>
  // expected-remark @+1 {{depends on that number: it is a sum of what is made of several samples together}}
  %l = cleave.reduce sum %r, [0, 1] : tensor<8x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Here they are.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %p = cleave.softmax %q, dim = 1 : tensor<8x3xf32>
  %r = cleave.mul %p, %q : tensor<8x3xf32>
  %l = cleave.reduce sum %r, [0, 1] : tensor<8x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
