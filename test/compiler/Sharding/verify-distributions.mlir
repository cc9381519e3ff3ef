// RUN: cleave-opt %s --verify-sharded --split-input-file | FileCheck %s

// What verify-sharded accepts, beyond what `partition` makes: each value is what its uses expect.

// Ranks have one row each. The reshape's note tells that the rows are split, and not the first dimension, which is 1 of 1. What
// repeats itself (a broadcast, a splat, a table of 1 x 3) goes with any split; terms pass linear ops, zeros among them.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @g : tensor<6xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[]], partial = ["dp", "fsdp"]>,
    segments = [#cleave.segment<"w", tensor<6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @fwd
  func.func @fwd(%x: tensor<1x3xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], []]>}) {
    %0 = cleave.reshape %x {cleave.whole = tensor<1x4x3xf32>} : tensor<1x3xf32> -> tensor<1x1x3xf32>
    %table = cleave.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
    %one = cleave.constant dense<1.0> : tensor<1x1x3xf32>
    %1 = cleave.mul %0, %table : tensor<1x1x3xf32>
    %2 = cleave.add %1, %one : tensor<1x1x3xf32>
    %3 = cleave.kernel ins(%2 : tensor<1x1x3xf32>) -> tensor<1x3xf32> {
    ^bb0(%a: tensor<1x1x3xf32>):
      %k = cleave.reduce sum %a, [1] : tensor<1x1x3xf32> -> tensor<1x3xf32>
      cleave.yield %k : tensor<1x3xf32>
    }
    %4 = cleave.reshape %3 : tensor<1x3xf32> -> tensor<3xf32>
    %zero = cleave.constant dense<0.0> : tensor<3xf32>
    %5 = cleave.concat %4, %zero dim = 0 : tensor<3xf32>, tensor<3xf32> -> tensor<6xf32>
    cleave.write %5, @g : tensor<6xf32>
    return
  }
  func.func @update() -> (tensor<6xf32> {cleave.name = "g", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.read @g : tensor<6xf32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [1, 0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<6xf32> -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}

// -----
// Scattered over one axis, then summed over the other; gathered again. The greatest of terms of a maximum, moved about. A maximum of
// what all have, and a broadcast of it, change nothing.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>} {
  shard.grid @mesh(shape = 2x2)
  // CHECK-LABEL: func @infer
  func.func @infer(%x: tensor<3x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], []]>})
      -> (tensor<8xf32> {cleave.name = "sum", cleave.sharding = #cleave.sharding<[[]]>},
          tensor<2x4xf32> {cleave.name = "max", cleave.sharding = #cleave.sharding<[[], []]>}) {
    %0 = cleave.reduce sum %x, [0] : tensor<3x8xf32> -> tensor<8xf32>
    %1 = shard.reduce_scatter %0 on @mesh grid_axes = [1] scatter_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8xf32> -> tensor<4xf32>
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %3 = cleave.exp %2 : tensor<4xf32>
    %4 = shard.all_gather %3 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 2 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<8xf32>
    %5 = cleave.reduce max %x, [0] : tensor<3x8xf32> -> tensor<8xf32>
    %6 = cleave.reshape %5 : tensor<8xf32> -> tensor<2x4xf32>
    %7 = shard.all_reduce %6 on @mesh grid_axes = [0, 1] reduction = max {cleave.instance = 3 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x4xf32> -> tensor<2x4xf32>
    %8 = shard.all_reduce %7 on @mesh grid_axes = [0] reduction = max {cleave.instance = 4 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x4xf32> -> tensor<2x4xf32>
    %9 = shard.broadcast %8 on @mesh grid_axes = [1] root = [0] {cleave.instance = 5 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    return %4, %9 : tensor<8xf32>, tensor<2x4xf32>
  }
}

// -----
// A table of 2 x 3 is repeated by the batch and merged with it: [4 x 2, 3], or, transposed, [3, 2 x 4]; with the batch inside, [2 x 4, 3]. It
// goes with samples that are split there, in any order of what follows.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @w : tensor<2x3xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"w", tensor<2x3xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @outside
  func.func @outside(%x: tensor<4x2x3xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], [], []]>})
      -> (tensor<4x6xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], []]>},
          tensor<8x3xf32> {cleave.name = "z", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], []]>}) {
    %w = cleave.read @w : tensor<2x3xf32>
    %0 = cleave.broadcast %w, [1, 2] : tensor<2x3xf32> -> tensor<4x2x3xf32>
    %1 = cleave.reshape %0 {cleave.whole = tensor<32x3xf32>} : tensor<4x2x3xf32> -> tensor<8x3xf32>
    %2 = cleave.transpose %1, [1, 0] : tensor<8x3xf32> -> tensor<3x8xf32>
    %3 = cleave.exp %2 : tensor<3x8xf32>
    %4 = cleave.reshape %x {cleave.whole = tensor<32x3xf32>} : tensor<4x2x3xf32> -> tensor<8x3xf32>
    %5 = cleave.transpose %4, [1, 0] : tensor<8x3xf32> -> tensor<3x8xf32>
    %6 = cleave.add %3, %5 : tensor<3x8xf32>
    %7 = cleave.transpose %6, [1, 0] : tensor<3x8xf32> -> tensor<8x3xf32>
    %8 = cleave.reshape %7 {cleave.whole = tensor<16x6xf32>} : tensor<8x3xf32> -> tensor<4x6xf32>
    return %8, %1 : tensor<4x6xf32>, tensor<8x3xf32>
  }
  // CHECK-LABEL: func @inside
  func.func @inside(%x: tensor<2x2x3xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64, cleave.sharding = #cleave.sharding<[[], ["dp", "fsdp"], []]>}) {
    %w = cleave.read @w : tensor<2x3xf32>
    %0 = cleave.broadcast %w, [0, 2] : tensor<2x3xf32> -> tensor<2x2x3xf32>
    %1 = cleave.reshape %0 {cleave.whole = tensor<16x3xf32>} : tensor<2x2x3xf32> -> tensor<4x3xf32>
    %2 = cleave.reshape %x {cleave.whole = tensor<16x3xf32>} : tensor<2x2x3xf32> -> tensor<4x3xf32>
    %3 = cleave.mul %1, %2 : tensor<4x3xf32>
    return
  }
  // One sample on each rank: nothing repeats there, but something would.
  // CHECK-LABEL: func @single
  func.func @single(%x: tensor<1x2x3xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp", "fsdp"], [], []]>}) {
    %w = cleave.read @w : tensor<2x3xf32>
    %0 = cleave.broadcast %w, [1, 2] : tensor<2x3xf32> -> tensor<1x2x3xf32>
    %1 = cleave.reshape %0 {cleave.whole = tensor<8x3xf32>} : tensor<1x2x3xf32> -> tensor<2x3xf32>
    %2 = cleave.reshape %x {cleave.whole = tensor<8x3xf32>} : tensor<1x2x3xf32> -> tensor<2x3xf32>
    %3 = cleave.mul %1, %2 : tensor<2x3xf32>
    return
  }
}

