// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=full-shard grad-sync=every" --partition --canonicalize --cse --verify-sharded | FileCheck %s
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=no-shard grad-sync=every" --partition --canonicalize --cse --verify-sharded | FileCheck %s --check-prefix=WHOLE
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=no-shard grad-sync=last" --partition --canonicalize --cse --verify-sharded | FileCheck %s --check-prefix=LAST

// Terms of an f32 accumulator that are made in bf16 are reduced in bf16, before they are widened, in every micro-batch. If ranks keep their own
// sums, these are reduced, in f32.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["fsdp"], [2]>, cleave.micro_batches = 4 : i64} {
  cleave.state @w : tensor<64xbf16> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"w", tensor<64xbf16>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<64xf32> {cleave.term_type = bf16, role = #cleave.role<gradient>, segments = [
    #cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func.func @c0.bwd(
  // CHECK: %[[OLD:.*]] = cleave.read @g : tensor<32xf32>
  // CHECK: %[[PART:.*]] = shard.reduce_scatter {{.*}} tensor<64xbf16> -> tensor<32xbf16>
  // CHECK: %[[F32:.*]] = cleave.cast %[[PART]] : tensor<32xbf16> -> tensor<32xf32>
  // CHECK: %[[SUM:.*]] = cleave.add %[[OLD]], %[[F32]]
  // CHECK: cleave.write %[[SUM]], @g
  // CHECK-LABEL: func.func @c0.bwd.first(
  // CHECK: shard.reduce_scatter {{.*}} tensor<64xbf16> -> tensor<32xbf16>
  // CHECK: func @update
  // CHECK-NOT: shard.reduce_scatter

  // WHOLE-LABEL: func.func @c0.bwd(
  // WHOLE: shard.all_reduce {{.*}} tensor<64xbf16>
  // WHOLE: cleave.cast {{.*}} : tensor<64xbf16> -> tensor<64xf32>
  // WHOLE: func @update
  // WHOLE-NOT: shard.all_reduce

  // LAST-LABEL: func.func @c0.bwd(
  // LAST-NOT: shard.
  // LAST: func @update
  // LAST: shard.all_reduce {{.*}} tensor<64xf32>
  func.func @c0.bwd(%dy: tensor<4x64xbf16> {cleave.name = "dy", cleave.batch_dim = 0 : i64}) {
    %old = cleave.read @g : tensor<64xf32>
    %sum = cleave.reduce sum %dy, [0] : tensor<4x64xbf16> -> tensor<64xbf16>
    %wide = cleave.cast %sum : tensor<64xbf16> -> tensor<64xf32>
    %new = cleave.add %old, %wide : tensor<64xf32>
    cleave.write %new, @g : tensor<64xf32>
    return
  }
  func.func @c0.bwd.first(%dy: tensor<4x64xbf16> {cleave.name = "dy", cleave.batch_dim = 0 : i64}) {
    %sum = cleave.reduce sum %dy, [0] : tensor<4x64xbf16> -> tensor<64xbf16>
    %wide = cleave.cast %sum : tensor<64xbf16> -> tensor<64xf32>
    cleave.write %wide, @g : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    %square = cleave.mul %g, %g : tensor<64xf32>
    %half = cleave.cast %square : tensor<64xf32> -> tensor<64xbf16>
    cleave.write %half, @w : tensor<64xbf16>
    return
  }
}
