// RUN: cleave-opt %s --assign-shardings --partition --verify-sharded | FileCheck %s

// One rank: nothing crosses, no type changes.
// CHECK-NOT: shard.
// CHECK: cleave.level = "sharded"
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  // CHECK: func.func @infer(%{{.*}}: tensor<8x4xf32> {cleave.batch_dim = 0 : i64, cleave.name = "x", cleave.sharding = #cleave.sharding<{{\[\[\], \[\]\]}}>})
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
      -> (tensor<8x4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    // CHECK: cleave.softmax %{{.*}}, dim = 0 : tensor<8x4xf32>
    %0 = cleave.softmax %x, dim = 0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
