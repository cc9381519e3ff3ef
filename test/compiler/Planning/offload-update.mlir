// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(plan-in-place),planning-pipeline)' | FileCheck %s
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(plan-in-place),flatten-programs,build-plan{gathers-in-flight=1},verify-plan)' | FileCheck %s --check-prefix=ONE

// An update, bucket by bucket, whose momentum host memory stores: the next bucket's comes while this one is updated in place, and goes back
// behind it. The device holds two at a time, the third where the first was; with one in flight, one.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  cleave.state @w0 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w0", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @m0 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<optimizer>, slot = "momentum",
    segments = [#cleave.segment<"w0", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w1 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w1", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @m1 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<optimizer>, slot = "momentum",
    segments = [#cleave.segment<"w1", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w2 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w2", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @m2 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<optimizer>, slot = "momentum",
    segments = [#cleave.segment<"w2", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @train_step(%x: tensor<64xf32> {cleave.name = "x"}) attributes {cleave.entry} {
    %m0 = cleave.read @m0 : tensor<64xf32>
    %w0 = cleave.read @w0 : tensor<64xf32>
    %n0:2 = cleave.kernel ins(%w0, %m0, %x : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>, tensor<64xf32> attributes {label = "momentum"} {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>):
      %v = cleave.add %b, %c : tensor<64xf32>
      %p = cleave.sub %a, %v : tensor<64xf32>
      cleave.yield %p, %v : tensor<64xf32>, tensor<64xf32>
    }
    cleave.write %n0#0, @w0 : tensor<64xf32>
    cleave.write %n0#1, @m0 : tensor<64xf32>
    %m1 = cleave.read @m1 : tensor<64xf32>
    %w1 = cleave.read @w1 : tensor<64xf32>
    %n1:2 = cleave.kernel ins(%w1, %m1, %x : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>, tensor<64xf32> attributes {label = "momentum"} {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>):
      %v = cleave.add %b, %c : tensor<64xf32>
      %p = cleave.sub %a, %v : tensor<64xf32>
      cleave.yield %p, %v : tensor<64xf32>, tensor<64xf32>
    }
    cleave.write %n1#0, @w1 : tensor<64xf32>
    cleave.write %n1#1, @m1 : tensor<64xf32>
    %m2 = cleave.read @m2 : tensor<64xf32>
    %w2 = cleave.read @w2 : tensor<64xf32>
    %n2:2 = cleave.kernel ins(%w2, %m2, %x : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>, tensor<64xf32> attributes {label = "momentum"} {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>):
      %v = cleave.add %b, %c : tensor<64xf32>
      %p = cleave.sub %a, %v : tensor<64xf32>
      cleave.yield %p, %v : tensor<64xf32>, tensor<64xf32>
    }
    cleave.write %n2#0, @w2 : tensor<64xf32>
    cleave.write %n2#1, @m2 : tensor<64xf32>
    return
  }
}

// CHECK: plan.header {{.*}} streams = ["compute", "copy"]
// CHECK: plan.region @persistent persistent bytes = 768 frames = 1
// CHECK: plan.region @transient transient bytes = 512 frames = 1
// CHECK: plan.region @host.persistent persistent host bytes = 768 frames = 1
// CHECK: plan.state @m0 {{.*}} optimizer in "host.persistent" at 0
// CHECK: plan.program @train_step entry
// CHECK: plan.copy <"transient", [[A:[0-9]+]], 256, write>, <"host.persistent", 0, 256, read> on "copy"
// CHECK: plan.copy <"transient", [[B:[0-9]+]], 256, write>, <"host.persistent", 256, 256, read> on "copy"
// CHECK: plan.launch @momentum [{{.*}}#plan.buffer<"transient", [[A]], 256, read>{{.*}}#plan.buffer<"transient", [[A]], 256, write>] on "compute"
// CHECK: plan.copy <"host.persistent", 0, 256, write>, <"transient", [[A]], 256, read> on "copy"
// CHECK: plan.copy <"transient", [[A]], 256, write>, <"host.persistent", 512, 256, read> on "copy"
// CHECK: plan.launch @momentum [{{.*}}#plan.buffer<"transient", [[B]], 256, read>
// CHECK: plan.copy <"host.persistent", 256, 256, write>, <"transient", [[B]], 256, read> on "copy"
// CHECK: plan.launch @momentum [{{.*}}#plan.buffer<"transient", [[A]], 256, read>
// CHECK: plan.copy <"host.persistent", 512, 256, write>, <"transient", [[A]], 256, read> on "copy"

// ONE: plan.region @transient transient bytes = 256 frames = 1
