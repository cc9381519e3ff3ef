// RUN: cleave-opt %s -pass-pipeline='builtin.module(offload-values,planning-pipeline)' | FileCheck %s

// Five accumulators of the host are reduced; a norm takes each, the update takes it again. Reductions move up to where the accumulators
// are known, norms do not, so what a norm takes comes to the device once more: the device has three at a time, not all five until the norms.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @g0 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w0", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w0 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w0", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g1 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w1", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w1 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w1", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g2 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w2", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w2 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w2", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g3 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w3", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w3 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w3", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g4 : tensor<64xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w4", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w4 : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w4", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @train_step() -> (tensor<f32> {cleave.name = "norm0"}, tensor<f32> {cleave.name = "norm1"}, tensor<f32> {cleave.name = "norm2"}, tensor<f32> {cleave.name = "norm3"}, tensor<f32> {cleave.name = "norm4"}) attributes {cleave.entry} {
    %g0 = cleave.read @g0 : tensor<64xf32>
    %r0 = shard.all_reduce %g0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<64xf32> -> tensor<64xf32>
    %n0 = cleave.kernel ins(%r0 : tensor<64xf32>) -> tensor<f32> attributes {label = "norm"} {
    ^bb0(%a: tensor<64xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    %g1 = cleave.read @g1 : tensor<64xf32>
    %r1 = shard.all_reduce %g1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<64xf32> -> tensor<64xf32>
    %n1 = cleave.kernel ins(%r1 : tensor<64xf32>) -> tensor<f32> attributes {label = "norm"} {
    ^bb0(%a: tensor<64xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    %g2 = cleave.read @g2 : tensor<64xf32>
    %r2 = shard.all_reduce %g2 on @mesh grid_axes = [0] {cleave.instance = 2 : i64} : tensor<64xf32> -> tensor<64xf32>
    %n2 = cleave.kernel ins(%r2 : tensor<64xf32>) -> tensor<f32> attributes {label = "norm"} {
    ^bb0(%a: tensor<64xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    %g3 = cleave.read @g3 : tensor<64xf32>
    %r3 = shard.all_reduce %g3 on @mesh grid_axes = [0] {cleave.instance = 3 : i64} : tensor<64xf32> -> tensor<64xf32>
    %n3 = cleave.kernel ins(%r3 : tensor<64xf32>) -> tensor<f32> attributes {label = "norm"} {
    ^bb0(%a: tensor<64xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    %g4 = cleave.read @g4 : tensor<64xf32>
    %r4 = shard.all_reduce %g4 on @mesh grid_axes = [0] {cleave.instance = 4 : i64} : tensor<64xf32> -> tensor<64xf32>
    %n4 = cleave.kernel ins(%r4 : tensor<64xf32>) -> tensor<f32> attributes {label = "norm"} {
    ^bb0(%a: tensor<64xf32>):
      %s = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
      cleave.yield %s : tensor<f32>
    }
    cleave.write %r0, @w0 : tensor<64xf32>
    cleave.write %r1, @w1 : tensor<64xf32>
    cleave.write %r2, @w2 : tensor<64xf32>
    cleave.write %r3, @w3 : tensor<64xf32>
    cleave.write %r4, @w4 : tensor<64xf32>
    return %n0, %n1, %n2, %n3, %n4 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
}

// CHECK: plan.region @transient transient bytes = 768 frames = 1
// CHECK: plan.program @train_step
// CHECK: plan.all_reduce sum <"transient", [[A:[0-9]+]], 256, read_write>
// CHECK: plan.copy <"host.residual", 0, 256, write>, <"transient", [[A]], 256, read> on "copy"
// CHECK: plan.copy <"transient", [[B:[0-9]+]], 256, write>, <"host.residual", 0, 256, read> on "copy"
// CHECK: plan.launch @norm [#plan.buffer<"transient", [[B]], 256, read>
