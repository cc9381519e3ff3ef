// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// A bucket's gradients are added to what it has: each sum is put into the bucket as soon as nobody reads these bytes, not with the last one.
// So the device never has a second bucket, and the all-reduce of the first runs beside the backward pass of the second. Where the old
// sums are read behind the concat (the first micro-batch, here), the new ones are made beside them.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 2 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @g0 : tensor<8192xf32> {role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"g0", tensor<8192xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g1 : tensor<8192xf32> {role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"g1", tensor<8192xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w0 : tensor<8192xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w0", tensor<8192xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w1 : tensor<8192xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w1", tensor<8192xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @copy : tensor<8192xf32> {role = #cleave.role<optimizer>, slot = "copy",
    segments = [#cleave.segment<"g1", tensor<8192xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd.first() {
    %zeros = cleave.constant dense<0.0> : tensor<8192xf32>
    cleave.write %zeros, @g0 : tensor<8192xf32>
    cleave.write %zeros, @g1 : tensor<8192xf32>
    return
  }
  func.func @c0.bwd.first(%x: tensor<8x64xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) {
    %b1 = cleave.read @g1 : tensor<8192xf32>
    %m10 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f10 = cleave.reshape %m10 : tensor<64x64xf32> -> tensor<4096xf32>
    %o10 = cleave.slice %b1, [0], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s10 = cleave.kernel ins(%o10, %f10 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %m11 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f11 = cleave.reshape %m11 : tensor<64x64xf32> -> tensor<4096xf32>
    %o11 = cleave.slice %b1, [4096], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s11 = cleave.kernel ins(%o11, %f11 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %n1 = cleave.concat %s10, %s11 dim = 0 : tensor<4096xf32>, tensor<4096xf32> -> tensor<8192xf32>
    cleave.write %b1, @copy : tensor<8192xf32>
    cleave.write %n1, @g1 : tensor<8192xf32>
    return
  }
  func.func @c0.fwd() {
    return
  }
  func.func @c0.bwd(%x: tensor<8x64xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) {
    %b1 = cleave.read @g1 : tensor<8192xf32>
    %m10 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f10 = cleave.reshape %m10 : tensor<64x64xf32> -> tensor<4096xf32>
    %o10 = cleave.slice %b1, [0], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s10 = cleave.kernel ins(%o10, %f10 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %m11 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f11 = cleave.reshape %m11 : tensor<64x64xf32> -> tensor<4096xf32>
    %o11 = cleave.slice %b1, [4096], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s11 = cleave.kernel ins(%o11, %f11 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %n1 = cleave.concat %s10, %s11 dim = 0 : tensor<4096xf32>, tensor<4096xf32> -> tensor<8192xf32>
    %b0 = cleave.read @g0 : tensor<8192xf32>
    %m00 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f00 = cleave.reshape %m00 : tensor<64x64xf32> -> tensor<4096xf32>
    %o00 = cleave.slice %b0, [0], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s00 = cleave.kernel ins(%o00, %f00 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %m01 = cleave.matmul %x, %x {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %f01 = cleave.reshape %m01 : tensor<64x64xf32> -> tensor<4096xf32>
    %o01 = cleave.slice %b0, [4096], [4096], [1] : tensor<8192xf32> -> tensor<4096xf32>
    %s01 = cleave.kernel ins(%o01, %f01 : tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32> attributes {label = "add", tied = array<i64: 1>} {
    ^bb0(%a: tensor<4096xf32>, %c: tensor<4096xf32>):
      %s = cleave.add %a, %c : tensor<4096xf32>
      cleave.yield %s : tensor<4096xf32>
    }
    %n0 = cleave.concat %s00, %s01 dim = 0 : tensor<4096xf32>, tensor<4096xf32> -> tensor<8192xf32>
    cleave.write %n1, @g1 : tensor<8192xf32>
    cleave.write %n0, @g0 : tensor<8192xf32>
    return
  }
  func.func @update() {
    %g1 = cleave.read @g1 : tensor<8192xf32>
    %r1 = shard.all_reduce %g1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<8192xf32> -> tensor<8192xf32>
    cleave.write %r1, @w1 : tensor<8192xf32>
    %g0 = cleave.read @g0 : tensor<8192xf32>
    %r0 = shard.all_reduce %g0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<8192xf32> -> tensor<8192xf32>
    cleave.write %r0, @w0 : tensor<8192xf32>
    return
  }
}

// CHECK: plan.region @transient transient bytes = 32768 frames = 1
// CHECK: plan.program @micro.first
// CHECK: plan.launch @add
// CHECK-NEXT: plan.launch @matmul.0
// CHECK-NEXT: plan.launch @add
// CHECK-NEXT: plan.copy <"persistent", [[OLD:[0-9]+]], 32768, write>, <"persistent", [[G:[0-9]+]], 32768, read>
// CHECK-NEXT: plan.copy <"persistent", [[G]], 32768, write>, <"transient", 0, 32768, read>
// CHECK: plan.program @micro.last {{.*}}activation = 16384
// CHECK: plan.launch @add
// CHECK-NEXT: plan.copy <"persistent", [[G]], 16384, write>, <"transient", 0, 16384, read>
// CHECK-NEXT: plan.launch @matmul.0
// CHECK-NEXT: plan.launch @add
// CHECK-NEXT: plan.copy <"persistent", {{[0-9]+}}, 16384, write>, <"transient", 0, 16384, read>
// CHECK-NEXT: plan.record
// CHECK-NEXT: plan.wait
// CHECK-NEXT: plan.all_reduce sum <"persistent", [[G]], 32768, read_write>
// CHECK: plan.launch @add
