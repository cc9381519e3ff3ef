// RUN: cleave-opt %s --assign-shardings --split-input-file | FileCheck %s

// A batch split over dp splits what is computed of it; weights stay whole; broadcasts and splats are made split.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // CHECK: cleave.state @w
  // CHECK-SAME: storage = #cleave.sharding<{{\[\[\], \[\]\]}}>
  cleave.state @w : tensor<4x6xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @infer
  // CHECK-SAME: cleave.sharding = #cleave.sharding<{{\[\["dp"\], \[\]\]}}>
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %b: tensor<6xf32> {cleave.name = "b"})
      -> (tensor<8x6xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    %w = cleave.read @w : tensor<4x6xf32>
    // CHECK: cleave.matmul {{.*}}cleave.sharding = [#cleave.sharding<{{\[\["dp"\], \[\]\]}}>], cleave.uses = [#cleave.sharding<{{\[\["dp"\], \[\]\]}}>, #cleave.sharding<{{\[\[\], \[\]\]}}>]
    %0 = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    // CHECK: cleave.broadcast {{.*}}cleave.sharding = [#cleave.sharding<{{\[\["dp"\], \[\]\]}}>]
    %1 = cleave.broadcast %b, [1] : tensor<6xf32> -> tensor<8x6xf32>
    %2 = cleave.add %0, %1 : tensor<8x6xf32>
    // CHECK: cleave.constant {{.*}}cleave.sharding = [#cleave.sharding<{{\[\["dp"\], \[\]\]}}>]
    %c = cleave.constant dense<2.0> : tensor<8x6xf32>
    %3 = cleave.mul %2, %c : tensor<8x6xf32>
    return %3 : tensor<8x6xf32>
  }
}

// -----
// The reduced dimension of a softmax is split: it is decomposed, and only sums and maxima cross ranks.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // CHECK-LABEL: func @infer
  // CHECK-NOT: cleave.softmax
  // CHECK: cleave.reduce max {{.*}}partial = ["dp"], kind = max
  // CHECK: cleave.reduce sum {{.*}}partial = ["dp"]
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64})
      -> (tensor<8x4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    %0 = cleave.softmax %x, dim = 0 : tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----
// A product with a bias is split along its rows as it is. Where its contracted dimension comes in split, the bias is added apart from it.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // CHECK-LABEL: func @rows
  // CHECK: cleave.matmul %{{.*}} bias {{.*}}cleave.sharding = [#cleave.sharding<{{\[\["dp"\], \[\]\]}}>]
  func.func @rows(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %w: tensor<4x6xf32> {cleave.name = "w"},
                  %b: tensor<6xf32> {cleave.name = "b"}) -> (tensor<8x6xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64}) {
    %0 = cleave.matmul %x, %w bias %b : tensor<8x4xf32>, tensor<4x6xf32>, tensor<6xf32> -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
  // CHECK-LABEL: func @contracted
  // CHECK-NOT: bias
  // CHECK: %[[P:.*]] = cleave.matmul {{.*}}partial = ["dp"]
  // CHECK: %[[B:.*]] = cleave.broadcast
  // CHECK: cleave.add %[[P]], %[[B]] {{.*}}cleave.sharding = [#cleave.sharding<{{\[\[\], \[\]\]}}>]
  func.func @contracted(%x: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64}, %w: tensor<8x6xf32> {cleave.name = "w", cleave.batch_dim = 0 : i64},
                        %b: tensor<6xf32> {cleave.name = "b"}) -> (tensor<4x6xf32> {cleave.name = "y"}) {
    %0 = cleave.matmul %x, %w bias %b : tensor<4x8xf32>, tensor<8x6xf32>, tensor<6xf32> -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32>
  }
}
