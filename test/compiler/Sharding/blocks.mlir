// RUN: cleave-opt %s --assign-shardings --split-input-file | FileCheck %s --check-prefix=ASSIGN
// RUN: cleave-opt %s --assign-shardings --partition --verify-sharded --canonicalize --split-input-file | FileCheck %s

// Sequence first: the batch is the minor factor of the rows. They are split in blocks, one a place in the sequence, through a product,
// a bias and a slice of columns, and nothing is sent.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // ASSIGN-LABEL: func @infer
  // CHECK-LABEL: func @infer
  func.func @infer(%x: tensor<4x3x5xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %w: tensor<5x6xf32> {cleave.name = "w"},
                   %b: tensor<6xf32> {cleave.name = "b"}) -> (tensor<4x3x2xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    // CHECK-NOT: shard.all
    %0 = cleave.transpose %x, [1, 0, 2] : tensor<4x3x5xf32> -> tensor<3x4x5xf32>
    // ASSIGN: cleave.reshape {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[3, "dp"\], \[\]\]}}>], cleave.uses = [#cleave.sharding<{{\[\[\], \["dp"\], \[\]\]}}>]
    // CHECK: cleave.reshape {{.*}} : tensor<3x2x5xf32> -> tensor<6x5xf32>
    %1 = cleave.reshape %0 : tensor<3x4x5xf32> -> tensor<12x5xf32>
    // ASSIGN: cleave.matmul {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[3, "dp"\], \[\]\]}}>]
    // CHECK: cleave.matmul {{.*}} -> tensor<6x6xf32>
    %2 = cleave.matmul %1, %w : tensor<12x5xf32>, tensor<5x6xf32> -> tensor<12x6xf32>
    // ASSIGN: cleave.broadcast {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[3, "dp"\], \[\]\]}}>]
    %3 = cleave.broadcast %b, [1] : tensor<6xf32> -> tensor<12x6xf32>
    %4 = cleave.add %2, %3 : tensor<12x6xf32>
    // CHECK: cleave.slice {{.*}}, [0, 1], [6, 2], [1, 2] : tensor<6x6xf32> -> tensor<6x2xf32>
    %5 = cleave.slice %4, [0, 1], [12, 2], [1, 2] : tensor<12x6xf32> -> tensor<12x2xf32>
    // ASSIGN: cleave.reshape {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[\], \["dp"\], \[\]\]}}>]
    // CHECK: cleave.reshape {{.*}} : tensor<6x2xf32> -> tensor<3x2x2xf32>
    %6 = cleave.reshape %5 : tensor<12x2xf32> -> tensor<3x4x2xf32>
    %7 = cleave.transpose %6, [1, 0, 2] : tensor<3x4x2xf32> -> tensor<4x3x2xf32>
    // CHECK: return
    return %7 : tensor<4x3x2xf32>
  }
}

// -----
// A sum over rows in blocks is partial. A dimension of blocks may be cut between them, or inside a block's part.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // ASSIGN-LABEL: func @infer
  func.func @infer(%x: tensor<8x6x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
      -> (tensor<4xf32> {cleave.name = "sum"}, tensor<2x24x4xf32> {cleave.name = "outer"}, tensor<12x4x4xf32> {cleave.name = "inner"}) {
    %0 = cleave.transpose %x, [1, 0, 2] : tensor<8x6x4xf32> -> tensor<6x8x4xf32>
    %1 = cleave.reshape %0 : tensor<6x8x4xf32> -> tensor<48x4xf32>
    // ASSIGN: cleave.reduce {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[\]\]}}, partial = ["dp"]>], cleave.uses = [#cleave.sharding<{{\[\[6, "dp"\], \[\]\]}}>]
    %2 = cleave.reduce sum %1, [0] : tensor<48x4xf32> -> tensor<4xf32>
    // ASSIGN: cleave.reshape {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[\], \[3, "dp"\], \[\]\]}}>]
    %3 = cleave.reshape %1 : tensor<48x4xf32> -> tensor<2x24x4xf32>
    // ASSIGN: cleave.reshape {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[6, "dp"\], \[\], \[\]\]}}>]
    %4 = cleave.reshape %1 : tensor<48x4xf32> -> tensor<12x4x4xf32>
    // CHECK-LABEL: func @infer
    // CHECK: shard.all_reduce
    // What is whole is gathered of the parts of each block.
    // CHECK: shard.all_gather {{.*}} -> tensor<8x2x3x4xf32>
    return %2, %3, %4 : tensor<4xf32>, tensor<2x24x4xf32>, tensor<12x4x4xf32>
  }
}

// -----
// What depends on where its part begins is whole, and cut afterwards.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // ASSIGN-LABEL: func @infer
  // CHECK-LABEL: func @infer
  func.func @infer(%x: tensor<4x3x5xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %s: tensor<i64> {cleave.name = "s"})
      -> (tensor<5xf32> {cleave.name = "y"}) {
    %0 = cleave.transpose %x, [1, 0, 2] : tensor<4x3x5xf32> -> tensor<3x4x5xf32>
    %1 = cleave.reshape %0 : tensor<3x4x5xf32> -> tensor<12x5xf32>
    // ASSIGN: cleave.random_uniform {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[\], \[\]\]}}>]
    // CHECK: cleave.random_uniform {{.*}} -> tensor<12x5xf32>
    // CHECK: shard.all_slice {{.*}}tensor<4x3x5xf32> -> tensor<2x3x5xf32>
    %u = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 12, 5>} : tensor<i64>, tensor<i64> -> tensor<12x5xf32>
    %2 = cleave.mul %1, %u : tensor<12x5xf32>
    // CHECK-NOT: shard.all_gather
    %3 = cleave.reduce sum %2, [0] : tensor<12x5xf32> -> tensor<5xf32>
    return %3 : tensor<5xf32>
  }
}
