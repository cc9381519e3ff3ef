// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<2x256xf32>, %i: tensor<2x3xi64>, %flat: tensor<3xi64>) {
  // CHECK: cleave.pick %{{.*}}, %{{.*}}, dim = 1, batch = 1 : tensor<2x256xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  %0 = cleave.pick %x, %i, dim = 1, batch = 1 : tensor<2x256xf32>, tensor<2x3xi64> -> tensor<2x3xf32>
  // CHECK: cleave.put %{{.*}}, %{{.*}}, %{{.*}}, dim = 1, batch = 0 : tensor<2x256xf32>, tensor<3xi64>, tensor<2x3xf32>
  %1 = cleave.put %x, %flat, %0, dim = 1, batch = 0 : tensor<2x256xf32>, tensor<3xi64>, tensor<2x3xf32>
  // CHECK: cleave.put %{{.*}}, %{{.*}}, %{{.*}}, dim = 1, batch = 1 combine max : tensor<2x256xf32>, tensor<2x3xi64>, tensor<2x3xf32>
  %2 = cleave.put %x, %i, %0, dim = 1, batch = 1 combine max : tensor<2x256xf32>, tensor<2x3xi64>, tensor<2x3xf32>
  // CHECK: cleave.top_k %{{.*}}, 3 : tensor<2x256xf32> -> tensor<2x3xi64>
  %3 = cleave.top_k %x, 3 : tensor<2x256xf32> -> tensor<2x3xi64>
  // CHECK: cleave.top_k %{{.*}}, 3 {smallest} : tensor<2x256xf32> -> tensor<2x3xi64>
  %4 = cleave.top_k %x, 3 {smallest} : tensor<2x256xf32> -> tensor<2x3xi64>
  // CHECK: cleave.check_index %{{.*}}, 0 to 10 : tensor<3xi64>
  %5 = cleave.check_index %flat, 0 to 10 : tensor<3xi64>
  // CHECK: cleave.check_index %{{.*}}, -4 to 10 or -100 : tensor<3xi64>
  %6 = cleave.check_index %flat, -4 to 10 or -100 : tensor<3xi64>
  return
}
