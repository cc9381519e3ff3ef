// A label that many ops make, each of which reads one value twice: a walk that takes each path on its own has 2^40 of them.
// RUN: cleave-opt %s --form-kernels | FileCheck %s
// CHECK-COUNT-1: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @deep_label(%x: tensor<8x64xi64>, %v: tensor<8x64xf32>) -> tensor<8xf32> {
  %a0 = cleave.mul %x, %x : tensor<8x64xi64>
  %a1 = cleave.mul %a0, %a0 : tensor<8x64xi64>
  %a2 = cleave.mul %a1, %a1 : tensor<8x64xi64>
  %a3 = cleave.mul %a2, %a2 : tensor<8x64xi64>
  %a4 = cleave.mul %a3, %a3 : tensor<8x64xi64>
  %a5 = cleave.mul %a4, %a4 : tensor<8x64xi64>
  %a6 = cleave.mul %a5, %a5 : tensor<8x64xi64>
  %a7 = cleave.mul %a6, %a6 : tensor<8x64xi64>
  %a8 = cleave.mul %a7, %a7 : tensor<8x64xi64>
  %a9 = cleave.mul %a8, %a8 : tensor<8x64xi64>
  %a10 = cleave.mul %a9, %a9 : tensor<8x64xi64>
  %a11 = cleave.mul %a10, %a10 : tensor<8x64xi64>
  %a12 = cleave.mul %a11, %a11 : tensor<8x64xi64>
  %a13 = cleave.mul %a12, %a12 : tensor<8x64xi64>
  %a14 = cleave.mul %a13, %a13 : tensor<8x64xi64>
  %a15 = cleave.mul %a14, %a14 : tensor<8x64xi64>
  %a16 = cleave.mul %a15, %a15 : tensor<8x64xi64>
  %a17 = cleave.mul %a16, %a16 : tensor<8x64xi64>
  %a18 = cleave.mul %a17, %a17 : tensor<8x64xi64>
  %a19 = cleave.mul %a18, %a18 : tensor<8x64xi64>
  %a20 = cleave.mul %a19, %a19 : tensor<8x64xi64>
  %a21 = cleave.mul %a20, %a20 : tensor<8x64xi64>
  %a22 = cleave.mul %a21, %a21 : tensor<8x64xi64>
  %a23 = cleave.mul %a22, %a22 : tensor<8x64xi64>
  %a24 = cleave.mul %a23, %a23 : tensor<8x64xi64>
  %a25 = cleave.mul %a24, %a24 : tensor<8x64xi64>
  %a26 = cleave.mul %a25, %a25 : tensor<8x64xi64>
  %a27 = cleave.mul %a26, %a26 : tensor<8x64xi64>
  %a28 = cleave.mul %a27, %a27 : tensor<8x64xi64>
  %a29 = cleave.mul %a28, %a28 : tensor<8x64xi64>
  %a30 = cleave.mul %a29, %a29 : tensor<8x64xi64>
  %a31 = cleave.mul %a30, %a30 : tensor<8x64xi64>
  %a32 = cleave.mul %a31, %a31 : tensor<8x64xi64>
  %a33 = cleave.mul %a32, %a32 : tensor<8x64xi64>
  %a34 = cleave.mul %a33, %a33 : tensor<8x64xi64>
  %a35 = cleave.mul %a34, %a34 : tensor<8x64xi64>
  %a36 = cleave.mul %a35, %a35 : tensor<8x64xi64>
  %a37 = cleave.mul %a36, %a36 : tensor<8x64xi64>
  %a38 = cleave.mul %a37, %a37 : tensor<8x64xi64>
  %a39 = cleave.mul %a38, %a38 : tensor<8x64xi64>
  %i = cleave.iota dim = 1 : tensor<8x64xi64>
  %h = cleave.compare eq %i, %a39 : tensor<8x64xi64>
  %z = cleave.constant dense<0.0> : tensor<8x64xf32>
  %s = cleave.select %h, %v, %z : tensor<8x64xi1>, tensor<8x64xf32>
  %r = cleave.reduce sum %s, [1] : tensor<8x64xf32> -> tensor<8xf32>
  return %r : tensor<8xf32>
}
