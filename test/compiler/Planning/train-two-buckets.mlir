// RUN: cleave-opt %s --planning-pipeline | FileCheck %s
// RUN: sed -e 's/\[2\]>, cleave.micro/[1024]>, cleave.micro/' %s | cleave-opt --planning-pipeline | FileCheck %s --check-prefix=MANY

// Forward, backward and update of a two-layer network on dp = 2, one bucket a layer. The second layer's bucket is complete first; its
// all-reduce is issued there, beside the rest of the backward pass, and the update waits for it. Gradients are made in their
// buckets, which are the states themselves: nothing is copied.

#replicated = #cleave.sharding<[[]]>
#partial = #cleave.sharding<[[]], partial = ["dp"]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w1 : tensor<16384xf32> {role = #cleave.role<parameter>, storage = #replicated,
    segments = [#cleave.segment<"fc1.weight", tensor<128x128xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w2 : tensor<16384xf32> {role = #cleave.role<parameter>, storage = #replicated,
    segments = [#cleave.segment<"fc2.weight", tensor<128x128xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g1 : tensor<16384xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial, segments = [#cleave.segment<"g1", tensor<16384xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g2 : tensor<16384xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #partial, segments = [#cleave.segment<"g2", tensor<16384xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @scalar.loss_sum : tensor<f32> {role = #cleave.role<scalar>, segments = [#cleave.segment<"scalar.loss_sum", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @scalar.loss : tensor<f32> {role = #cleave.role<scalar>, segments = [#cleave.segment<"scalar.loss", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  func.func @c0.fwd(%x: tensor<8x128xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<8x128xf32>, tensor<8x128xf32>) {
    %0 = cleave.read @w1 : tensor<16384xf32>
    %1 = cleave.reshape %0 : tensor<16384xf32> -> tensor<128x128xf32>
    %2 = cleave.matmul %x, %1 : tensor<8x128xf32>, tensor<128x128xf32> -> tensor<8x128xf32>
    %3 = cleave.read @w2 : tensor<16384xf32>
    %4 = cleave.reshape %3 : tensor<16384xf32> -> tensor<128x128xf32>
    %5 = cleave.matmul %2, %4 : tensor<8x128xf32>, tensor<128x128xf32> -> tensor<8x128xf32>
    %6 = cleave.kernel ins(%5 : tensor<8x128xf32>) -> tensor<f32> attributes {label = "sum"} {
    ^bb0(%a: tensor<8x128xf32>):
      %s = cleave.reduce sum %a, [0, 1] : tensor<8x128xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    cleave.write %6, @scalar.loss_sum : tensor<f32>
    return %2, %5 : tensor<8x128xf32>, tensor<8x128xf32>
  }

  func.func @c0.bwd(%h: tensor<8x128xf32> {cleave.residual = 0 : i64}, %o: tensor<8x128xf32> {cleave.residual = 1 : i64},
                    %x: tensor<8x128xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %0 = cleave.matmul %h, %o {transpose_lhs} : tensor<8x128xf32>, tensor<8x128xf32> -> tensor<128x128xf32>
    %1 = cleave.reshape %0 : tensor<128x128xf32> -> tensor<16384xf32>
    cleave.write %1, @g2 : tensor<16384xf32>
    %2 = cleave.read @w2 : tensor<16384xf32>
    %3 = cleave.reshape %2 : tensor<16384xf32> -> tensor<128x128xf32>
    %4 = cleave.matmul %o, %3 {transpose_rhs} : tensor<8x128xf32>, tensor<128x128xf32> -> tensor<8x128xf32>
    %5 = cleave.matmul %x, %4 {transpose_lhs} : tensor<8x128xf32>, tensor<8x128xf32> -> tensor<128x128xf32>
    // Two halves laid end to end.
    %6 = cleave.slice %5, [0, 0], [64, 128], [1, 1] : tensor<128x128xf32> -> tensor<64x128xf32>
    %7 = cleave.reshape %6 : tensor<64x128xf32> -> tensor<8192xf32>
    %8 = cleave.kernel ins(%5 : tensor<128x128xf32>) -> tensor<8192xf32> attributes {label = "half"} {
    ^bb0(%a: tensor<128x128xf32>):
      %s = cleave.slice %a, [64, 0], [64, 128], [1, 1] : tensor<128x128xf32> -> tensor<64x128xf32>
      %r = cleave.reshape %s : tensor<64x128xf32> -> tensor<8192xf32>
      cleave.yield %r : tensor<8192xf32>
    }
    %9 = cleave.concat %7, %8 dim = 0 : tensor<8192xf32>, tensor<8192xf32> -> tensor<16384xf32>
    cleave.write %9, @g1 : tensor<16384xf32>
    return
  }

  func.func @update() {
    %l = cleave.read @scalar.loss_sum : tensor<f32>
    %loss = shard.all_reduce %l on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<f32> -> tensor<f32>
    cleave.write %loss, @scalar.loss : tensor<f32>
    %w2 = cleave.read @w2 : tensor<16384xf32>
    %g2 = cleave.read @g2 : tensor<16384xf32>
    %r2 = shard.all_reduce %g2 on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<16384xf32> -> tensor<16384xf32>
    %n2 = cleave.kernel ins(%w2, %r2 : tensor<16384xf32>, tensor<16384xf32>) -> tensor<16384xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<16384xf32>, %g: tensor<16384xf32>):
      %n = cleave.sub %w, %g : tensor<16384xf32>
      cleave.yield %n : tensor<16384xf32>
    }
    cleave.write %n2, @w2 : tensor<16384xf32>
    %w1 = cleave.read @w1 : tensor<16384xf32>
    %g1 = cleave.read @g1 : tensor<16384xf32>
    %r1 = shard.all_reduce %g1 on @mesh grid_axes = [0] {cleave.instance = 2 : i64} : tensor<16384xf32> -> tensor<16384xf32>
    %n1 = cleave.kernel ins(%w1, %r1 : tensor<16384xf32>, tensor<16384xf32>) -> tensor<16384xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<16384xf32>, %g: tensor<16384xf32>):
      %n = cleave.sub %w, %g : tensor<16384xf32>
      cleave.yield %n : tensor<16384xf32>
    }
    cleave.write %n1, @w1 : tensor<16384xf32>
    return
  }
}

