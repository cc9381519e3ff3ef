// RUN: cleave-opt %s -split-input-file -split-loss="loss-average=rank data-ranks=2" -verify-diagnostics | FileCheck %s

// One entry a rank: its part of the batch.
// CHECK-LABEL: func @model
// CHECK-SAME: -> (tensor<2xf32> {cleave.loss_sum}, tensor<2xf32> {cleave.loss_count})
// CHECK: %[[R:.*]] = cleave.reshape %arg0 : tensor<4x3xf32> -> tensor<1x2x2x1x3xf32>
// CHECK: cleave.reduce sum %[[R]], [0, 2, 3, 4]
// CHECK: cleave.constant dense<6.000000e+00> : tensor<2xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<4x3xf32>, tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %s = cleave.reduce sum %x, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %x, %l : tensor<4x3xf32>, tensor<f32>
}

// -----

func.func @model(%x: tensor<3xf32>) -> (tensor<f32> {cleave.loss}) {
  // expected-error @+1 {{the loss cannot be averaged per rank: 3 samples do not divide by 2 data ranks}}
  %s = cleave.reduce sum %x, [0] : tensor<3xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// The samples are cut wherever they lie: here in dimension 1.
// CHECK-LABEL: func @model
// CHECK: %[[T:.*]] = cleave.transpose %arg0
// CHECK: %[[R:.*]] = cleave.reshape %[[T]] : tensor<3x4xf32> -> tensor<3x1x2x2x1xf32>
// CHECK: cleave.reduce sum %[[R]], [0, 1, 3, 4] : tensor<3x1x2x2x1xf32> -> tensor<2xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %t = cleave.transpose %x, [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %s = cleave.reduce sum %t, [0, 1] : tensor<3x4xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Flattened behind three features: dimension 0 divides by the ranks, and its halves are not their samples.
// CHECK-LABEL: func @model
// CHECK: %[[F:.*]] = cleave.reshape %{{.*}} : tensor<3x4xf32> -> tensor<12xf32>
// CHECK: %[[R:.*]] = cleave.reshape %[[F]] : tensor<12xf32> -> tensor<3x2x2x1xf32>
// CHECK: cleave.reduce sum %[[R]], [0, 2, 3] : tensor<3x2x2x1xf32> -> tensor<2xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %t = cleave.transpose %x, [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %r = cleave.reshape %t : tensor<3x4xf32> -> tensor<12xf32>
  %s = cleave.reduce sum %r, [0] : tensor<12xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Flattened before three features.
// CHECK-LABEL: func @model
// CHECK: cleave.reshape %{{.*}} : tensor<12xf32> -> tensor<1x2x2x3xf32>
// CHECK: cleave.reduce sum %{{.*}}, [0, 2, 3] : tensor<1x2x2x3xf32> -> tensor<2xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.constant dense<12.0> : tensor<f32>
  %r = cleave.reshape %x : tensor<4x3xf32> -> tensor<12xf32>
  %s = cleave.reduce sum %r, [0] : tensor<12xf32> -> tensor<f32>
  %l = cleave.div %s, %n : tensor<f32>
  return %l : tensor<f32>
}

// -----

// Divided by the count of all samples before they are summed.
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %b = cleave.broadcast %n, [] : tensor<f32> -> tensor<8xf32>
  %d = cleave.div %q, %b : tensor<8xf32>
  // expected-error @+1 {{the loss cannot be averaged per rank}}
  %l = cleave.reduce sum %d, [0] : tensor<8xf32> -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Each summand is made of several samples.
func.func @model(%q: tensor<8x3xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %p = cleave.softmax %q, dim = 0 : tensor<8x3xf32>
  %r = cleave.mul %p, %q : tensor<8x3xf32>
  // expected-error @+1 {{the loss cannot be averaged per rank: it needs several samples together}}
  %l = cleave.reduce sum %r, [0, 1] : tensor<8x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
