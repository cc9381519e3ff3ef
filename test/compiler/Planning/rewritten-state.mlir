// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// A state that is written twice in one program, as forward, backward and update are after flattening: the first value is used
// behind the second write, so it must not lie in the state. In @a it would be made there; in @b it would take over the read's bytes.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  cleave.state @a : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"a", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @b : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"b", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  func.func @train_step(%x: tensor<64xf32> {cleave.name = "x"}) -> (tensor<64xf32> {cleave.name = "y"}, tensor<64xf32> {cleave.name = "z"}) attributes {cleave.entry} {
    %p = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "first"} {
    ^bb0(%i: tensor<64xf32>):
      %e = cleave.exp %i : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    cleave.write %p, @a : tensor<64xf32>
    %q = cleave.kernel ins(%x : tensor<64xf32>) -> tensor<64xf32> attributes {label = "second"} {
    ^bb0(%i: tensor<64xf32>):
      %e = cleave.tanh %i : tensor<64xf32>
      cleave.yield %e : tensor<64xf32>
    }
    cleave.write %q, @a : tensor<64xf32>
    %y = cleave.kernel ins(%p : tensor<64xf32>) -> tensor<64xf32> attributes {label = "use"} {
    ^bb0(%i: tensor<64xf32>):
      %n = cleave.neg %i : tensor<64xf32>
      cleave.yield %n : tensor<64xf32>
    }
    %old = cleave.read @b : tensor<64xf32>
    %r = cleave.kernel ins(%old, %x : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> attributes {label = "count", tied = array<i64: 0>} {
    ^bb0(%i: tensor<64xf32>, %j: tensor<64xf32>):
      %s = cleave.add %i, %j : tensor<64xf32>
      cleave.yield %s : tensor<64xf32>
    }
    cleave.write %r, @b : tensor<64xf32>
    cleave.write %q, @b : tensor<64xf32>
    %z = cleave.kernel ins(%r : tensor<64xf32>) -> tensor<64xf32> attributes {label = "late"} {
    ^bb0(%i: tensor<64xf32>):
      %n = cleave.exp %i : tensor<64xf32>
      cleave.yield %n : tensor<64xf32>
    }
    return %y, %z : tensor<64xf32>, tensor<64xf32>
  }
}

// CHECK-DAG: plan.state @a {{.*}} in "persistent" at 0
// CHECK-DAG: plan.state @b {{.*}} in "persistent" at [[B:[0-9]+]]
// CHECK: plan.program @train_step
// CHECK: plan.launch @first {{.*}}, #plan.buffer<"transient", [[P:[0-9]+]], 256, write>]
// CHECK: plan.copy <"persistent", 0, 256, write>, <"transient", [[P]], 256, read>
// CHECK: plan.launch @second
// CHECK: plan.launch @use [#plan.buffer<"transient", [[P]], 256, read>
// CHECK: plan.copy <"transient", [[R:[0-9]+]], 256, write>, <"persistent", [[B]], 256, read>
// CHECK: plan.launch @count [#plan.buffer<"transient", [[R]], 256, read>, {{.*}}, #plan.buffer<"transient", [[R]], 256, write>]
// CHECK: plan.copy <"persistent", [[B]], 256, write>, <"transient", [[R]], 256, read>
// CHECK: plan.launch @late [#plan.buffer<"transient", [[R]], 256, read>
