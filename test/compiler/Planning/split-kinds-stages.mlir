// RUN: cleave-opt %s --split-kinds | FileCheck %s

// Two stages, each with a server and a worker: four kinds, boxes of both axes. What servers alone have crosses stages between servers alone.

// CHECK: module attributes {{.*}}cleave.kind = {name = "stage0.server", where = {dp = array<i64: 0, 1>, pp = array<i64: 0, 1>}}
// CHECK-LABEL: func.func @train_step
// CHECK: shard.reduce
// CHECK: shard.send
// CHECK: module @stage0.worker attributes {{.*}}cleave.kind = {name = "stage0.worker", where = {dp = array<i64: 1, 2>, pp = array<i64: 0, 1>}}
// CHECK-LABEL: func.func @train_step
// CHECK: shard.reduce
// CHECK-NOT: shard.send
// CHECK: module @stage1.server attributes {{.*}}where = {dp = array<i64: 0, 1>, pp = array<i64: 1, 2>}}
// CHECK: shard.recv
// CHECK: cleave.write
// CHECK: module @stage1.worker attributes {{.*}}where = {dp = array<i64: 1, 2>, pp = array<i64: 1, 2>}}
// CHECK-NOT: shard.recv
// CHECK-NOT: cleave.write
module attributes {cleave.mesh = #cleave.mesh<["dp", "pp"], [2, 2]>, cleave.kind = {name = "stage0", where = {pp = array<i64: 0, 1>}},
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 2>}}]} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @g : tensor<8xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], partial = ["dp"]>}
  func.func @train_step() attributes {cleave.entry} {
    %g = cleave.read @g : tensor<8xf32>
    %r = shard.reduce %g on @mesh grid_axes = [0] root = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<8xf32>) -> tensor<8xf32>
    %s = shard.send %r on @mesh grid_axes = [1] destination = [1] {cleave.channel = 2 : i64, cleave.owner_axes = ["dp"]} : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
  module @stage1 attributes {cleave.mesh = #cleave.mesh<["dp", "pp"], [2, 2]>, cleave.kind = {name = "stage1", where = {pp = array<i64: 1, 2>}},
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 2>}}]} {
    shard.grid @mesh(shape = 2x2)
    cleave.state @m : tensor<8xf32> {role = #cleave.role<optimizer>, slot = "m", segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], owner = ["dp"]>}
    func.func @train_step() attributes {cleave.entry} {
      %0 = ub.poison : tensor<8xf32>
      %r = shard.recv %0 on @mesh grid_axes = [1] source = [0] {cleave.channel = 2 : i64, cleave.owner_axes = ["dp"]} : (tensor<8xf32>) -> tensor<8xf32>
      cleave.write %r, @m : tensor<8xf32>
      return
    }
  }
}
