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
