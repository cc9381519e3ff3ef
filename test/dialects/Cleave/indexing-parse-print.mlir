// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @indexing
func.func @indexing(%table: tensor<256x8xf32>, %tokens: tensor<2x4xi64>, %updates: tensor<2x4x8xf32>) {
  // CHECK: cleave.take %{{.*}}, %{{.*}}, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64> -> tensor<2x4x8xf32>
  %0 = cleave.take %table, %tokens, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64> -> tensor<2x4x8xf32>
  // CHECK: cleave.put_add %{{.*}}, %{{.*}}, %{{.*}}, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64>, tensor<2x4x8xf32>
  %1 = cleave.put_add %table, %tokens, %updates, dim = 0 : tensor<256x8xf32>, tensor<2x4xi64>, tensor<2x4x8xf32>
  return
}
