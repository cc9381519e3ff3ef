// RUN: cleave-opt %s -split-input-file -pass-pipeline='builtin.module(func.func(convert-cleave-to-linalg))' -verify-diagnostics | FileCheck %s

// Kernel ops become loops, fusible ops linalg, kernels are opened.
// CHECK-LABEL: func.func @all
// CHECK-NOT: cleave.
// CHECK: scf.for
// CHECK: linalg.generic
func.func @all(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  %0 = cleave.matmul %x, %w : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
  %1 = cleave.softmax %0, dim = 1 : tensor<2x4xf32>
  %2 = cleave.kernel ins(%1 : tensor<2x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%a: tensor<2x4xf32>):
    %3 = cleave.exp %a : tensor<2x4xf32>
    cleave.yield %3 : tensor<2x4xf32>
  }
  return %2 : tensor<2x4xf32>
}

// A bias begins the sums of a product, which are f32 and are rounded once.
// CHECK-LABEL: func.func @bias
// CHECK-NOT: cleave.
// CHECK: %[[BEGIN:.*]] = scf.for {{.*}} -> (tensor<8xf32>)
// CHECK: %[[B:.*]] = tensor.extract %arg2[%{{.*}}] : tensor<4xf16>
// CHECK-NEXT: %[[WIDE:.*]] = arith.extf %[[B]] : f16 to f32
// CHECK-NEXT: tensor.insert %[[WIDE]]
// CHECK: %[[SUMS:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[BEGIN]]) -> (tensor<8xf32>)
// CHECK: %[[PRODUCT:.*]] = arith.mulf {{.*}} : f32
// CHECK: arith.addf %{{.*}}, %[[PRODUCT]] : f32
// CHECK-NOT: tensor.extract %arg2
// CHECK: tensor.extract %[[SUMS]]
// CHECK-NEXT: arith.truncf
// CHECK-NOT: cleave.
func.func @bias(%x: tensor<2x3xf16>, %w: tensor<3x4xf16>, %b: tensor<4xf16>) -> tensor<2x4xf16> {
  %0 = cleave.matmul %x, %w bias %b : tensor<2x3xf16>, tensor<3x4xf16>, tensor<4xf16> -> tensor<2x4xf16>
  return %0 : tensor<2x4xf16>
}

// -----

cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @state() -> tensor<4xf32> {
  // expected-error @below {{cannot be lowered to linalg: the reference has neither state nor collectives}}
  %0 = cleave.read @w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
