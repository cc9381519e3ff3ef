// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(plan-in-place),planning-pipeline)' | FileCheck %s

// Two micro-batches, gradients split: each micro-batch's gradient is scattered, and this rank's share is added to its sum right there,
// on the stream that reduces, so that the unreduced bucket is free again. The first one only stores it.

#split = #cleave.sharding<[["fsdp"]]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["fsdp"], [2]>, cleave.micro_batches = 2 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g : tensor<64xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #split,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd.first(%x: tensor<8x8xf32> {cleave.name = "x"}) {
    return
  }
  func.func @c0.bwd.first(%x: tensor<8x8xf32> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd.first} {
    %0 = cleave.matmul %x, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %1 = cleave.reshape %0 : tensor<8x8xf32> -> tensor<64xf32>
    %2 = shard.reduce_scatter %1 on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 0 : i64} : tensor<64xf32> -> tensor<32xf32>
    cleave.write %2, @g : tensor<32xf32>
    return
  }
  func.func @c0.fwd(%x: tensor<8x8xf32> {cleave.name = "x"}) {
    return
  }
  func.func @c0.bwd(%x: tensor<8x8xf32> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd} {
    %g = cleave.read @g : tensor<32xf32>
    %0 = cleave.matmul %x, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %1 = cleave.reshape %0 : tensor<8x8xf32> -> tensor<64xf32>
    %2 = shard.reduce_scatter %1 on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 1 : i64} : tensor<64xf32> -> tensor<32xf32>
    %3 = cleave.kernel ins(%g, %2 : tensor<32xf32>, tensor<32xf32>) -> tensor<32xf32> attributes {label = "add"} {
    ^bb0(%a: tensor<32xf32>, %b: tensor<32xf32>):
      %s = cleave.add %a, %b : tensor<32xf32>
      cleave.yield %s : tensor<32xf32>
    }
    cleave.write %3, @g : tensor<32xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<32xf32>
    cleave.write %g, @w : tensor<32xf32>
    return
  }
}

// CHECK: plan.program @micro.first
// CHECK: plan.reduce_scatter sum <"transient", 0, 256, read_write>
// CHECK-NEXT: plan.copy <"persistent", 128, 128, write>, <"transient", 0, 128, read, share of @group.fsdp by 128> on "reduce"
// CHECK: plan.program @micro.last
// CHECK: plan.reduce_scatter sum <"transient", 0, 256, read_write>
// CHECK-NEXT: plan.launch @add [#plan.buffer<"persistent", 128, 128, read>, #plan.buffer<"transient", 0, 128, read, share of @group.fsdp by 128>, #plan.buffer<"persistent", 128, 128, write>] on "reduce"
