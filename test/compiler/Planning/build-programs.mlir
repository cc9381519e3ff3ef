// RUN: cleave-opt %s --build-programs | FileCheck %s
// RUN: cleave-opt %s --build-programs --build-plan --verify-plan | FileCheck %s --check-prefix=PLAN

// Two stages under 1F1B, eight micro-batches. Each stage has the bodies of its chunk, a body for each transfer, and a loop for the time in which the
// pipe is full. States are where they are used; what the update needs of the other stage crosses where it is made.

// CHECK: module attributes {cleave.kind = {name = "stage0", where = {pp = array<i64: 0, 1>}}
// CHECK-NOT: cleave.state @w1
// CHECK: func.func @c0.fwd.first(%{{.*}}: tensor<16xf32> {cleave.name = "x"}) -> (tensor<16xf32> {cleave.frames = 2 : i64, cleave.stage_buffer = "c0:0"}, tensor<16xf32> {cleave.frames = 2 : i64, cleave.stage_buffer = "c0.r1"})
// CHECK-SAME: cleave.records = [{event = "made c0:0", frame = 0 : i64, frames = 2 : i64, stage_buffer = "c0:0"}]
// CHECK-SAME: cleave.waits = [{event = "sent c0:0 to 1", frame = -2 : i64
// CHECK-NOT: func.func @c1
// CHECK: func.func @"recv.c0:0.grad.c1"() {{.*}}cleave.transfer = "recv.gradient"
// CHECK: shard.recv {{.*}}source = [1] {cleave.channel = 1 : i64, cleave.reason = {made = "on stage 1", tensor = {{.*}}, used = "on stage 0"}}
// CHECK: func.func @"send.c0:0.to.1"(%[[Y:.*]]: tensor<16xf32> {cleave.frames = 2 : i64, cleave.stage_buffer = "c0:0"})
// CHECK: shard.send %[[Y]] on @mesh grid_axes = [0] destination = [1] {cleave.channel = 0 : i64, cleave.reason = {made = "on stage 0", tensor = {{.*}}, used = "on stage 1"}}
// CHECK: func.func @loop.0()
// CHECK-SAME: {first_frame = 0 : i64, program = "c0.fwd", times = 1 : i64}
// CHECK-SAME: {first_frame = -1 : i64, program = "c0.bwd", times = 1 : i64}
// CHECK: func.func @train_step(%{{.*}}: tensor<16xf32> {cleave.name = "x"})
// CHECK: %[[G0:.*]] = cleave.read @g0
// CHECK: shard.send %[[G0]] {{.*}}destination = [1] {cleave.channel = 2 : i64, cleave.reason = {made = "on stage 0", tensor = {{.*}}, used = "on stage 1"}}
// CHECK: %[[S:.*]] = shard.recv {{.*}}source = [1]
// CHECK: cleave.write %[[S]], @w0

// CHECK: module @stage1 attributes {cleave.kind = {name = "stage1", where = {pp = array<i64: 1, 2>}}
// CHECK-NOT: cleave.state @w0
// CHECK: func.func @train_step
// CHECK: %[[G0:.*]] = shard.recv {{.*}}source = [0]
// CHECK: %[[G1:.*]] = cleave.read @g1
// CHECK: %[[S:.*]] = cleave.kernel ins(%[[G0]], %[[G1]]
// CHECK: shard.send %[[S]]
// CHECK: cleave.write %[[S]], @w1

