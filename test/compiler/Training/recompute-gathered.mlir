// RUN: cleave-opt %s -recompute-blocks=recompute=blocks | FileCheck %s

// A frozen parameter is stored wide; a rank casts its part, and what is gathered is there in the backward pass anyway: it is no residual, and the
// block that is computed again takes the backward pass's own gather.
// CHECK: func.func @c0.fwd(%{{.*}}) {
// CHECK: func.func @c0.bwd(%[[X:.*]]: tensor<4x8xbf16> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd} {
// CHECK: %[[N:.*]] = cleave.kernel {{.*}}label = "narrow"
// CHECK: %[[G:.*]] = shard.all_gather %[[N]]
// CHECK: %[[W:.*]] = cleave.reshape %[[G]]
// CHECK-NOT: shard.all_gather
// CHECK: cleave.matmul %[[X]], %[[W]] : tensor<4x8xbf16>, tensor<8x8xbf16>
// CHECK-NOT: shard.all_gather
// CHECK: return
module attributes {cleave.blocks = 1 : i64, cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
shard.grid @mesh(shape = 2)
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, frozen, storage = #cleave.sharding<[["fsdp"]]>, segments = [
  #cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @sum : tensor<4x8xf32> {role = #cleave.role<gradient>, segments = [
  #cleave.segment<"sum", tensor<4x8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @c0.fwd(%x: tensor<4x8xbf16> {cleave.name = "x"}) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %part = cleave.read @w : tensor<32xf32>
  %n = cleave.kernel ins(%part : tensor<32xf32>) -> tensor<32xbf16> attributes {label = "narrow"} {
  ^bb0(%v: tensor<32xf32>):
    %0 = cleave.cast %v : tensor<32xf32> -> tensor<32xbf16>
    cleave.yield %0 : tensor<32xbf16>
  }
  %g = shard.all_gather %n on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<32xbf16> -> tensor<64xbf16>
  %w = cleave.reshape %g : tensor<64xbf16> -> tensor<8x8xbf16>
  %a0 = cleave.matmul %x, %w {cleave.block = 0 : i64} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %h0 = cleave.kernel ins(%a0 : tensor<4x8xbf16>) -> tensor<4x8xbf16> attributes {cleave.block = 0 : i64, label = "tanh"} {
  ^bb0(%v: tensor<4x8xbf16>):
    %0 = cleave.tanh %v : tensor<4x8xbf16>
    cleave.yield %0 : tensor<4x8xbf16>
  }
  %x1 = cleave.matmul %h0, %w {cleave.block = 0 : i64} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  return %h0, %x1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}
func.func @c0.bwd(%h: tensor<4x8xbf16> {cleave.residual = 0 : i64}, %y: tensor<4x8xbf16> {cleave.residual = 1 : i64}) attributes {cleave.backward_of = @c0.fwd} {
  %part = cleave.read @w : tensor<32xf32>
  %n = cleave.kernel ins(%part : tensor<32xf32>) -> tensor<32xbf16> attributes {label = "narrow"} {
  ^bb0(%v: tensor<32xf32>):
    %0 = cleave.cast %v : tensor<32xf32> -> tensor<32xbf16>
    cleave.yield %0 : tensor<32xbf16>
  }
  %g = shard.all_gather %n on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<32xbf16> -> tensor<64xbf16>
  %w = cleave.reshape %g : tensor<64xbf16> -> tensor<8x8xbf16>
  %d = cleave.matmul %h, %w {transpose_rhs} : tensor<4x8xbf16>, tensor<8x8xbf16> -> tensor<4x8xbf16>
  %s = cleave.kernel ins(%d, %y : tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xf32> attributes {label = "add"} {
  ^bb0(%v: tensor<4x8xbf16>, %u: tensor<4x8xbf16>):
    %0 = cleave.add %v, %u : tensor<4x8xbf16>
    %1 = cleave.cast %0 : tensor<4x8xbf16> -> tensor<4x8xf32>
    cleave.yield %1 : tensor<4x8xf32>
  }
  cleave.write %s, @sum : tensor<4x8xf32>
  return
}
}
