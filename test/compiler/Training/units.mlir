// RUN: cleave-opt %s -split-loss -differentiate -assign-units="units=pattern=blocks.*" -form-buckets="split-parameters data-ranks=2" | FileCheck %s
// RUN: cleave-opt %s -split-loss -differentiate -find-blocks -assign-units="units=auto" -form-buckets="data-ranks=2" | FileCheck %s --check-prefix=AUTO
// RUN: cleave-opt %s -training-pipeline="units=pattern=blocks.* split-parameters data-ranks=2 micro-batches=2 sync-every" -verify-step | FileCheck %s --check-prefix=EVERY
// RUN: cleave-opt %s -assign-parameter-groups="groups=*.scale:weight_decay=0" -split-loss -differentiate -assign-units="units=pattern=blocks.*" \
// RUN:   -form-buckets="split-parameters data-ranks=2" | FileCheck %s --check-prefix=GROUPS
// RUN: not cleave-opt %s -assign-units="units=pattern=layers.*" 2>&1 | FileCheck %s --check-prefix=NOMATCH
// RUN: not cleave-opt %s -assign-units="units=pairs" 2>&1 | FileCheck %s --check-prefix=BAD

// Two blocks by name, the head in the outer unit; buckets come in the order in which the backward pass completes them. A frozen
// parameter has a bucket of its own kind, and no gradient.
// CHECK-NOT: cleave.state @blocks
// CHECK: cleave.state @bucket0 {{.*}}"head",
// CHECK: cleave.state @bucket1 {{.*}}"blocks.1.scale", {{.*}}"blocks.1.weight"
// CHECK: cleave.state @bucket2 {{.*}}"blocks.0.scale",
// CHECK: cleave.state @frozen0 {{.*}}frozen{{.*}}"blocks.0.weight"
// CHECK-NOT: @frozen0.grad

// Parameter groups are no reason for a bucket, but for the order in it.
// GROUPS: cleave.state @bucket0 {{.*}}"head",
// GROUPS: cleave.state @bucket1 {{.*}}"blocks.1.weight", tensor<8x8xf32>, offset = 0, group = 0, {{.*}}"blocks.1.scale", tensor<8xf32>, offset = 64, group = 1,
// GROUPS: cleave.state @bucket2 {{.*}}"blocks.0.scale",
// GROUPS: cleave.state @frozen0

// A unit for each place of the forward pass (Units.h), as find-blocks marks them: here each layer is a block.
// AUTO: cleave.state @bucket0 {{.*}}cleave.unit = 3 {{.*}}"head",
// AUTO: cleave.state @bucket1 {{.*}}cleave.unit = 2 {{.*}}"blocks.1.scale", {{.*}}"blocks.1.weight"
// AUTO: cleave.state @bucket2 {{.*}}cleave.unit = 1 {{.*}}"blocks.0.scale"

// Terms are laid end to end and added at once, so that they are reduced at once.
// EVERY-LABEL: func @c0.bwd(
// EVERY: %[[TERMS:.*]] = cleave.concat
// EVERY: %[[SUM:.*]] = cleave.add %{{.*}}, %[[TERMS]]
// EVERY: cleave.write %[[SUM]], @bucket{{.}}.grad

// NOMATCH: --fsdp-units: pattern 'layers.*' matches none of 5 parameters: blocks.0.weight, blocks.0.scale, blocks.1.weight, ...
// BAD: expected auto or pattern=P[|P...]; got: pairs
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  cleave.state @blocks_0_weight : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"blocks.0.weight", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @blocks_0_scale : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"blocks.0.scale", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @blocks_1_weight : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"blocks.1.weight", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @blocks_1_scale : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"blocks.1.scale", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @head : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"head", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x: tensor<6x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
    %w0 = cleave.read @blocks_0_weight : tensor<8x8xf32>
    %s0 = cleave.read @blocks_0_scale : tensor<8xf32>
    %w1 = cleave.read @blocks_1_weight : tensor<8x8xf32>
    %s1 = cleave.read @blocks_1_scale : tensor<8xf32>
    %h = cleave.read @head : tensor<8x4xf32>
    %0 = cleave.matmul %x, %w0 : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %1 = cleave.broadcast %s0, [1] : tensor<8xf32> -> tensor<6x8xf32>
    %2 = cleave.mul %0, %1 : tensor<6x8xf32>
    %3 = cleave.matmul %2, %w1 : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %4 = cleave.broadcast %s1, [1] : tensor<8xf32> -> tensor<6x8xf32>
    %5 = cleave.mul %3, %4 : tensor<6x8xf32>
    %6 = cleave.matmul %5, %h : tensor<6x8xf32>, tensor<8x4xf32> -> tensor<6x4xf32>
    %7 = cleave.reduce sum %6, [0, 1] : tensor<6x4xf32> -> tensor<f32>
    return %7 : tensor<f32>
  }
}
