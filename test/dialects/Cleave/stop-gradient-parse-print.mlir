// RUN: cleave-opt %s -split-input-file | cleave-opt -split-input-file | FileCheck %s
// RUN: cleave-opt %s -split-input-file -build-inference | FileCheck %s --check-prefix=INFER

// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.stop_gradient %arg0 : tensor<2x3xf32>
// CHECK: cleave.mul %arg0, %[[S]]
// INFER-LABEL: func @infer
// INFER: cleave.mul %arg0, %arg0
// INFER-NOT: stop_gradient
func.func @model(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = cleave.stop_gradient %x : tensor<2x3xf32>
  %y = cleave.mul %x, %s : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
