// RUN: cleave-opt %s --assign-shardings --partition --verify-sharded --canonicalize | FileCheck %s

// Random numbers and indices of a part begin where the part begins; a slice takes all of its part's rows.
// CHECK: cleave.state @coordinate.dp : tensor<i64>
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [4]>} {
  // CHECK-LABEL: func @infer
  func.func @infer(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %s: tensor<i64> {cleave.name = "s"})
      -> (tensor<8x3xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    // CHECK: cleave.read @coordinate.dp
    // CHECK: %[[ORIGIN:.*]] = cleave.concat {{.*}} -> tensor<2xi64>
    // CHECK: cleave.random_uniform {{.*}} origin %[[ORIGIN]] : tensor<2xi64> {global_shape = array<i64: 8, 6>, site = 0 : i64} {{.*}} -> tensor<2x6xf32>
    %u = cleave.random_uniform %s, %s {site = 0 : i64, global_shape = array<i64: 8, 6>} : tensor<i64>, tensor<i64> -> tensor<8x6xf32>
    %0 = cleave.mul %x, %u : tensor<8x6xf32>
    // CHECK: cleave.slice {{.*}}, [0, 1], [2, 3], [1, 2] : tensor<2x6xf32> -> tensor<2x3xf32>
    %1 = cleave.slice %0, [0, 1], [8, 3], [1, 2] : tensor<8x6xf32> -> tensor<8x3xf32>
    // CHECK-NOT: shard.all
    return %1 : tensor<8x3xf32>
  }
}
