// RUN: cleave-opt %s -split-input-file -verify-kernels -verify-diagnostics

shard.grid @mesh(shape = 2)
func.func @good(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<8xf32> {
  %0 = cleave.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %1 = cleave.reshape %0 : tensor<2x4xf32> -> tensor<8xf32>
  %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<8xf32> -> tensor<8xf32>
  %3 = cleave.kernel ins(%2 : tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %4 = cleave.exp %a : tensor<8xf32>
    cleave.yield %4 : tensor<8xf32>
  }
  return %3 : tensor<8xf32>
}

// -----

shard.grid @mesh(shape = 2)
func.func @bad(%x: tensor<2x3xf32>) {
  // expected-error @below {{is fusible and must be inside a cleave.kernel}}
  %0 = cleave.exp %x : tensor<2x3xf32>
  // expected-error @below {{is composite and must be decomposed first}}
  %1 = cleave.softmax %x, dim = 0 : tensor<2x3xf32>
  // expected-note @below {{the first op of this instance}}
  %2 = shard.all_reduce %x on @mesh grid_axes = [0] {cleave.instance = 3 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  // expected-error @below {{expects a cleave.instance of its own; got: 3 twice}}
  %3 = shard.all_reduce %x on @mesh grid_axes = [0] {cleave.instance = 3 : i64} : tensor<2x3xf32> -> tensor<2x3xf32>
  // expected-error @below {{expects cleave.instance, a number of its own; got: none}}
  %4 = shard.all_reduce %x on @mesh grid_axes = [0] : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = cleave.kernel ins(%x : tensor<2x3xf32>) -> tensor<3xi64> {
  ^bb0(%a: tensor<2x3xf32>):
    // expected-error @below {{is neither fusible nor a view and must not be inside a cleave.kernel}}
    %6 = cleave.argmax %a, dim = 0 : tensor<2x3xf32> -> tensor<3xi64>
    cleave.yield %6 : tensor<3xi64>
  }
  // expected-error @below {{has no way to be computed; expects kernels, views, state and collectives only}}
  // expected-error @below {{is not an op of the cleave or shard dialect and must not be here}}
  %7 = arith.constant 0 : i64
  return
}

// -----

// expected-error @below {{as cleave.batch_dim of argument 0; got: 1}}
func.func @main(%x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64}) {
  return
}

// -----

// Kernels of one label share code, so they are equal, but for marks. What differs here is a number in the body.
func.func @labels(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // expected-note @below {{the first kernel of this label}}
  %0 = cleave.kernel ins(%x : tensor<4xf32>) -> tensor<4xf32> attributes {label = "k0"} {
  ^bb0(%a: tensor<4xf32>):
    %c = cleave.constant dense<1.0e-5> : tensor<4xf32>
    %1 = cleave.add %a, %c : tensor<4xf32>
    cleave.yield %1 : tensor<4xf32>
  }
  %2 = cleave.kernel ins(%x : tensor<4xf32>) -> tensor<4xf32> attributes {cleave.block = 1 : i64, label = "k0"} {
  ^bb0(%a: tensor<4xf32>):
    %c = cleave.constant dense<1.0e-5> : tensor<4xf32>
    %1 = cleave.add %a, %c : tensor<4xf32>
    cleave.yield %1 : tensor<4xf32>
  }
  // expected-error @below {{expects to be equal to all kernels of its label, which share code; got: another kernel of label 'k0'}}
  %3 = cleave.kernel ins(%x : tensor<4xf32>) -> tensor<4xf32> attributes {label = "k0"} {
  ^bb0(%a: tensor<4xf32>):
    %c = cleave.constant dense<1.0e-6> : tensor<4xf32>
    %1 = cleave.add %a, %c : tensor<4xf32>
    cleave.yield %1 : tensor<4xf32>
  }
  return %0, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
