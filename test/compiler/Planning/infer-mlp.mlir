// RUN: cleave-opt %s --planning-pipeline | FileCheck %s
// RUN: cleave-opt %s --flatten-programs --build-plan --verify-plan | FileCheck %s

// An MLP in kernels form. The activations alternate between two places; the result is made in the output's place; the view costs
// nothing; the batch and what splits it are in the header.

module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  cleave.state @w1 : tensor<16x32xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"fc1.weight", tensor<16x32xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w2 : tensor<32x4xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"fc2.weight", tensor<32x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @infer(%x: tensor<8x4x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], [], []]>})
      -> (tensor<8x4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    %0 = cleave.reshape %x : tensor<8x4x4xf32> -> tensor<8x16xf32>
    %1 = cleave.read @w1 : tensor<16x32xf32>
    %2 = cleave.matmul %0, %1 : tensor<8x16xf32>, tensor<16x32xf32> -> tensor<8x32xf32>
    %3 = cleave.kernel ins(%2 : tensor<8x32xf32>) -> tensor<8x32xf32> attributes {label = "relu_0", tied = array<i64: 0>} {
    ^bb0(%a: tensor<8x32xf32>):
      %r = cleave.relu %a : tensor<8x32xf32>
      cleave.yield %r : tensor<8x32xf32>
    }
    %4 = cleave.read @w2 : tensor<32x4xf32>
    %5 = cleave.matmul %3, %4 : tensor<8x32xf32>, tensor<32x4xf32> -> tensor<8x4xf32>
    return %5 : tensor<8x4xf32>
  }
}

// CHECK: plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {batch = 8 : i64, data_axes = ["dp"]}
// CHECK-DAG: plan.region @persistent persistent bytes = 2560 frames = 1
// CHECK-DAG: plan.region @input input bytes = 512 frames = 1
// CHECK-DAG: plan.region @output output bytes = 128 frames = 1
// CHECK-DAG: plan.region @transient transient bytes = 1024 frames = 1
// CHECK: plan.state @w1 : tensor<512xf32> parameter in "persistent" at 0
// CHECK: plan.state @w2 : tensor<128xf32> parameter in "persistent" at 2048
// CHECK: plan.kernel @matmul.0 library "matmul"
// CHECK: plan.kernel @relu_0 generated "relu_0" params = [] operands = [#plan.operand<f32, 1024, read>, #plan.operand<f32, 1024, write over 0>]
// CHECK: plan.program @infer entry events = 0
// CHECK-NEXT: plan.input "x" : tensor<8x4x4xf32> in "input" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
// CHECK-NEXT: plan.output "y" : tensor<8x4xf32> in "output" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
// CHECK-NEXT: plan.launch @matmul.0 [#plan.buffer<"input", 0, 512, read>, #plan.buffer<"persistent", 0, 2048, read>, #plan.buffer<"transient", 0, 1024, write>
// CHECK-NEXT: plan.launch @relu_0 [#plan.buffer<"transient", 0, 1024, read>, #plan.buffer<"transient", 0, 1024, write>]
// CHECK-NEXT: plan.launch @matmul.{{[0-9]+}} [#plan.buffer<"transient", 0, 1024, read>, #plan.buffer<"persistent", 2048, 512, read>, #plan.buffer<"output", 0, 128, write>
