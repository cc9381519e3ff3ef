// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// A bucket whose unreduced value is used behind the all-reduce cannot be reduced in place: the reduction gets a copy, and the value
// keeps its bytes. One that nobody reads again is reduced where it lies.

#replicated = #cleave.sharding<[[]]>
#partial = #cleave.sharding<[[]], partial = ["dp"]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<2048xf32> {role = #cleave.role<parameter>, storage = #replicated,
    segments = [#cleave.segment<"w", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @local : tensor<2048xf32> {role = #cleave.role<optimizer>, storage = #replicated,
    segments = [#cleave.segment<"local", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<2048xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial,
    segments = [#cleave.segment<"g", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  func.func @c0.fwd(%x: tensor<8x2048xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> tensor<8x2048xf32> {
    %0 = cleave.kernel ins(%x : tensor<8x2048xf32>) -> tensor<8x2048xf32> attributes {label = "exp"} {
    ^bb0(%a: tensor<8x2048xf32>):
      %e = cleave.exp %a : tensor<8x2048xf32>
      cleave.yield %e : tensor<8x2048xf32>
    }
    return %0 : tensor<8x2048xf32>
  }

  func.func @c0.bwd(%y: tensor<8x2048xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %0 = cleave.kernel ins(%y : tensor<8x2048xf32>) -> tensor<2048xf32> attributes {label = "grad"} {
    ^bb0(%a: tensor<8x2048xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<8x2048xf32> -> tensor<2048xf32>
      cleave.yield %s : tensor<2048xf32>
    }
    cleave.write %0, @g : tensor<2048xf32>
    return
  }

  func.func @update() {
    %w = cleave.read @w : tensor<2048xf32>
    %g = cleave.read @g : tensor<2048xf32>
    %r = shard.all_reduce %g on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n = cleave.kernel ins(%w, %r : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%a: tensor<2048xf32>, %b: tensor<2048xf32>):
      %s = cleave.sub %a, %b : tensor<2048xf32>
      cleave.yield %s : tensor<2048xf32>
    }
    cleave.write %n, @w : tensor<2048xf32>
    // A rank's own gradient beside the reduced one.
    %o = cleave.kernel ins(%g : tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "own"} {
    ^bb0(%a: tensor<2048xf32>):
      %s = cleave.mul %a, %a : tensor<2048xf32>
      cleave.yield %s : tensor<2048xf32>
    }
    cleave.write %o, @local : tensor<2048xf32>
    return
  }
}

// CHECK: plan.state @g {{.*}} in "persistent" at [[G:[0-9]+]]
// CHECK: plan.program @train_step entry
// CHECK: plan.launch @grad {{.*}}#plan.buffer<"persistent", [[G]], 8192, write>
// CHECK: plan.copy <"transient", [[COPY:[0-9]+]], 8192, write>, <"persistent", [[G]], 8192, read>
// CHECK: plan.all_reduce sum <"transient", [[COPY]], 8192, read_write>
// CHECK-DAG: plan.launch @sgd {{.*}}#plan.buffer<"transient", [[COPY]], 8192, read>
// CHECK-DAG: plan.launch @own {{.*}}#plan.buffer<"persistent", [[G]], 8192, read>