// CHECK: plan.header
// CHECK-SAME: streams = ["compute", "reduce"]
// CHECK: plan.state @g1 : tensor<16384xf32> gradient in "persistent" at 131072 {{.*}} {partial_axes = ["dp"], slot = "grad"}
// CHECK: plan.state @g2 : tensor<16384xf32> gradient in "persistent" at 196608
// CHECK: plan.group @group.dp axes = ["dp"]
// CHECK: plan.program @train_step entry
//      The scalar, padded to the ranks; its sum is ready before the backward pass.
// CHECK: plan.launch @sum
// CHECK: plan.all_reduce sum {{.*}} count = 2 on "reduce"
//      The second layer's gradient goes into its state, which is reduced in place while the backward pass goes on.
// CHECK: plan.launch @matmul.{{[0-9]+}} {{.*}}#plan.buffer<"persistent", 196608, 65536, write>
// CHECK: plan.record [[G2:[0-9]+]] on "compute"
// CHECK-NEXT: plan.wait [[G2]] on "reduce"
// CHECK-NEXT: plan.all_reduce sum <"persistent", 196608, 65536, read_write> staging <"communication", 0, 32768, write> group @group.dp dtype f32 ring count = 16384 on "reduce"
// CHECK-NEXT: plan.record [[R2:[0-9]+]] on "reduce"
// CHECK-NEXT: plan.launch @matmul
// CHECK-NEXT: plan.launch @matmul
//      One half is made where it belongs, the other is part of something else.
// CHECK-NEXT: plan.copy <"persistent", 131072, 32768, write>
// CHECK-NEXT: plan.launch @half {{.*}}#plan.buffer<"persistent", 163840, 32768, write>
// CHECK: plan.all_reduce sum <"persistent", 131072, 65536, read_write>
//      The update waits for its own bucket only.
// CHECK: plan.wait [[R2]] on "compute"
// CHECK-NEXT: plan.launch @sgd [#plan.buffer<"persistent", 65536, 65536, read>, #plan.buffer<"persistent", 196608, 65536, read>, #plan.buffer<"persistent", 65536, 65536, write>]
// CHECK: plan.wait {{[0-9]+}} on "compute"
// CHECK-NEXT: plan.launch @sgd
// CHECK-NOT: plan.copy <"persistent"

//      As many instructions on a thousand ranks; only the scalar's padding and the staging differ.
// MANY: plan.program @train_step entry events = 6
// MANY-COUNT-3: plan.all_reduce
// MANY-NOT: plan.all_reduce
