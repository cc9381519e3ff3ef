// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(plan-in-place),planning-pipeline)' | FileCheck %s

// ZeRO-1: gradients are each rank's own sum, parameters are whole, the optimizer's state is split. The gradients are scattered in
// place; the update works on this rank's share of the parameters where it lies in the whole, and the others are gathered around it.
// No byte is copied, and nothing transient is left.

#whole = #cleave.sharding<[[]]>
#split = #cleave.sharding<[["fsdp"]]>
#partial = #cleave.sharding<[[]], partial = ["fsdp"]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["fsdp"], [4]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 4)
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, storage = #whole,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g : tensor<64xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @m : tensor<64xf32> {role = #cleave.role<optimizer>, slot = "momentum", storage = #split,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<64xf32> {cleave.name = "x"}) {
    return
  }
  func.func @c0.bwd(%x: tensor<64xf32> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd} {
    cleave.write %x, @g : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    %gs = shard.reduce_scatter %g on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 0 : i64} : tensor<64xf32> -> tensor<16xf32>
    %m = cleave.read @m : tensor<16xf32>
    %w = cleave.read @w : tensor<64xf32>
    %ws = shard.all_slice %w on @mesh grid_axes = [0] slice_axis = 0 {cleave.instance = 1 : i64} : tensor<64xf32> -> tensor<16xf32>
    %n:2 = cleave.kernel ins(%ws, %m, %gs : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>, tensor<16xf32> attributes {label = "momentum"} {
    ^bb0(%a: tensor<16xf32>, %b: tensor<16xf32>, %c: tensor<16xf32>):
      %v = cleave.add %b, %c : tensor<16xf32>
      %p = cleave.sub %a, %v : tensor<16xf32>
      cleave.yield %p, %v : tensor<16xf32>, tensor<16xf32>
    }
    cleave.write %n#1, @m : tensor<16xf32>
    %all = shard.all_gather %n#0 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<16xf32> -> tensor<64xf32>
    cleave.write %all, @w : tensor<64xf32>
    return
  }
}

// CHECK-NOT: plan.region @transient
// CHECK: plan.program @train_step
// CHECK: plan.reduce_scatter sum <"persistent", 256, 256, read_write> staging <"communication", 0, 64, write> group @group.fsdp dtype f32 ring count = 64 on "reduce"
// CHECK-NOT: plan.copy
// CHECK: plan.launch @momentum [#plan.buffer<"persistent", 0, 64, read, share of @group.fsdp by 64>, #plan.buffer<"persistent", 512, 64, read>, #plan.buffer<"persistent", 256, 64, read, share of @group.fsdp by 64>, #plan.buffer<"persistent", 0, 64, write, share of @group.fsdp by 64>, #plan.buffer<"persistent", 512, 64, write>] on "compute"
// CHECK-NOT: plan.copy
// CHECK: plan.all_gather <"persistent", 0, 256, read_write> group @group.fsdp dtype f32 ring count = 64 on "gather"
// CHECK-NOT: plan.copy
