// RUN: cleave-opt %s --cse | FileCheck %s
// Two reads are one when no write stands between them.

cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// CHECK-LABEL: func @merged
// CHECK-COUNT-1: cleave.read
// CHECK-NOT: cleave.read
// CHECK: return
func.func @merged() -> (tensor<4xf32>, tensor<4xf32>) {
  %a = cleave.read @w : tensor<4xf32>
  %b = cleave.read @w : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @kept
// CHECK: cleave.read
// CHECK: cleave.write
// CHECK: cleave.read
func.func @kept(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = cleave.read @w : tensor<4xf32>
  cleave.write %x, @w : tensor<4xf32>
  %b = cleave.read @w : tensor<4xf32>
  return %a, %b : tensor<4xf32>, tensor<4xf32>
}
