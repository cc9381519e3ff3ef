// RUN: cleave-opt %s -split-input-file -find-blocks | FileCheck %s
// RUN: cleave-opt %s -split-input-file -split-loss -differentiate -canonicalize -cse -find-blocks | FileCheck %s --check-prefix=JOINT

// Two residual blocks on a table that is read at both ends, with a dropout and a scale that both share. What differs is which
// parameters are read and which random numbers are made; neither counts.
// CHECK: module attributes {cleave.blocks = 2 : i64}
// CHECK: cleave.state @table
// CHECK-NOT: cleave.block
// CHECK: cleave.state @w0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @v0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @w1 : tensor<8x8xf32> {cleave.block = 1 : i64
// CHECK: cleave.state @v1 : tensor<8x8xf32> {cleave.block = 1 : i64
// CHECK: cleave.state @scale
// CHECK-NOT: cleave.block
// CHECK-LABEL: func.func @model
// CHECK: cleave.read @table :
// CHECK: cleave.take %{{[0-9]+}}, %{{[a-z0-9]+}}, dim = 0 :
// CHECK: cleave.read @w0 {cleave.block = 0
// CHECK: cleave.matmul {{.*}}cleave.block = 0
// CHECK: cleave.random_uniform {{.*}}cleave.block = 0
// CHECK: cleave.matmul {{.*}}cleave.block = 0
// CHECK: cleave.add {{.*}}cleave.block = 0
// CHECK: cleave.matmul {{.*}}cleave.block = 1
// CHECK: cleave.random_uniform {{.*}}cleave.block = 1
// CHECK: cleave.matmul {{.*}}cleave.block = 1
// CHECK: cleave.add {{.*}}cleave.block = 1
// CHECK-NOT: cleave.block
// CHECK: return
// JOINT: module attributes {cleave.blocks = 2 : i64}
// JOINT: cleave.state @w0 : tensor<8x8xf32> {cleave.block = 0 : i64
// JOINT: cleave.state @v1 : tensor<8x8xf32> {cleave.block = 1 : i64
// The backward pass has no blocks.
// JOINT-LABEL: func.func @c0
// JOINT: cleave.add {{.*}}cleave.block = 1
// JOINT-NOT: cleave.block
// JOINT: return
cleave.state @table : tensor<16x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"table", tensor<16x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w0 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v0 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @scale : tensor<8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"scale", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @scalar.seed : tensor<i64> {role = #cleave.role<scalar>, segments = [
  #cleave.segment<"scalar.seed", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @scalar.step : tensor<i64> {role = #cleave.role<scalar>, segments = [
  #cleave.segment<"scalar.step", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @model(%tokens: tensor<4xi64> {cleave.name = "tokens", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
  %seed = cleave.read @scalar.seed : tensor<i64>
  %step = cleave.read @scalar.step : tensor<i64>
  %table = cleave.read @table : tensor<16x8xf32>
  %scale = cleave.read @scale : tensor<8xf32>
  %s = cleave.broadcast %scale, [1] : tensor<8xf32> -> tensor<4x8xf32>
  %zero = cleave.constant dense<0.0> : tensor<4x8xf32>
  %half = cleave.constant dense<0.5> : tensor<4x8xf32>
  %x = cleave.take %table, %tokens, dim = 0 : tensor<16x8xf32>, tensor<4xi64> -> tensor<4x8xf32>

  %w0 = cleave.read @w0 : tensor<8x8xf32>
  %v0 = cleave.read @v0 : tensor<8x8xf32>
  %a0 = cleave.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b0 = cleave.mul %s, %a0 : tensor<4x8xf32>
  %u0 = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 8>} : tensor<i64>, tensor<i64> -> tensor<4x8xf32>
  %k0 = cleave.compare ge %u0, %half : tensor<4x8xf32>
  %c0 = cleave.select %k0, %b0, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %d0 = cleave.matmul %c0, %v0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x0 = cleave.add %x, %d0 : tensor<4x8xf32>

  %w1 = cleave.read @w1 : tensor<8x8xf32>
  %v1 = cleave.read @v1 : tensor<8x8xf32>
  %a1 = cleave.matmul %x0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b1 = cleave.mul %a1, %s : tensor<4x8xf32>
  %u1 = cleave.random_uniform %seed, %step {site = 1 : i64, global_shape = array<i64: 4, 8>} : tensor<i64>, tensor<i64> -> tensor<4x8xf32>
  %k1 = cleave.compare ge %u1, %half : tensor<4x8xf32>
  %c1 = cleave.select %k1, %b1, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %d1 = cleave.matmul %c1, %v1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x1 = cleave.add %d1, %x0 : tensor<4x8xf32>

  %y = cleave.matmul %x1, %table {transpose_rhs} : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
  %loss = cleave.reduce sum %y, [0, 1] : tensor<4x16xf32> -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// Two layers of different sizes: a segment each. The buffer's new value stands with what it is made of.
// CHECK: module attributes {cleave.blocks = 2 : i64}
// CHECK: cleave.state @w : {{.*}}cleave.block = 0
// CHECK: cleave.state @v : {{.*}}cleave.block = 1
// CHECK: cleave.state @mean
// CHECK-NOT: cleave.block
// CHECK-LABEL: func.func @model
// CHECK: cleave.matmul {{.*}}cleave.block = 0
// CHECK: cleave.reduce sum {{.*}}cleave.block = 0
// CHECK: cleave.write {{.*}}@mean {cleave.block = 0
// CHECK: cleave.matmul {{.*}}cleave.block = 1
cleave.state @w : tensor<8x6xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<8x6xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<6x2xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v", tensor<6x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @mean : tensor<6xf32> {role = #cleave.role<buffer>, segments = [
  #cleave.segment<"mean", tensor<6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @model(%x: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
  %w = cleave.read @w : tensor<8x6xf32>
  %v = cleave.read @v : tensor<6x2xf32>
  %h = cleave.matmul %x, %w : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
  %m = cleave.reduce sum %h, [0] : tensor<4x6xf32> -> tensor<6xf32>
  cleave.write %m, @mean : tensor<6xf32>
  %y = cleave.matmul %h, %v : tensor<4x6xf32>, tensor<6x2xf32> -> tensor<4x2xf32>
  %loss = cleave.reduce sum %y, [0, 1] : tensor<4x2xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
