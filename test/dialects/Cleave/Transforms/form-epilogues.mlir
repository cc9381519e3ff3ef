// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(form-epilogues{narrowed=true}))' | FileCheck %s
// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(form-epilogues))' | FileCheck %s --check-prefix=WIDE

// Results that stay f32 have none.
// WIDE-LABEL: func @both
// WIDE: cleave.matmul {{.*}} bias
// WIDE: cleave.matmul {{.*}} bias
// WIDE-LABEL: func @flags
// WIDE-NOT: bias

// The vector may stand on either side of the add.
// CHECK-LABEL: func @both
// CHECK-SAME: (%[[X:.*]]: tensor<8x4xf16>, %[[W:.*]]: tensor<4x16xf16>, %[[B:.*]]: tensor<16xf16>)
// CHECK: %[[Y:.*]] = cleave.matmul %[[X]], %[[W]] bias %[[B]] : tensor<8x4xf16>, tensor<4x16xf16>, tensor<16xf16> -> tensor<8x16xf16>
// CHECK: %[[Z:.*]] = cleave.matmul %[[X]], %[[W]] bias %[[B]] : tensor<8x4xf16>
// CHECK: return %[[Y]], %[[Z]]
func.func @both(%x: tensor<8x4xf16>, %w: tensor<4x16xf16>, %b: tensor<16xf16>) -> (tensor<8x16xf16>, tensor<8x16xf16>) {
  %r = cleave.broadcast %b, [1] : tensor<16xf16> -> tensor<8x16xf16>
  %p = cleave.matmul %x, %w : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf16>
  %y = cleave.add %p, %r : tensor<8x16xf16>
  %q = cleave.matmul %x, %w : tensor<8x4xf16>, tensor<4x16xf16> -> tensor<8x16xf16>
  %z = cleave.add %r, %q : tensor<8x16xf16>
  return %y, %z : tensor<8x16xf16>, tensor<8x16xf16>
}

// Flags, batches and attributes are kept; the bias may be computed after the product.
// CHECK-LABEL: func @flags
// CHECK: %[[B:.*]] = cleave.exp
// CHECK: cleave.matmul %{{.*}}, %{{.*}} bias %[[B]] {note = 1 : i64, transpose_rhs} : tensor<2x8x4xf32>, tensor<16x4xf32>, tensor<16xf32> -> tensor<2x8x16xf32>
func.func @flags(%x: tensor<2x8x4xf32>, %w: tensor<16x4xf32>, %b: tensor<16xf32>) -> tensor<2x8x16xf32> {
  %p = cleave.matmul %x, %w {transpose_rhs, note = 1 : i64} : tensor<2x8x4xf32>, tensor<16x4xf32> -> tensor<2x8x16xf32>
  %e = cleave.exp %b : tensor<16xf32>
  %r = cleave.broadcast %e, [2] : tensor<16xf32> -> tensor<2x8x16xf32>
  %y = cleave.add %p, %r : tensor<2x8x16xf32>
  return %y : tensor<2x8x16xf32>
}

// Rows may be arranged in another way between the two, but columns may not.
// CHECK-LABEL: func @rows
// CHECK: %[[P:.*]] = cleave.matmul %{{.*}} bias %{{.*}} -> tensor<8x16xf32>
// CHECK: %[[Y:.*]] = cleave.reshape %[[P]] : tensor<8x16xf32> -> tensor<2x4x16xf32>
// CHECK: return %[[Y]]
func.func @rows(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %b: tensor<16xf32>) -> tensor<2x4x16xf32> {
  %p = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %s = cleave.reshape %p : tensor<8x16xf32> -> tensor<2x4x16xf32>
  %r = cleave.broadcast %b, [2] : tensor<16xf32> -> tensor<2x4x16xf32>
  %y = cleave.add %s, %r : tensor<2x4x16xf32>
  return %y : tensor<2x4x16xf32>
}
// CHECK-LABEL: func @columns
// CHECK-NOT: bias
// CHECK: return
func.func @columns(%x: tensor<8x4xf32>, %w: tensor<4x16xf32>, %b: tensor<4xf32>) -> tensor<8x4x4xf32> {
  %p = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %s = cleave.reshape %p : tensor<8x16xf32> -> tensor<8x4x4xf32>
  %r = cleave.broadcast %b, [2] : tensor<4xf32> -> tensor<8x4x4xf32>
  %y = cleave.add %s, %r : tensor<8x4x4xf32>
  return %y : tensor<8x4x4xf32>
}

// One column: its bias is a scalar.
// CHECK-LABEL: func @one
// CHECK: %[[B:.*]] = cleave.reshape %{{.*}} : tensor<f32> -> tensor<1xf32>
// CHECK: cleave.matmul %{{.*}} bias %[[B]] : tensor<8x4xf32>, tensor<4x1xf32>, tensor<1xf32> -> tensor<8x1xf32>
func.func @one(%x: tensor<8x4xf32>, %w: tensor<4x1xf32>, %b: tensor<f32>) -> tensor<8x1xf32> {
  %p = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x1xf32> -> tensor<8x1xf32>
  %r = cleave.broadcast %b, [] : tensor<f32> -> tensor<8x1xf32>
  %y = cleave.add %p, %r : tensor<8x1xf32>
  return %y : tensor<8x1xf32>
}

// Left alone: a product that is used elsewhere, rows' addends, scalars, a second bias, f64, and kernels without a bias.
// CHECK-LABEL: func @kept
// CHECK-NOT: bias
// CHECK: return
func.func @kept(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>, %c: tensor<f32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %r = cleave.broadcast %b, [1] : tensor<8xf32> -> tensor<8x8xf32>
  %used = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %0 = cleave.add %used, %r : tensor<8x8xf32>
  %p = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %column = cleave.broadcast %b, [0] : tensor<8xf32> -> tensor<8x8xf32>
  %1 = cleave.add %p, %column : tensor<8x8xf32>
  %q = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %scalar = cleave.broadcast %c, [] : tensor<f32> -> tensor<8x8xf32>
  %2 = cleave.add %q, %scalar : tensor<8x8xf32>
  return %0, %used, %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
// CHECK-LABEL: func @second
// CHECK: cleave.matmul %{{.*}} bias
// CHECK: cleave.add
func.func @second(%x: tensor<8x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<8x8xf32> {
  %r = cleave.broadcast %b, [1] : tensor<8xf32> -> tensor<8x8xf32>
  %p = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  %y = cleave.add %p, %r : tensor<8x8xf32>
  %z = cleave.add %y, %r : tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}
// CHECK-LABEL: func @others
// CHECK-NOT: bias
// CHECK: return
func.func @others(%x: tensor<8x4xf64>, %w: tensor<4x8xf64>, %b: tensor<8xf64>, %i: tensor<3xi64>) -> (tensor<8x8xf64>, tensor<3x8xf64>) {
  %r = cleave.broadcast %b, [1] : tensor<8xf64> -> tensor<8x8xf64>
  %p = cleave.matmul %x, %w : tensor<8x4xf64>, tensor<4x8xf64> -> tensor<8x8xf64>
  %y = cleave.add %p, %r : tensor<8x8xf64>
  %t = cleave.take %y, %i, dim = 0 : tensor<8x8xf64>, tensor<3xi64> -> tensor<3x8xf64>
  %s = cleave.broadcast %b, [1] : tensor<8xf64> -> tensor<3x8xf64>
  %z = cleave.add %t, %s : tensor<3x8xf64>
  return %y, %z : tensor<8x8xf64>, tensor<3x8xf64>
}
