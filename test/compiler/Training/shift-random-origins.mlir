// RUN: cleave-opt %s -split-input-file -shift-random-origins="micro-batches=2" | FileCheck %s
// RUN: cleave-opt %s -split-input-file -shift-random-origins | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s -split-input-file -shift-random-origins="micro-batches=2 data-ranks=2" | FileCheck %s --check-prefix=RANKS

// Samples first.
// CHECK: cleave.state @scalar.micro : tensor<i64>
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: %[[M:.*]] = cleave.read @scalar.micro
// CHECK: %[[ROWS:.*]] = cleave.constant dense<4> : tensor<i64>
// CHECK: cleave.mul %[[M]], %[[ROWS]]
// CHECK: cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 8, 3>
// CHECK: cleave.write %{{.*}}, @scalar.micro
// The second rank's samples begin behind both micro-batches of the first.
// RANKS: %[[ROWS:.*]] = cleave.constant dense<2> : tensor<i64>
// RANKS: %[[FIRST:.*]] = cleave.mul %{{.*}}, %[[ROWS]]
// RANKS: %[[U:.*]] = cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 2, 4, 3>
// RANKS: cleave.reshape %[[U]] : tensor<2x2x3xf32> -> tensor<4x3xf32>
// ONE-NOT: origin
// ONE-NOT: scalar.micro
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x3xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 3>} : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  %r = cleave.mul %x, %u : tensor<4x3xf32>
  return %r : tensor<4x3xf32>
}

// -----

// Samples second, behind a transpose; the numbers reach them through a mask.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 3, 8>
// RANKS: %[[U:.*]] = cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 3, 2, 4>
// RANKS: cleave.reshape %[[U]] : tensor<3x2x2xf32> -> tensor<3x4xf32>
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<3x4xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 3, 4>} : tensor<i64>, tensor<i64> -> tensor<3x4xf32>
  %half = cleave.constant dense<0.5> : tensor<3x4xf32>
  %kept = cleave.compare ge %u, %half : tensor<3x4xf32>
  %t = cleave.transpose %x, [1, 0] : tensor<4x3xf32> -> tensor<3x4xf32>
  %r = cleave.select %kept, %t, %half : tensor<3x4xi1>, tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// Sequence and samples in one dimension.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 3, 8>
// CHECK: cleave.reshape %{{.*}} : tensor<3x4xf32> -> tensor<12xf32>
// RANKS: cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 3, 2, 4>
func.func @model(%x: tensor<3x4xf32> {cleave.batch_dim = 1 : i64}, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<12xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 12>} : tensor<i64>, tensor<i64> -> tensor<12xf32>
  %f = cleave.reshape %x : tensor<3x4xf32> -> tensor<12xf32>
  %r = cleave.mul %f, %u : tensor<12xf32>
  return %r : tensor<12xf32>
}

// -----

// One sample, in a dimension of size 1 that a reshape moves.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg1, %arg2 origin %{{.*}} {global_shape = array<i64: 2, 2, 3>
func.func @model(%x: tensor<1x6xf32> {cleave.batch_dim = 0 : i64}, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<2x1x3xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 2, 1, 3>} : tensor<i64>, tensor<i64> -> tensor<2x1x3xf32>
  %f = cleave.reshape %x : tensor<1x6xf32> -> tensor<1x2x3xf32>
  %t = cleave.transpose %f, [1, 0, 2] : tensor<1x2x3xf32> -> tensor<2x1x3xf32>
  %r = cleave.mul %t, %u : tensor<2x1x3xf32>
  return %r : tensor<2x1x3xf32>
}

// -----

// Latent vectors that only meet weights in a product: no sample reaches them, but each sample has one.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg2, %arg3 origin %{{.*}} {global_shape = array<i64: 8, 3>
// RANKS: cleave.random_uniform %arg2, %arg3 origin %{{.*}} {global_shape = array<i64: 2, 4, 3>
func.func @model(%x: tensor<4x5xf32> {cleave.batch_dim = 0 : i64}, %w: tensor<3x2xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x2xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 3>} : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  %r = cleave.matmul %u, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  return %r : tensor<4x2xf32>
}

// -----

// A dropout of weights: the same numbers for all samples.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg2, %arg3 {global_shape = array<i64: 3, 4>
// CHECK-NOT: scalar.micro
func.func @model(%x: tensor<4x3xf32> {cleave.batch_dim = 0 : i64}, %w: tensor<3x4xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x4xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 3, 4>} : tensor<i64>, tensor<i64> -> tensor<3x4xf32>
  %d = cleave.mul %w, %u : tensor<3x4xf32>
  %r = cleave.matmul %x, %d : tensor<4x3xf32>, tensor<3x4xf32> -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

// A dropout of weights with as many rows as a batch, which are scaled first.
// CHECK-LABEL: func @model
// RANKS-LABEL: func @model
// CHECK: cleave.random_uniform %arg2, %arg3 {global_shape = array<i64: 4, 3>
// CHECK-NOT: scalar.micro
func.func @model(%x: tensor<2x4xf32> {cleave.batch_dim = 0 : i64}, %w: tensor<4x3xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<2x3xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 3>} : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  %two = cleave.constant dense<2.0> : tensor<4x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<4x3xf32>
  %half = cleave.constant dense<0.5> : tensor<4x3xf32>
  %kept = cleave.compare ge %u, %half : tensor<4x3xf32>
  %scaled = cleave.mul %w, %two : tensor<4x3xf32>
  %d = cleave.select %kept, %scaled, %zero : tensor<4x3xi1>, tensor<4x3xf32>
  %r = cleave.matmul %x, %d : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