// -----
// A product and the sum of one of its operands, each of what it reads: ranks of tp have columns of x, and so rows of dw, but all of db. Terms of
// dp are added up in both.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "tp"], [2, 2]>} {
  shard.grid @mesh(shape = 2x2)
  // CHECK-LABEL: func @bias_gradient
  func.func @bias_gradient(%x: tensor<8x2xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64, cleave.sharding = #cleave.sharding<[[], ["tp"]]>},
                           %dy: tensor<8x3xf32> {cleave.name = "dy", cleave.sharding = #cleave.sharding<[[], []]>})
      -> (tensor<2x3xf32> {cleave.name = "dw", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["tp"], []]>},
          tensor<3xf32> {cleave.name = "db", cleave.sharding = #cleave.sharding<[[]]>}) {
    %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>, tensor<3xf32>
    return %dw, %db : tensor<2x3xf32>, tensor<3xf32>
  }
  func.func @terms(%x: tensor<4x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %dy: tensor<4x3xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>})
      -> (tensor<2x3xf32> {cleave.name = "dw", cleave.sharding = #cleave.sharding<[[], []]>},
          tensor<3xf32> {cleave.name = "db", cleave.sharding = #cleave.sharding<[[]]>}) {
    %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<4x2xf32>, tensor<4x3xf32> -> tensor<2x3xf32>, tensor<3xf32>
    %0 = shard.all_reduce %dw on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x3xf32> -> tensor<2x3xf32>
    %1 = shard.all_reduce %db on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<3xf32> -> tensor<3xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<3xf32>
  }
}
