// RUN: cleave-opt %s --assign-shardings --partition --verify-sharded | FileCheck %s
// RUN: cleave-opt %s --assign-shardings --partition --canonicalize --cse --verify-sharded | FileCheck %s --check-prefix=COUNT

// Data-parallel training: the backward pass writes partial gradients into one bucket without any collective, and @update
// reduces it once, and the loss's sum once. The count is a constant: it stays whole.

// COUNT-LABEL: func @c0.fwd
// COUNT-NOT: shard.
// COUNT-LABEL: func @c0.bwd
// COUNT-NOT: shard.
// COUNT-LABEL: func @update
// COUNT-COUNT-2: shard.all_reduce
// COUNT-NOT: shard.

// CHECK: module attributes {cleave.level = "sharded"
// CHECK: shard.grid @mesh(shape = 2)
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 2 : i64} {
  // CHECK: cleave.state @params {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}>
  cleave.state @params : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<weights, source = "w">>,
    #cleave.segment<"b", tensor<6xf32>, offset = 32, group = 0, init = #cleave.init<weights, source = "b">>]}
  // CHECK: cleave.state @grads {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}, partial = ["dp"]>
  cleave.state @grads : tensor<64xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"b", tensor<6xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>]}
  // CHECK: cleave.state @scalar.loss_sum {{.*}}storage = #cleave.sharding<[], partial = ["dp"]>
  cleave.state @scalar.loss_sum : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"scalar.loss_sum", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK: cleave.state @scalar.loss_count {{.*}}storage = #cleave.sharding<[]>
  cleave.state @scalar.loss_count : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"scalar.loss_count", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @scalar.loss : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"scalar.loss", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  // CHECK-LABEL: func @c0.fwd(
  // CHECK-SAME: tensor<4x4xf32>
  func.func @c0.fwd(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> tensor<8x6xf32> {
    %p = cleave.read @params : tensor<64xf32>
    %ws = cleave.slice %p, [0], [24], [1] : tensor<64xf32> -> tensor<24xf32>
    %w = cleave.reshape %ws : tensor<24xf32> -> tensor<4x6xf32>
    %b = cleave.slice %p, [32], [6], [1] : tensor<64xf32> -> tensor<6xf32>
    // CHECK: cleave.matmul {{.*}} : tensor<4x4xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %0 = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    // CHECK: cleave.broadcast {{.*}} : tensor<6xf32> -> tensor<4x6xf32>
    %1 = cleave.broadcast %b, [1] : tensor<6xf32> -> tensor<8x6xf32>
    %2 = cleave.add %0, %1 : tensor<8x6xf32>
    %3 = cleave.relu %2 : tensor<8x6xf32>
    %sum = cleave.reduce sum %3, [0, 1] : tensor<8x6xf32> -> tensor<f32>
    %before = cleave.read @scalar.loss_sum : tensor<f32>
    %after = cleave.add %before, %sum : tensor<f32>
    cleave.write %after, @scalar.loss_sum : tensor<f32>
    %count = cleave.constant dense<48.0> : tensor<f32>
    %counted = cleave.read @scalar.loss_count : tensor<f32>
    %counts = cleave.add %counted, %count : tensor<f32>
    cleave.write %counts, @scalar.loss_count : tensor<f32>
    return %3 : tensor<8x6xf32>
  }

  // CHECK-LABEL: func @c0.bwd(
  // CHECK-SAME: tensor<4x6xf32>
  func.func @c0.bwd(%y: tensor<8x6xf32> {cleave.residual = 0 : i64}, %x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %zero = cleave.constant dense<0.0> : tensor<8x6xf32>
    %one = cleave.constant dense<1.0> : tensor<8x6xf32>
    // CHECK: cleave.compare le {{.*}} : tensor<4x6xf32>
    %c = cleave.compare le %y, %zero : tensor<8x6xf32>
    %g = cleave.select %c, %zero, %one : tensor<8x6xi1>, tensor<8x6xf32>
    %xt = cleave.transpose %x, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    // CHECK: cleave.matmul {{.*}} : tensor<4x4xf32>, tensor<4x6xf32> -> tensor<4x6xf32>
    %dw = cleave.matmul %xt, %g : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
    %db = cleave.reduce sum %g, [0] : tensor<8x6xf32> -> tensor<6xf32>
    %flat = cleave.reshape %dw : tensor<4x6xf32> -> tensor<24xf32>
    %gap = cleave.constant dense<0.0> : tensor<8xf32>
    %end = cleave.constant dense<0.0> : tensor<26xf32>
    %all = cleave.concat %flat, %gap, %db, %end dim = 0 : tensor<24xf32>, tensor<8xf32>, tensor<6xf32>, tensor<26xf32> -> tensor<64xf32>
    %before = cleave.read @grads : tensor<64xf32>
    %after = cleave.add %before, %all : tensor<64xf32>
    // CHECK-NOT: shard.
    // CHECK: cleave.write {{.*}}, @grads : tensor<64xf32>
    cleave.write %after, @grads : tensor<64xf32>
    return
  }

  // CHECK-LABEL: func @update
  func.func @update() {
    // CHECK: %[[G:.*]] = cleave.read @grads
    %g = cleave.read @grads : tensor<64xf32>
    %sum = cleave.read @scalar.loss_sum : tensor<f32>
    %count = cleave.read @scalar.loss_count : tensor<f32>
    // CHECK: shard.all_reduce {{.*}} on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "a sum of its own on each rank of dp", tensor = "@scalar.loss_sum", used = "whole on every rank, for @scalar.loss"}} : tensor<f32>
    %loss = cleave.div %sum, %count : tensor<f32>
    cleave.write %loss, @scalar.loss : tensor<f32>
    %p = cleave.read @params : tensor<64xf32>
    %counts = cleave.broadcast %count, [] : tensor<f32> -> tensor<64xf32>
    // CHECK: shard.all_reduce %[[G]] on @mesh grid_axes = [0] {cleave.instance = 1 : i64
    %mean = cleave.div %g, %counts : tensor<64xf32>
    %square = cleave.mul %g, %g : tensor<64xf32>
    %step = cleave.mul %mean, %square : tensor<64xf32>
    %new = cleave.sub %p, %step : tensor<64xf32>
    cleave.write %new, @params : tensor<64xf32>
    return
  }
}
