// RUN: cleave-opt %s -keep-gathers | FileCheck %s

// Under shard-grad-op the stages of a pipeline gather their parameters once a step: forward and backward passes of all micro-batches read what the
// chunk's @cN.gather has left. What is computed of activations, or of a state that a forward pass changes, is gathered as often as before.
module attributes {cleave.mesh = #cleave.mesh<["fsdp", "pp"], [2, 2]>, cleave.micro_batches = 2 : i64, cleave.pipeline = {axis = "pp", schedule = "gpipe"}} {
shard.grid @mesh(shape = 2x2)
cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[["fsdp"]]>,
  segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @changed : tensor<8xf32> {role = #cleave.role<buffer>, storage = #cleave.sharding<[["fsdp"]]>,
  segments = [#cleave.segment<"changed", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// CHECK-DAG: cleave.state @c0.gathered.0 : tensor<8xbf16> {{.*}}role = #cleave.role<buffer>{{.*}}slot = "gathered", storage = #cleave.sharding<{{\[}}[]]>
// CHECK-LABEL: func.func @c0.fwd
// CHECK: %[[W:.*]] = cleave.read @c0.gathered.0 : tensor<8xbf16>
// CHECK: shard.all_gather
// CHECK-NOT: shard.all_gather
// CHECK: return %[[W]]
func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x"}) -> (tensor<8xbf16>, tensor<8xf32>) {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = cleave.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = shard.all_gather %1 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %3 = cleave.read @changed : tensor<4xf32>
  %4 = shard.all_gather %3 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  cleave.write %x, @changed : tensor<4xf32>
  return %2, %4 : tensor<8xbf16>, tensor<8xf32>
}
// CHECK-LABEL: func.func @c0.bwd
// CHECK-NEXT: %[[B:.*]] = cleave.read @c0.gathered.0 : tensor<8xbf16>
// CHECK-NEXT: cleave.neg %[[B]]
func.func @c0.bwd(%r: tensor<8xbf16> {cleave.residual = 0 : i64}) -> tensor<8xbf16> attributes {cleave.backward_of = @c0.fwd} {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = cleave.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = shard.all_gather %1 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %3 = cleave.neg %2 : tensor<8xbf16>
  return %3 : tensor<8xbf16>
}
// CHECK-LABEL: func.func @c0.gather()
// CHECK-NEXT: %[[R:.*]] = cleave.read @w : tensor<4xf32>
// CHECK-NEXT: %[[C:.*]] = cleave.cast %[[R]]
// CHECK-NEXT: %[[G:.*]] = shard.all_gather %[[C]]
// CHECK-NEXT: cleave.write %[[G]], @c0.gathered.0
// CHECK-NEXT: return
}