// PLAN: plan.region @residual.2 residual bytes = {{[0-9]+}} frames = 2
// PLAN: plan.program @c0.fwd events = 0
// PLAN-NEXT: plan.wait @"sent c0:0 to 1"[-2] on "compute"
// PLAN: plan.record @"made c0:0" on "compute"
// PLAN: plan.program @"send.c0:0.to.1" events = 0
// PLAN-NEXT: plan.wait @"made c0:0" on "send"
// PLAN-NEXT: plan.send <"residual.2", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "send"
// PLAN-NEXT: plan.record @"sent c0:0 to 1" on "send"
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["pp"], [2]>, cleave.micro_batches = 8 : i64,
                   cleave.pipeline = {axis = "pp", schedule = "1f1b"}} {
  shard.grid @mesh(shape = 2)
  cleave.state @w0 : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g0 : tensor<16xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"g0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g1 : tensor<16xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"g1", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @sum : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"sum", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd.first(%x: tensor<16xf32> {cleave.name = "x"}) -> (tensor<16xf32> {cleave.edge = "c0:0"}, tensor<16xf32>) {
    %w = cleave.read @w0 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %r = cleave.kernel ins(%x : tensor<16xf32>) -> tensor<16xf32> attributes {label = "neg"} {
    ^bb0(%a0: tensor<16xf32>):
      %s = cleave.neg %a0 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y, %r : tensor<16xf32>, tensor<16xf32>
  }
  func.func @c1.fwd.first(%y: tensor<16xf32> {cleave.edge = "c0:0"}) {
    cleave.write %y, @sum : tensor<16xf32>
    return
  }
  func.func @c1.bwd.first(%y: tensor<16xf32> {cleave.edge = "c0:0"}) -> (tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd.first} {
    %w = cleave.read @w1 : tensor<16xf32>
    %dy = cleave.kernel ins(%y, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %dy, @g1 : tensor<16xf32>
    return %dy : tensor<16xf32>
  }
  func.func @c0.bwd.first(%r: tensor<16xf32> {cleave.residual = 1 : i64}, %dy: tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd.first} {
    %t = cleave.kernel ins(%r, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %t, @g0 : tensor<16xf32>
    return
  }
  func.func @c0.fwd(%x: tensor<16xf32> {cleave.name = "x"}) -> (tensor<16xf32> {cleave.edge = "c0:0"}, tensor<16xf32>) {
    %w = cleave.read @w0 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %r = cleave.kernel ins(%x : tensor<16xf32>) -> tensor<16xf32> attributes {label = "neg"} {
    ^bb0(%a0: tensor<16xf32>):
      %s = cleave.neg %a0 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y, %r : tensor<16xf32>, tensor<16xf32>
  }
  func.func @c1.fwd(%y: tensor<16xf32> {cleave.edge = "c0:0"}) {
    %old = cleave.read @sum : tensor<16xf32>
    %new = cleave.kernel ins(%old, %y : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add", tied = array<i64: 0>} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.add %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @sum : tensor<16xf32>
    return
  }
  func.func @c1.bwd(%y: tensor<16xf32> {cleave.edge = "c0:0"}) -> (tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd} {
    %w = cleave.read @w1 : tensor<16xf32>
    %dy = cleave.kernel ins(%y, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %old = cleave.read @g1 : tensor<16xf32>
    %new = cleave.kernel ins(%old, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add", tied = array<i64: 0>} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.add %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @g1 : tensor<16xf32>
    return %dy : tensor<16xf32>
  }
  func.func @c0.bwd(%r: tensor<16xf32> {cleave.residual = 1 : i64}, %dy: tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd} {
    %t = cleave.kernel ins(%r, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.mul %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %old = cleave.read @g0 : tensor<16xf32>
    %new = cleave.kernel ins(%old, %t : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add", tied = array<i64: 0>} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.add %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @g0 : tensor<16xf32>
    return
  }
  func.func @update() {
    %g0 = cleave.read @g0 : tensor<16xf32>
    %g1 = cleave.read @g1 : tensor<16xf32>
    %n = cleave.kernel ins(%g0, %g1 : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add2"} {
    ^bb0(%a0: tensor<16xf32>, %a1: tensor<16xf32>):
      %s = cleave.add %a0, %a1 : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %n, @w0 : tensor<16xf32>
    cleave.write %n, @w1 : tensor<16xf32>
    return
  }
}
