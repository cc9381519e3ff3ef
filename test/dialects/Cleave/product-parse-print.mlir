// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @bias_gradients
func.func @bias_gradients(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>, %h: tensor<8x4xbf16>, %dh: tensor<8x2xbf16>) {
  // CHECK: %{{.*}}, %{{.*}} = cleave.matmul_bias_grad %{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>, tensor<16xf32>
  %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>, tensor<16xf32>
  // CHECK: cleave.matmul_bias_grad %{{.*}}, %{{.*}} {of_lhs} : tensor<8x2xbf16>, tensor<8x4xbf16> -> tensor<2x4xbf16>, tensor<2xbf16>
  %dv, %dc = cleave.matmul_bias_grad %dh, %h {of_lhs} : tensor<8x2xbf16>, tensor<8x4xbf16> -> tensor<2x4xbf16>, tensor<2xbf16>
  return
}
