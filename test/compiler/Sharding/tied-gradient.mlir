// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=no-shard" --partition --canonicalize --cse --verify-sharded | FileCheck %s

// The gradient of a tied weight is the sum of those of its stages, of which one may be transposed. The norm in f64 and the update in f32 take
// the same sum over ranks, and it is reduced once, in the type in which the terms are stored. The same holds for other linear combinations of
// what is read: a part of a bucket, several parts, and a difference.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["fsdp"], [2]>, cleave.micro_batches = 2 : i64} {
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<64xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g.c0 : tensor<64xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  // CHECK-LABEL: func.func @c0.bwd(
  // CHECK-NOT: shard.
  func.func @c0.bwd(%dy: tensor<4x64xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}) {
    %sum = cleave.reduce sum %dy, [0] : tensor<4x64xf32> -> tensor<64xf32>
    cleave.write %sum, @g : tensor<64xf32>
    %double = cleave.add %sum, %sum : tensor<64xf32>
    cleave.write %double, @g.c0 : tensor<64xf32>
    return
  }

  // CHECK-LABEL: func @update
  // CHECK: %[[TIED:.*]] = cleave.add
  // CHECK-NOT: shard.
  // CHECK: %[[SUM:.*]] = shard.all_reduce %[[TIED]] {{.*}} tensor<64xf32>
  // CHECK: cleave.cast %[[SUM]] : tensor<64xf32> -> tensor<64xf64>
  // CHECK-NOT: shard.
  // CHECK: return
  func.func @update() {
    %own = cleave.read @g : tensor<64xf32>
    %other = cleave.read @g.c0 : tensor<64xf32>
    %table = cleave.reshape %other : tensor<64xf32> -> tensor<8x8xf32>
    %turned = cleave.transpose %table, [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
    %flat = cleave.reshape %turned : tensor<8x8xf32> -> tensor<64xf32>
    %g = cleave.add %own, %flat : tensor<64xf32>
    %wide = cleave.cast %g : tensor<64xf32> -> tensor<64xf64>
    %square = cleave.mul %wide, %wide : tensor<64xf64>
    %norm = cleave.reduce sum %square, [0] : tensor<64xf64> -> tensor<f64>
    %narrow = cleave.cast %norm : tensor<f64> -> tensor<f32>
    %factor = cleave.broadcast %narrow, [] : tensor<f32> -> tensor<64xf32>
    %step = cleave.mul %g, %factor : tensor<64xf32>
    %w = cleave.read @w : tensor<64xf32>
    %new = cleave.sub %w, %step : tensor<64xf32>
    cleave.write %new, @w : tensor<64xf32>
    return
  }

  // CHECK-LABEL: func.func @update.parts
  // CHECK: shard.all_reduce {{.*}} tensor<16xf32>
  // CHECK: shard.all_reduce {{.*}} tensor<48xf32>
  // CHECK-NOT: shard.
  // CHECK: return
  func.func @update.parts() {
    %g = cleave.read @g : tensor<64xf32>
    %head = cleave.slice %g, [0], [16], [1] : tensor<64xf32> -> tensor<16xf32>
    %wide = cleave.cast %head : tensor<16xf32> -> tensor<16xf64>
    %square = cleave.mul %wide, %wide : tensor<16xf64>
    %second = cleave.slice %g, [16], [16], [1] : tensor<64xf32> -> tensor<16xf32>
    %third = cleave.slice %g, [32], [16], [1] : tensor<64xf32> -> tensor<16xf32>
    %difference = cleave.sub %second, %third : tensor<16xf32>
    %zero = cleave.constant dense<0.0> : tensor<16xf32>
    %parts = cleave.concat %difference, %zero, %second dim = 0 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32> -> tensor<48xf32>
    %wider = cleave.cast %parts : tensor<48xf32> -> tensor<48xf64>
    %squares = cleave.mul %wider, %wider : tensor<48xf64>
    %all = cleave.concat %square, %squares dim = 0 : tensor<16xf64>, tensor<48xf64> -> tensor<64xf64>
    %new = cleave.cast %all : tensor<64xf64> -> tensor<64xf32>
    cleave.write %new, @w : tensor<64xf32>
    return
  }
}
