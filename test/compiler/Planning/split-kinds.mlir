// RUN: cleave-opt %s --split-kinds | FileCheck %s
// RUN: cleave-opt %s --split-kinds --build-plan --verify-plan | FileCheck %s --check-prefix=PLAN

// A server and three workers: each module has what its ranks do, and what they exchange stands in both.

// CHECK: module attributes {cleave.kind = {name = "server", where = {dp = array<i64: 0, 1>}}
// CHECK: cleave.state @w
// CHECK: cleave.state @m
// CHECK-LABEL: func.func @train_step
// CHECK: %[[G:.*]] = cleave.read @g
// CHECK: %[[R:.*]] = shard.reduce %[[G]] {{.*}}root = [0]
// CHECK: %[[NEW:.*]]:2 = cleave.kernel
// CHECK: %[[ALL:.*]] = shard.broadcast %[[NEW]]#0
// CHECK: cleave.write %[[ALL]], @w
// CHECK: cleave.write %[[NEW]]#1, @m

// CHECK: module @worker attributes {cleave.kind = {name = "worker", where = {dp = array<i64: 1, 4>}}
// CHECK-NOT: cleave.state @m :
// CHECK-LABEL: func.func @train_step
// CHECK-NOT: cleave.kernel
// CHECK: shard.reduce {{.*}}root = [0]
// CHECK: %[[NOTHING:.*]] = ub.poison : tensor<8xf32>
// CHECK: %[[ALL:.*]] = shard.broadcast %[[NOTHING]]
// CHECK-NEXT: cleave.write %[[ALL]], @w
// CHECK-NOT: cleave.write

// The server broadcasts its parameters where they lie, the workers get them there.
// PLAN: plan.header {{.*}}kind = "server", where = {dp = array<i64: 0, 1>}
// PLAN-DAG: plan.state @m
// PLAN: plan.reduce sum {{.*}}root = 0 on "reduce"
// PLAN: plan.launch
// PLAN: plan.broadcast <"persistent", 0, 32, read> group @group.dp dtype f32 ring count = 8 root = 0 on "gather"
// PLAN: module @worker
// PLAN: plan.header {{.*}}kind = "worker", where = {dp = array<i64: 1, 4>}
// PLAN-NOT: plan.state @m
// PLAN: plan.reduce sum {{.*}}root = 0 on "reduce"
// PLAN-NOT: plan.launch
// PLAN: plan.broadcast <"persistent", 0, 32, write> group @group.dp dtype f32 ring count = 8 root = 0 on "gather"
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [4]>,
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 4>}}]} {
  shard.grid @mesh(shape = 4)
  cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>], storage = #cleave.sharding<[[]]>}
  cleave.state @g : tensor<8xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], partial = ["dp"]>}
  cleave.state @m : tensor<8xf32> {role = #cleave.role<optimizer>, slot = "m", segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], owner = ["dp"]>}
  func.func @train_step() attributes {cleave.entry} {
    %g = cleave.read @g : tensor<8xf32>
    %w = cleave.read @w : tensor<8xf32>
    %m = cleave.read @m : tensor<8xf32>
    %r = shard.reduce %g on @mesh grid_axes = [0] root = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<8xf32>) -> tensor<8xf32>
    %new:2 = cleave.kernel ins(%w, %m, %r : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>, tensor<8xf32> attributes {label = "momentum", tied = array<i64: 0, 1>} {
    ^bb0(%a: tensor<8xf32>, %b: tensor<8xf32>, %c: tensor<8xf32>):
      %0 = cleave.add %b, %c : tensor<8xf32>
      %1 = cleave.sub %a, %0 : tensor<8xf32>
      cleave.yield %1, %0 : tensor<8xf32>, tensor<8xf32>
    }
    %all = shard.broadcast %new#0 on @mesh grid_axes = [0] root = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : (tensor<8xf32>) -> tensor<8xf32>
    cleave.write %all, @w : tensor<8xf32>
    cleave.write %new#1, @m : tensor<8xf32>
    return
  }
}
