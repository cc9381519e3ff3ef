// RUN: cleave-opt %s --planning-pipeline | FileCheck %s

// A body that hands what it reads on from call to call: after the first micro-batch all of the line is zero, so that for as many calls
// one place cannot be told from another by what lies there. The plan therefore states what the body does by itself, too
// (Planning/Verify/Rationale.md, "Calls"); ChangedPlansTest confuses two places of the line.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [1]>, cleave.micro_batches = 12 : i64} {
  cleave.state @sum : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"sum", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d1 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d1", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d2 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d2", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d3 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d3", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d4 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d4", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d5 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d5", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @d6 : tensor<64xf32> {role = #cleave.role<buffer>,
    segments = [#cleave.segment<"d6", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd.first(%x: tensor<64xf32> {cleave.name = "x"}) {
    %zero = cleave.constant dense<0.0> : tensor<64xf32>
    cleave.write %zero, @d1 : tensor<64xf32>
    cleave.write %zero, @d2 : tensor<64xf32>
    cleave.write %zero, @d3 : tensor<64xf32>
    cleave.write %zero, @d4 : tensor<64xf32>
    cleave.write %zero, @d5 : tensor<64xf32>
    cleave.write %zero, @d6 : tensor<64xf32>
    return
  }
  func.func @c0.bwd.first() attributes {cleave.backward_of = @c0.fwd.first} {
    return
  }
  func.func @c0.fwd(%x: tensor<64xf32> {cleave.name = "x"}) {
    %last = cleave.read @d6 : tensor<64xf32>
    %sum = cleave.read @sum : tensor<64xf32>
    %new = cleave.kernel ins(%sum, %last : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> attributes {label = "add", tied = array<i64: 0>} {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %s = cleave.add %a, %b : tensor<64xf32>
      cleave.yield %s : tensor<64xf32>
    }
    cleave.write %new, @sum : tensor<64xf32>
    %5 = cleave.read @d5 : tensor<64xf32>
    cleave.write %5, @d6 : tensor<64xf32>
    %4 = cleave.read @d4 : tensor<64xf32>
    cleave.write %4, @d5 : tensor<64xf32>
    %3 = cleave.read @d3 : tensor<64xf32>
    cleave.write %3, @d4 : tensor<64xf32>
    %2 = cleave.read @d2 : tensor<64xf32>
    cleave.write %2, @d3 : tensor<64xf32>
    %1 = cleave.read @d1 : tensor<64xf32>
    cleave.write %1, @d2 : tensor<64xf32>
    cleave.write %x, @d1 : tensor<64xf32>
    return
  }
  func.func @c0.bwd() attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  func.func @update() {
    return
  }
}

// CHECK: plan.program @micro {{.*}}"state d6"
// CHECK: plan.call @micro times = 10
