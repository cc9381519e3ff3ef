// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// As delay-line.mlir, in the first of two stages: states hand on, from micro-batch to micro-batch, what is all zero at first. Bodies of
// pipelines are proved by themselves, for whatever states hold (Planning/Verify/Rationale.md, "Bodies by themselves"); ChangedPlansTest confuses
// two places of the line.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["pp"], [2]>, cleave.micro_batches = 64 : i64,
                   cleave.pipeline = {axis = "pp", schedule = "1f1b"}} {
  shard.grid @mesh(shape = 2)
  cleave.state @w0 : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w1 : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g0 : tensor<16xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"g0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g1 : tensor<16xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"g1", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @sum : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"sum", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d1 : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"d1", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d2 : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"d2", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d3 : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"d3", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d4 : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"d4", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<16xf32> {cleave.name = "x"}) -> (tensor<16xf32> {cleave.edge = "c0:0"}) {
    %w = cleave.read @w0 : tensor<16xf32>
    %last = cleave.read @d4 : tensor<16xf32>
    %old = cleave.read @sum : tensor<16xf32>
    %new = cleave.kernel ins(%old, %last : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add1", tied = array<i64: 0>} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.add %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @sum : tensor<16xf32>
    %3 = cleave.read @d3 : tensor<16xf32>
    cleave.write %3, @d4 : tensor<16xf32>
    %2 = cleave.read @d2 : tensor<16xf32>
    cleave.write %2, @d3 : tensor<16xf32>
    %1 = cleave.read @d1 : tensor<16xf32>
    cleave.write %1, @d2 : tensor<16xf32>
    cleave.write %x, @d1 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul2"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y : tensor<16xf32>
  }
  func.func @c0.bwd(%x: tensor<16xf32> {cleave.name = "x"}, %dy: tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd} {
    %t = cleave.kernel ins(%x, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul3"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %old = cleave.read @g0 : tensor<16xf32>
    %new = cleave.kernel ins(%old, %t : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add4"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.add %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @g0 : tensor<16xf32>
    return
  }
  func.func @c1.fwd(%x: tensor<16xf32> {cleave.edge = "c0:0"}) -> (tensor<16xf32>) {
    %w = cleave.read @w1 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul5"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y : tensor<16xf32>
  }
  func.func @c1.bwd(%x: tensor<16xf32> {cleave.edge = "c0:0"}, %dy: tensor<16xf32> {cleave.residual = 0 : i64}) -> (tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd} {
    %w = cleave.read @w1 : tensor<16xf32>
    %dx = cleave.kernel ins(%dy, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul6"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %t = cleave.kernel ins(%x, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul7"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %old = cleave.read @g1 : tensor<16xf32>
    %new = cleave.kernel ins(%old, %t : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "add8"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.add %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @g1 : tensor<16xf32>
    return %dx : tensor<16xf32>
  }
  func.func @c0.fwd.first(%x: tensor<16xf32> {cleave.name = "x"}) -> (tensor<16xf32> {cleave.edge = "c0:0"}) {
    %w = cleave.read @w0 : tensor<16xf32>
    %zero = cleave.constant dense<0.0> : tensor<16xf32>
    cleave.write %zero, @d1 : tensor<16xf32>
    cleave.write %zero, @d2 : tensor<16xf32>
    cleave.write %zero, @d3 : tensor<16xf32>
    cleave.write %zero, @d4 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul9"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y : tensor<16xf32>
  }
  func.func @c0.bwd.first(%x: tensor<16xf32> {cleave.name = "x"}, %dy: tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd.first} {
    %t = cleave.kernel ins(%x, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul10"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %t, @g0 : tensor<16xf32>
    return
  }
  func.func @c1.fwd.first(%x: tensor<16xf32> {cleave.edge = "c0:0"}) -> (tensor<16xf32>) {
    %w = cleave.read @w1 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul11"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %y : tensor<16xf32>
  }
  func.func @c1.bwd.first(%x: tensor<16xf32> {cleave.edge = "c0:0"}, %dy: tensor<16xf32> {cleave.residual = 0 : i64}) -> (tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd.first} {
    %w = cleave.read @w1 : tensor<16xf32>
    %dx = cleave.kernel ins(%dy, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul12"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %t = cleave.kernel ins(%x, %dy : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul13"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %t, @g1 : tensor<16xf32>
    return %dx : tensor<16xf32>
  }
  func.func @update() {
    %g0 = cleave.read @g0 : tensor<16xf32>
    cleave.write %g0, @w0 : tensor<16xf32>
    %g1 = cleave.read @g1 : tensor<16xf32>
    cleave.write %g1, @w1 : tensor<16xf32>
    return
  }
}

// CHECK: plan.program @c0.fwd {{.*}}"state d4"
// CHECK: plan.call @loop.{{[0-9]+}} times = 6{{[0-9]}}
