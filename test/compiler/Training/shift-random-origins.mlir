// RUN: cleave-opt %s -shift-random-origins="micro-batches=2" | FileCheck %s
// RUN: cleave-opt %s -shift-random-origins | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s -shift-random-origins="micro-batches=2 data-ranks=2" | FileCheck %s --check-prefix=RANKS

// CHECK: cleave.state @scalar.micro : tensor<i64>
// CHECK-LABEL: func @model
// CHECK: %[[M:.*]] = cleave.read @scalar.micro
// CHECK: %[[ROWS:.*]] = cleave.constant dense<4> : tensor<i64>
// CHECK: cleave.mul %[[M]], %[[ROWS]]
// CHECK: cleave.random_uniform %arg0, %arg1 origin %{{.*}} {global_shape = array<i64: 8, 3>
// CHECK: cleave.write %{{.*}}, @scalar.micro
// The second rank's samples begin behind both micro-batches of the first.
// RANKS: %[[ROWS:.*]] = cleave.constant dense<2> : tensor<i64>
// RANKS: %[[FIRST:.*]] = cleave.mul %{{.*}}, %[[ROWS]]
// RANKS: %[[U:.*]] = cleave.random_uniform %arg0, %arg1 origin %{{.*}} {global_shape = array<i64: 2, 4, 3>
// RANKS: cleave.reshape %[[U]] : tensor<2x2x3xf32> -> tensor<4x3xf32>
// ONE-NOT: origin
// ONE-NOT: scalar.micro
func.func @model(%seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x3xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 3>} : tensor<i64>, tensor<i64> -> tensor<4x3xf32>
  return %u : tensor<4x3xf32>
}
