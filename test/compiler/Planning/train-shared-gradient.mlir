// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// Two buckets hold the same gradient, as those of two branches whose bias gradients are one value. It is made in the first bucket and
// copied into the second, early, so that the first may be reduced in place; the buckets themselves are not copied.

#replicated = #cleave.sharding<[[]]>
#partial = #cleave.sharding<[[]], partial = ["dp"]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w1 : tensor<2048xf32> {role = #cleave.role<parameter>, storage = #replicated,
    segments = [#cleave.segment<"w1", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w2 : tensor<2048xf32> {role = #cleave.role<parameter>, storage = #replicated,
    segments = [#cleave.segment<"w2", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g1 : tensor<2048xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial,
    segments = [#cleave.segment<"g1", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g2 : tensor<2048xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial,
    segments = [#cleave.segment<"g2", tensor<2048xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  func.func @c0.fwd(%x: tensor<8x1024xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> tensor<8x1024xf32> {
    %0 = cleave.kernel ins(%x : tensor<8x1024xf32>) -> tensor<8x1024xf32> attributes {label = "exp"} {
    ^bb0(%a: tensor<8x1024xf32>):
      %e = cleave.exp %a : tensor<8x1024xf32>
      cleave.yield %e : tensor<8x1024xf32>
    }
    return %0 : tensor<8x1024xf32>
  }

  func.func @c0.bwd(%y: tensor<8x1024xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %shared = cleave.kernel ins(%y : tensor<8x1024xf32>) -> tensor<1024xf32> attributes {label = "bias"} {
    ^bb0(%a: tensor<8x1024xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<8x1024xf32> -> tensor<1024xf32>
      cleave.yield %s : tensor<1024xf32>
    }
    %one = cleave.kernel ins(%y : tensor<8x1024xf32>) -> tensor<1024xf32> attributes {label = "one"} {
    ^bb0(%a: tensor<8x1024xf32>):
      %s = cleave.reduce max %a, [0] : tensor<8x1024xf32> -> tensor<1024xf32>
      cleave.yield %s : tensor<1024xf32>
    }
    %first = cleave.concat %shared, %one dim = 0 : tensor<1024xf32>, tensor<1024xf32> -> tensor<2048xf32>
    cleave.write %first, @g1 : tensor<2048xf32>
    %two = cleave.kernel ins(%y : tensor<8x1024xf32>) -> tensor<1024xf32> attributes {label = "two"} {
    ^bb0(%a: tensor<8x1024xf32>):
      %e = cleave.exp %a : tensor<8x1024xf32>
      %s = cleave.reduce sum %e, [0] : tensor<8x1024xf32> -> tensor<1024xf32>
      cleave.yield %s : tensor<1024xf32>
    }
    %second = cleave.concat %two, %shared dim = 0 : tensor<1024xf32>, tensor<1024xf32> -> tensor<2048xf32>
    cleave.write %second, @g2 : tensor<2048xf32>
    return
  }

  func.func @update() {
    %w1 = cleave.read @w1 : tensor<2048xf32>
    %g1 = cleave.read @g1 : tensor<2048xf32>
    %r1 = shard.all_reduce %g1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n1 = cleave.kernel ins(%w1, %r1 : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<2048xf32>, %g: tensor<2048xf32>):
      %n = cleave.sub %w, %g : tensor<2048xf32>
      cleave.yield %n : tensor<2048xf32>
    }
    cleave.write %n1, @w1 : tensor<2048xf32>
    %w2 = cleave.read @w2 : tensor<2048xf32>
    %g2 = cleave.read @g2 : tensor<2048xf32>
    %r2 = shard.all_reduce %g2 on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n2 = cleave.kernel ins(%w2, %r2 : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<2048xf32>, %g: tensor<2048xf32>):
      %n = cleave.sub %w, %g : tensor<2048xf32>
      cleave.yield %n : tensor<2048xf32>
    }
    cleave.write %n2, @w2 : tensor<2048xf32>
    return
  }
}

// CHECK: plan.state @g1 {{.*}} in "persistent" at 16384
// CHECK: plan.state @g2 {{.*}} in "persistent" at 24576
// CHECK: plan.program @train_step entry
// CHECK: plan.launch @bias {{.*}}#plan.buffer<"persistent", 16384, 4096, write>
//      The shared gradient goes into the second bucket before anything reduces the first.
// CHECK-NEXT: plan.copy <"persistent", 28672, 4096, write>, <"persistent", 16384, 4096, read>
// CHECK-NEXT: plan.launch @one {{.*}}#plan.buffer<"persistent", 20480, 4096, write>
// CHECK-NOT: plan.copy
// CHECK: plan.all_reduce sum <"persistent", 16384, 8192, read_write>
//      The backward pass goes on beside it.
// CHECK: plan.launch @two {{.*}}#plan.buffer<"persistent", 24576, 4096, write>
// CHECK-NOT: plan.copy
// CHECK: plan.all_reduce sum <"persistent", 24576, 8192, read_write>
// CHECK-NOT: plan.copy
