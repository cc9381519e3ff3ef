// RUN: cleave-opt %s --build-plan --verify-plan | FileCheck %s
// RUN: cleave-opt %s --build-plan="forward-prefetch=false" --verify-plan | FileCheck %s --check-prefix=USE

// Parameters that are stored wide and gathered narrow: a kernel makes of a rank's part what is gathered. It needs nothing but the state, so
// that it belongs to the gather: both are issued a unit ahead, on the gather's stream, and the part is made where it lies in the whole.

// CHECK-LABEL: plan.program @infer
// CHECK: plan.launch @narrow [#plan.buffer<"persistent", 0, 8192, read>, #plan.buffer<"transient", [[W0:[0-9]+]], 4096, write, share of @group.fsdp by 4096>] on "gather"
// CHECK: plan.all_gather <"transient", [[W0]], 8192, read_write> {{.*}} on "gather"
// CHECK: plan.launch @narrow [#plan.buffer<"persistent", 8192, 8192, read>, {{.*}}] on "gather"
// CHECK: plan.all_gather {{.*}} on "gather"
// CHECK: plan.launch @matmul{{.*}} on "compute"
// CHECK: plan.launch @matmul{{.*}} on "compute"
// CHECK-NOT: plan.all_gather

// USE-LABEL: plan.program @infer
// USE: plan.all_gather
// USE: plan.launch @matmul
// USE: plan.all_gather
// USE: plan.launch @matmul

// A part that something else uses as well is made where it stands.
// CHECK-LABEL: plan.program @shared
// CHECK: plan.launch @narrow {{.*}} on "compute"
// CHECK: plan.all_gather
#split = #cleave.sharding<[["fsdp"]]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w0 : tensor<4096xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w0", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<4096xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w1", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @infer(%a0: tensor<8x64xbf16> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<8x64xbf16> {cleave.name = "y", cleave.batch_dim = 0 : i64}) attributes {cleave.entry} {
    %r0 = cleave.read @w0 : tensor<2048xf32>
    %n0 = cleave.kernel ins(%r0 : tensor<2048xf32>) -> tensor<2048xbf16> attributes {label = "narrow"} {
    ^bb0(%w: tensor<2048xf32>):
      %n = cleave.cast %w : tensor<2048xf32> -> tensor<2048xbf16>
      cleave.yield %n : tensor<2048xbf16>
    }
    %f0 = shard.all_gather %n0 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<2048xbf16> -> tensor<4096xbf16>
    %w0 = cleave.reshape %f0 : tensor<4096xbf16> -> tensor<64x64xbf16>
    %a1 = cleave.matmul %a0, %w0 : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
    %r1 = cleave.read @w1 : tensor<2048xf32>
    %n1 = cleave.kernel ins(%r1 : tensor<2048xf32>) -> tensor<2048xbf16> attributes {label = "narrow"} {
    ^bb0(%w: tensor<2048xf32>):
      %n = cleave.cast %w : tensor<2048xf32> -> tensor<2048xbf16>
      cleave.yield %n : tensor<2048xbf16>
    }
    %f1 = shard.all_gather %n1 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<2048xbf16> -> tensor<4096xbf16>
    %w1 = cleave.reshape %f1 : tensor<4096xbf16> -> tensor<64x64xbf16>
    %a2 = cleave.matmul %a1, %w1 : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
    return %a2 : tensor<8x64xbf16>
  }

  func.func @shared(%a0: tensor<8x64xbf16> {cleave.name = "x", cleave.batch_dim = 0 : i64})
      -> (tensor<8x64xbf16> {cleave.name = "y", cleave.batch_dim = 0 : i64}, tensor<2048xbf16> {cleave.name = "sum"}) attributes {cleave.entry} {
    %r0 = cleave.read @w0 : tensor<2048xf32>
    %n0 = cleave.kernel ins(%r0 : tensor<2048xf32>) -> tensor<2048xbf16> attributes {label = "narrow"} {
    ^bb0(%w: tensor<2048xf32>):
      %n = cleave.cast %w : tensor<2048xf32> -> tensor<2048xbf16>
      cleave.yield %n : tensor<2048xbf16>
    }
    %f0 = shard.all_gather %n0 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<2048xbf16> -> tensor<4096xbf16>
    %w0 = cleave.reshape %f0 : tensor<4096xbf16> -> tensor<64x64xbf16>
    %a1 = cleave.matmul %a0, %w0 : tensor<8x64xbf16>, tensor<64x64xbf16> -> tensor<8x64xbf16>
    %s = shard.all_reduce %n0 on @mesh grid_axes = [0] : tensor<2048xbf16> -> tensor<2048xbf16>
    return %a1, %s : tensor<8x64xbf16>, tensor<2048xbf16>
  }
}
