// RUN: cleave-opt %s -training-pipeline="optimizer=sgd micro-batches=2" -verify-step | FileCheck %s

// Dropout with micro-batches counts them in the scalar block, and that is a step like any other.
// CHECK: cleave.state @scalar.micro : tensor<i64>
// The first micro-batch begins at zero; the second reads what the first has counted.
// CHECK-LABEL: func @c0.fwd.first
// CHECK-NOT: cleave.read @scalar.micro
// CHECK: cleave.write %{{.*}}, @scalar.micro
// CHECK-LABEL: func @c0.fwd(
// CHECK: cleave.read @scalar.micro
module attributes {cleave.mesh = #cleave.mesh<["dp"], [1]>} {
cleave.state @w : tensor<8x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<8x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @scalar.seed : tensor<i64> {role = #cleave.role<scalar>, segments = [
  #cleave.segment<"scalar.seed", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @scalar.step : tensor<i64> {role = #cleave.role<scalar>, segments = [
  #cleave.segment<"scalar.step", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @model(%x: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
  %seed = cleave.read @scalar.seed : tensor<i64>
  %step = cleave.read @scalar.step : tensor<i64>
  %w = cleave.read @w : tensor<8x3xf32>
  %y = cleave.matmul %x, %w : tensor<4x8xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 3>} : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  %half = cleave.constant dense<0.5> : tensor<4x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<4x3xf32>
  %kept = cleave.compare ge %u, %half : tensor<4x3xf32>
  %dropped = cleave.select %kept, %y, %zero : tensor<4x3xi1>, tensor<4x3xf32>
  %loss = cleave.reduce sum %dropped, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
}
