// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels),name-kernels)' | FileCheck %s

// Equal bodies and types share a label; another type, or another op, does not.
// CHECK-LABEL: func.func @layers
// CHECK:       cleave.kernel {{.*}}label = "k0"
// CHECK:       cleave.kernel {{.*}}label = "k0"
// CHECK:       cleave.kernel {{.*}}label = "k1"
func.func @layers(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = cleave.exp %x : tensor<4x4xf32>
  %1 = cleave.matmul %0, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = cleave.exp %1 : tensor<4x4xf32>
  %3 = cleave.matmul %2, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = cleave.tanh %3 : tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @other_type
// CHECK:       cleave.kernel {{.*}}label = "k2"
func.func @other_type(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = cleave.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
