// RUN: cleave-opt %s --build-programs | FileCheck %s
// RUN: cleave-opt %s --build-programs --build-plan --verify-plan | FileCheck %s --check-prefix=PLAN

// Two stages in inference. Each stage has the bytes of the inputs that it reads; those of an input that none reads are the last one's, since
// a program's port is on some kind of ranks.

// CHECK-LABEL: func.func @infer
// CHECK-SAME: tensor<8xf32> {cleave.name = "x"}, %{{.*}}: tensor<8xf32> {cleave.absent, cleave.name = "y"}, %{{.*}}: tensor<8xf32> {cleave.absent, cleave.name = "z"})
// CHECK: module @stage1
// CHECK-LABEL: func.func @infer
// CHECK-SAME: tensor<8xf32> {cleave.absent, cleave.name = "x"}, %{{.*}}: tensor<8xf32> {cleave.name = "y"}, %{{.*}}: tensor<8xf32> {cleave.name = "z"})

// PLAN: plan.input "z" : tensor<8xf32>{{ *$}}
// PLAN: plan.input "z" : tensor<8xf32> in "input"
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["pp"], [2]>, cleave.pipeline = {axis = "pp"}} {
  shard.grid @mesh(shape = 2)
  cleave.state @w0 : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @infer(%x: tensor<8xf32> {cleave.name = "x"}, %y: tensor<8xf32> {cleave.name = "y"}, %z: tensor<8xf32> {cleave.name = "z"})
      -> (tensor<8xf32> {cleave.name = "out"}) {
    %w0 = cleave.read @w0 : tensor<8xf32>
    %h = cleave.kernel ins(%x, %w0 : tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {label = "mul"} {
    ^bb0(%a0: tensor<8xf32>, %a1: tensor<8xf32>):
      %s = cleave.mul %a0, %a1 : tensor<8xf32>
      cleave.yield %s : tensor<8xf32>
    }
    %w1 = cleave.read @w1 : tensor<8xf32>
    %o = cleave.kernel ins(%h, %w1, %y : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> attributes {label = "muladd"} {
    ^bb0(%a0: tensor<8xf32>, %a1: tensor<8xf32>, %a2: tensor<8xf32>):
      %p = cleave.mul %a0, %a1 : tensor<8xf32>
      %s = cleave.add %p, %a2 : tensor<8xf32>
      cleave.yield %s : tensor<8xf32>
    }
    return %o : tensor<8xf32>
  }
}
