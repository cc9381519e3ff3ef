// RUN: cleave-opt %s -split-input-file -split-loss="micro-batches=3" -verify-diagnostics | FileCheck %s

// What does not add up over batches is no count.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce max %m, [0] : tensor<8xf32> -> tensor<f32>
  // expected-remark @+1 {{depends on that number: it needs several samples together}}
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
  // expected-remark @+1 {{depends on that number: it needs several samples together}}
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
  // expected-remark @+1 {{depends on that number: it needs several samples together}}
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

// -----

// A cast that cuts makes another number of the count.
// CHECK-LABEL: func @model
// CHECK: %[[L:.*]] = cleave.div %{{.*}}, %{{.*}} : tensor<f32>
// CHECK: %[[T:.*]] = cleave.mul %[[L]], %{{.*}} : tensor<f32>
// CHECK: return %[[T]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %g = cleave.max %a, %one : tensor<f32>
  %i = cleave.cast %g : tensor<f32> -> tensor<i32>
  %n = cleave.cast %i : tensor<i32> -> tensor<f32>
  // expected-remark @+1 {{averaged over batches of 8 samples, and depends on that number}}
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// So does one to a truth value.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %g = cleave.max %a, %one : tensor<f32>
  %i = cleave.cast %g : tensor<f32> -> tensor<i1>
  %n = cleave.cast %i : tensor<i1> -> tensor<f32>
  // expected-remark @+1 {{averaged over batches of 8 samples, and depends on that number}}
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// An integer that is cast to a float stays the number that it is.
// CHECK-LABEL: module attributes {cleave.loss_guards = [{kind = 0 : i64, number = 1.000000e+00 : f64
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[A:.*]] = cleave.reduce sum %arg1
// CHECK: cleave.div
// CHECK: %[[N:.*]] = cleave.cast %[[A]]
// CHECK: return %[[S]], %[[N]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xi64> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xi64> -> tensor<i64>
  %n = cleave.cast %a : tensor<i64> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %g = cleave.max %n, %one : tensor<f32>
  %l = cleave.div %s, %g : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Divided by the count before the sum: the count is one all the same.
// CHECK-LABEL: func @model
// CHECK: %[[N:.*]] = cleave.reduce sum %arg1
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: return %[[S]], %[[N]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %b = cleave.broadcast %n, [] : tensor<f32> -> tensor<8xf32>
  %d = cleave.div %q, %b : tensor<8xf32>
  %l = cleave.reduce sum %d, [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Weights that are divided by their sum shrink as the batch grows: a mean of the micro-batches' losses, as the remark says, and not their sum.
// CHECK-LABEL: func @model
// CHECK: %[[P:.*]] = cleave.mul %arg0
// CHECK: %[[L:.*]] = cleave.reduce sum %[[P]], [0] : tensor<8xf32> -> tensor<f32>
// CHECK: %[[B:.*]] = cleave.constant dense<8.000000e+00>
// CHECK: %[[T:.*]] = cleave.mul %[[L]], %[[B]]
// CHECK: %[[C:.*]] = cleave.constant dense<8.000000e+00>
// CHECK: return %[[T]], %[[C]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %b = cleave.broadcast %n, [] : tensor<f32> -> tensor<8xf32>
  %w = cleave.div %m, %b : tensor<8xf32>
  %d = cleave.mul %q, %w : tensor<8xf32>
  // expected-remark @+1 {{averaged over batches of 8 samples, and depends on that number}}
  %l = cleave.reduce sum %d, [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// An eighth of a count of eight samples looks like a mean. Where the model was read with two batches, it is known to be a sum, and its guard
// is that of the step.
// CHECK-LABEL: module attributes {cleave.loss_guards = [{kind = 0 : i64, number = 1.000000e+00 : f64
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["mean/sum"]}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %eighth = cleave.constant dense<0.125> : tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.mul %a, %eighth : tensor<f32>
  %g = cleave.max %n, %one : tensor<f32>
  %l = cleave.div %s, %g : tensor<f32>
  return %l : tensor<f32>
}

// -----

// The same as a mean: the sum of three of them is three times as large.
// CHECK-LABEL: module attributes {cleave.loss_guards = [{kind = 0 : i64, number = 3.000000e+00 : f64
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["mean/mean"]}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %a = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %eighth = cleave.constant dense<0.125> : tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %n = cleave.mul %a, %eighth : tensor<f32>
  %g = cleave.max %n, %one : tensor<f32>
  %l = cleave.div %s, %g : tensor<f32>
  return %l : tensor<f32>
}

// -----

// 1 - m is a number of each sample, so its sum is a count. It is not 8 minus a count.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[K:.*]] = cleave.sub
// CHECK: %[[N:.*]] = cleave.reduce sum %[[K]]
// CHECK: return %[[S]], %[[N]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<8xf32>
  %k = cleave.sub %one, %m : tensor<8xf32>
  %n = cleave.reduce sum %k, [0] : tensor<8xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}
