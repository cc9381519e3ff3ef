// Rows of 16 bits that a library would load slowly are padded; small products, aligned ones and f32 are left alone.
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(pad-products{multiple=8}))' | FileCheck %s
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(pad-products))' | FileCheck %s --check-prefix=ANY

// ANY-NOT: cleave.pad

// CHECK-LABEL: func.func @vocabulary
// CHECK: %[[W:.*]] = cleave.pad %arg1, [0, 0], [7, 0], [0, 0], value = 0.000000e+00 : tensor<50257x768xbf16> -> tensor<50264x768xbf16>
// CHECK: %[[P:.*]] = cleave.matmul %arg0, %[[W]] {transpose_rhs} : tensor<4x512x768xbf16>, tensor<50264x768xbf16> -> tensor<4x512x50264xbf16>
// CHECK: %[[R:.*]] = cleave.reshape %[[P]] : tensor<4x512x50264xbf16> -> tensor<2048x50264xbf16>
// CHECK: %[[S:.*]] = cleave.slice %[[R]], [0, 0], [2048, 50257], [1, 1]
// CHECK: return %[[S]]
func.func @vocabulary(%x: tensor<4x512x768xbf16>, %w: tensor<50257x768xbf16>) -> tensor<2048x50257xbf16> {
  %y = cleave.matmul %x, %w {transpose_rhs} : tensor<4x512x768xbf16>, tensor<50257x768xbf16> -> tensor<4x512x50257xbf16>
  %z = cleave.reshape %y : tensor<4x512x50257xbf16> -> tensor<2048x50257xbf16>
  return %z : tensor<2048x50257xbf16>
}

// The contracted dimension of both operands, and a bias.
// CHECK-LABEL: func.func @contracted
// CHECK: %[[A:.*]] = cleave.pad %arg0, [0, 0], [0, 4], [0, 0]
// CHECK: %[[B:.*]] = cleave.pad %arg1, [0, 0], [4, 0], [0, 0]
// CHECK: %[[C:.*]] = cleave.pad %[[B]], [0, 0], [0, 6], [0, 0]
// CHECK: %[[D:.*]] = cleave.pad %arg2, [0], [6], [0]
// CHECK: %[[P:.*]] = cleave.matmul %[[A]], %[[C]] bias %[[D]]
// CHECK: cleave.slice %[[P]], [0, 0], [4096, 1026], [1, 1]
func.func @contracted(%x: tensor<4096x1004xf16>, %w: tensor<1004x1026xf16>, %b: tensor<1026xf16>) -> tensor<4096x1026xf16> {
  %y = cleave.matmul %x, %w bias %b : tensor<4096x1004xf16>, tensor<1004x1026xf16>, tensor<1026xf16> -> tensor<4096x1026xf16>
  return %y : tensor<4096x1026xf16>
}

// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: cleave.pad
func.func @left_alone(%x: tensor<16x64xbf16>, %w: tensor<64x10xbf16>, %a: tensor<4096x1024xbf16>, %b: tensor<1024x1024xbf16>, %c: tensor<4096x1021xf32>,
                      %d: tensor<1021x1021xf32>) -> (tensor<16x10xbf16>, tensor<4096x1024xbf16>, tensor<4096x1021xf32>) {
  %small = cleave.matmul %x, %w : tensor<16x64xbf16>, tensor<64x10xbf16> -> tensor<16x10xbf16>
  %aligned = cleave.matmul %a, %b : tensor<4096x1024xbf16>, tensor<1024x1024xbf16> -> tensor<4096x1024xbf16>
  %wide = cleave.matmul %c, %d : tensor<4096x1021xf32>, tensor<1021x1021xf32> -> tensor<4096x1021xf32>
  return %small, %aligned, %wide : tensor<16x10xbf16>, tensor<4096x1024xbf16>, tensor<4096x1021xf32>
}

// A tensor without elements is not counted on.
// CHECK-LABEL: func.func @empty
// CHECK-NOT: cleave.pad
func.func @empty(%x: tensor<0x1001xbf16>, %w: tensor<1001x1001xbf16>, %a: tensor<4096x0xbf16>, %b: tensor<0x1001xbf16>)
    -> (tensor<0x1001xbf16>, tensor<4096x1001xbf16>) {
  %rows = cleave.matmul %x, %w : tensor<0x1001xbf16>, tensor<1001x1001xbf16> -> tensor<0x1001xbf16>
  %terms = cleave.matmul %a, %b : tensor<4096x0xbf16>, tensor<0x1001xbf16> -> tensor<4096x1001xbf16>
  return %rows, %terms : tensor<0x1001xbf16>, tensor<4096x1001xbf16>
}
