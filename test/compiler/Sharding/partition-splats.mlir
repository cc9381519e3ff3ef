// RUN: cleave-opt %s --assign-shardings --partition --verify-sharded --canonicalize --cse | FileCheck %s

// One constant serves a split value and a whole one of the same global shape: each gets its own part, and nothing is sent
// or cut.
// CHECK: module attributes {cleave.level = "sharded"
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  cleave.state @w : tensor<2x4xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<2x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @infer
  func.func @infer(%x: tensor<2x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
      -> (tensor<2x4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}, tensor<2x4xf32> {cleave.name = "z"}) {
    // CHECK-DAG: cleave.constant dense<3.000000e+00> : tensor<1x4xf32>
    // CHECK-DAG: cleave.constant dense<3.000000e+00> : tensor<2x4xf32>
    // CHECK-NOT: shard.all
    %c = cleave.constant dense<3.0> : tensor<2x4xf32>
    %w = cleave.read @w : tensor<2x4xf32>
    // CHECK-DAG: cleave.max %{{.*}} : tensor<2x4xf32>
    // CHECK-DAG: cleave.max %{{.*}} : tensor<1x4xf32>
    %z = cleave.max %w, %c : tensor<2x4xf32>
    %y = cleave.max %x, %c : tensor<2x4xf32>
    // CHECK: return
    return %y, %z : tensor<2x4xf32>, tensor<2x4xf32>
  }
}
