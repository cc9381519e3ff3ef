// RUN: cleave-opt %s -verify-diagnostics -shift-random-origins="micro-batches=2"

// An op with numbers of its own would draw the same ones in every micro-batch.
func.func @model(%x: tensor<4xi64> {cleave.batch_dim = 0 : i64}, %s: tensor<i64>) -> tensor<4xf32> {
  // expected-error @below {{'cleave.random_uniform_at' op draws numbers whose origin can no longer be shifted; expected shift-random-origins to run before the pass that makes this operation}}
  %u = cleave.random_uniform_at %s, %s, %x : tensor<i64>, tensor<i64>, tensor<4xi64> -> tensor<4xf32>
  return %u : tensor<4xf32>
}
