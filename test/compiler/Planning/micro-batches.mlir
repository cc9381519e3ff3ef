// RUN: cleave-opt %s --planning-pipeline | FileCheck %s
// RUN: cleave-opt %s --flatten-programs | FileCheck %s --check-prefix=FLAT

// Four micro-batches: the first one begins the sums, two are called in frames 1 and 2, the last one ends with the update. Each reads its
// own frame of the inputs.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 4 : i64} {
  cleave.state @g : tensor<64xf32> {role = #cleave.role<gradient>,
    segments = [#cleave.segment<"g", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @c0.fwd.first(%x: tensor<64xf32> {cleave.name = "x"}) -> tensor<64xf32> {
    %0 = cleave.reshape %x : tensor<64xf32> -> tensor<64xf32>
    return %0 : tensor<64xf32>
  }
  func.func @c0.bwd.first(%r: tensor<64xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd.first} {
    cleave.write %r, @g : tensor<64xf32>
    return
  }
  func.func @c0.fwd(%x: tensor<64xf32> {cleave.name = "x"}) -> tensor<64xf32> {
    return %x : tensor<64xf32>
  }
  func.func @c0.bwd(%r: tensor<64xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %g = cleave.read @g : tensor<64xf32>
    %0 = cleave.kernel ins(%g, %r : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> attributes {label = "add", tied = array<i64: 0>} {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %s = cleave.add %a, %b : tensor<64xf32>
      cleave.yield %s : tensor<64xf32>
    }
    cleave.write %0, @g : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    cleave.write %g, @w : tensor<64xf32>
    return
  }
}

// FLAT: func.func @micro.first(
// FLAT: func.func @micro.last(
// FLAT: func.func @micro(
// FLAT: func.func @train_step(%{{.*}}: tensor<64xf32> {cleave.name = "x"}) attributes {cleave.calls =

// CHECK: plan.header {{.*}}micro_batches = 4 : i64
// CHECK: plan.region @input input bytes = 256 frames = 4
// CHECK: plan.program @micro.first events = 0
// CHECK-NEXT: plan.copy <"persistent", 0, 256, write>, <"input", 0, 256, read>
// CHECK: plan.program @micro.last events = 0
// CHECK-NEXT: plan.launch @add [#plan.buffer<"persistent", 0, 256, read>, #plan.buffer<"input", 0, 256, read>, #plan.buffer<"persistent", 0, 256, write>]
// CHECK-NEXT: plan.copy <"persistent", 256, 256, write>, <"persistent", 0, 256, read>
// CHECK: plan.program @micro events = 0
// CHECK: plan.program @train_step entry events = 0
// CHECK-NEXT: plan.input "x"
// CHECK-NEXT: plan.call @micro.first times = 1 first_frame = 0
// CHECK-NEXT: plan.call @micro times = 2 first_frame = 1
// CHECK-NEXT: plan.call @micro.last times = 1 first_frame = 3
