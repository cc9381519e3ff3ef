// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// Buckets of three layers end with padding, and all zeros are one constant. Each bucket's own are filled in their place: nothing is copied
// but ranks' shares, and a bucket's bytes are free when it is reduced, so that two of three are unreduced at a time.

#split = #cleave.sharding<[["fsdp"]]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["fsdp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @g0 : tensor<4224xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #split,
    segments = [#cleave.segment<"w0", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g1 : tensor<4224xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #split,
    segments = [#cleave.segment<"w1", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g2 : tensor<4224xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #split,
    segments = [#cleave.segment<"w2", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd() {
    return
  }
  func.func @c0.bwd(%x: tensor<8x64xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) {
    %zeros = cleave.constant dense<0.0> : tensor<128xf32>
    %m2 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f2 = cleave.reshape %m2 : tensor<64x64xf32> -> tensor<4096xf32>
    %b2 = cleave.concat %f2, %zeros dim = 0 : tensor<4096xf32>, tensor<128xf32> -> tensor<4224xf32>
    %s2 = shard.reduce_scatter %b2 on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 0 : i64} : tensor<4224xf32> -> tensor<2112xf32>
    cleave.write %s2, @g2 : tensor<2112xf32>
    %m1 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f1 = cleave.reshape %m1 : tensor<64x64xf32> -> tensor<4096xf32>
    %b1 = cleave.concat %f1, %zeros dim = 0 : tensor<4096xf32>, tensor<128xf32> -> tensor<4224xf32>
    %s1 = shard.reduce_scatter %b1 on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 1 : i64} : tensor<4224xf32> -> tensor<2112xf32>
    cleave.write %s1, @g1 : tensor<2112xf32>
    %m0 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f0 = cleave.reshape %m0 : tensor<64x64xf32> -> tensor<4096xf32>
    %b0 = cleave.concat %f0, %zeros dim = 0 : tensor<4096xf32>, tensor<128xf32> -> tensor<4224xf32>
    %s0 = shard.reduce_scatter %b0 on @mesh grid_axes = [0] scatter_axis = 0 {cleave.instance = 2 : i64} : tensor<4224xf32> -> tensor<2112xf32>
    cleave.write %s0, @g0 : tensor<2112xf32>
    return
  }
  func.func @update() {
    return
  }
}

// CHECK: plan.program @train_step entry {{.*}}unreduced = 33792 : i64
// CHECK-NOT: plan.copy
// CHECK: plan.launch @matmul.0 {{.*}}#plan.buffer<"transient", [[#A:]], 16384, write>
// CHECK-NEXT: plan.fill <"transient", [[#A + 16384]], 512, write>
// CHECK-NOT: plan.copy
// CHECK: plan.reduce_scatter sum <"transient", [[#A]], 16896, read_write>
// CHECK-NEXT: plan.copy <"persistent", {{[0-9]+}}, 8448, write>, <"transient", [[#A]], 8448, read, share of @group.fsdp by 8448>
// CHECK-NOT: plan.copy
// CHECK: plan.reduce_scatter
// CHECK-NEXT: plan.copy <"persistent", {{[0-9]+}}, 8448, write>
// CHECK-NOT: plan.copy
// CHECK: plan.reduce_scatter sum <"transient", [[#A]], 16896, read_write>
// CHECK-NEXT: plan.copy <"persistent", {{[0-9]+}}, 8448, write>
// CHECK-NOT: plan.copy
