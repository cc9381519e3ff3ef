// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(fuse-bias-gradients))' -split-input-file | FileCheck %s

// A kernel that makes nothing but the sum is gone.
// CHECK-LABEL: func.func @alone
// CHECK-SAME:  (%[[X:.*]]: tensor<8x4xf32>, %[[DY:.*]]: tensor<8x16xf32>)
// CHECK-NEXT:  %[[DW:.*]], %[[DB:.*]] = cleave.matmul_bias_grad %[[X]], %[[DY]] : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>, tensor<16xf32>
// CHECK-NEXT:  return %[[DW]], %[[DB]]
func.func @alone(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>) {
  %db = cleave.kernel ins(%dy : tensor<8x16xf32>) -> tensor<16xf32> {
  ^bb0(%rows: tensor<8x16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    cleave.yield %0 : tensor<16xf32>
  }
  %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %dw, %db : tensor<4x16xf32>, tensor<16xf32>
}

// -----

// A weight that is stored transposed: the gradient is on the left. Its rows lie in another arrangement; they are added in f32 and the sum is
// rounded.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME:  (%[[X:.*]]: tensor<8x4xbf16>, %[[DY:.*]]: tensor<2x4x16xbf16>)
// CHECK:       %[[ROWS:.*]] = cleave.reshape %[[DY]]
// CHECK:       %[[DW:.*]], %[[DB:.*]] = cleave.matmul_bias_grad %[[ROWS]], %[[X]] {of_lhs}
// CHECK-NOT:   cleave.kernel
// CHECK:       return %[[DW]], %[[DB]]
func.func @transposed(%x: tensor<8x4xbf16>, %dy: tensor<2x4x16xbf16>) -> (tensor<16x4xbf16>, tensor<16xbf16>) {
  %r = cleave.reshape %dy : tensor<2x4x16xbf16> -> tensor<8x16xbf16>
  %dw = cleave.matmul %r, %x {transpose_lhs} : tensor<8x16xbf16>, tensor<8x4xbf16> -> tensor<16x4xbf16>
  %db = cleave.kernel ins(%dy : tensor<2x4x16xbf16>) -> tensor<16xbf16> {
  ^bb0(%rows: tensor<2x4x16xbf16>):
    %0 = cleave.cast %rows : tensor<2x4x16xbf16> -> tensor<2x4x16xf32>
    %1 = cleave.reduce sum %0, [0, 1] : tensor<2x4x16xf32> -> tensor<16xf32>
    %2 = cleave.cast %1 : tensor<16xf32> -> tensor<16xbf16>
    cleave.yield %2 : tensor<16xbf16>
  }
  return %dw, %db : tensor<16x4xbf16>, tensor<16xbf16>
}

// -----

// The kernel goes on with what it does with the sum: here it adds the gradients of earlier micro-batches.
// CHECK-LABEL: func.func @accumulated
// CHECK-SAME:  (%[[X:.*]]: tensor<8x4xf32>, %[[DY:.*]]: tensor<8x16xf32>, %[[OLD:.*]]: tensor<16xf32>)
// CHECK:       %[[DW:.*]], %[[DB:.*]] = cleave.matmul_bias_grad %[[X]], %[[DY]]
// CHECK:       %[[NEW:.*]] = cleave.kernel ins(%[[OLD]], %[[DB]] : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
// CHECK-NEXT:  ^bb0(%[[A:.*]]: tensor<16xf32>, %[[B:.*]]: tensor<16xf32>):
// CHECK-NEXT:    cleave.add %[[A]], %[[B]]
// CHECK:       return %[[DW]], %[[NEW]]
func.func @accumulated(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>, %old: tensor<16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>) {
  %new = cleave.kernel ins(%dy, %old : tensor<8x16xf32>, tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%rows: tensor<8x16xf32>, %before: tensor<16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    %1 = cleave.add %before, %0 : tensor<16xf32>
    cleave.yield %1 : tensor<16xf32>
  }
  %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %dw, %new : tensor<4x16xf32>, tensor<16xf32>
}

// -----

// Two sums of one kernel, each with a product of its own: what is left of the kernel by the first is gone by the second.
// CHECK-LABEL: func.func @siblings
// CHECK:       cleave.matmul_bias_grad
// CHECK:       cleave.matmul_bias_grad
// CHECK-NOT:   cleave.kernel
func.func @siblings(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>, %dz: tensor<8x16xf32>)
    -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) {
  %db, %dc = cleave.kernel ins(%dy, %dz : tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16xf32>, tensor<16xf32> {
  ^bb0(%rows: tensor<8x16xf32>, %others: tensor<8x16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    %1 = cleave.reduce sum %others, [0] : tensor<8x16xf32> -> tensor<16xf32>
    cleave.yield %0, %1 : tensor<16xf32>, tensor<16xf32>
  }
  %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %dv = cleave.matmul %x, %dz {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %dw, %dv, %db, %dc : tensor<4x16xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
}

// -----

// Left alone: rows that the kernel reads for something else, rows that it makes, a sum along other dimensions, another kind, a wider sum, rows
// that are rounded before they are added.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:   matmul_bias_grad
func.func @kept(%x: tensor<8x8xf32>, %dy: tensor<8x8xf32>, %dz: tensor<8x8xf32>, %h: tensor<8x8xbf16>)
    -> (tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xbf16>,
        tensor<8xf32>) {
  %again, %0 = cleave.kernel ins(%dy : tensor<8x8xf32>) -> tensor<8x8xf32>, tensor<8xf32> {
  ^bb0(%rows: tensor<8x8xf32>):
    %e = cleave.exp %rows : tensor<8x8xf32>
    %s = cleave.reduce sum %rows, [0] : tensor<8x8xf32> -> tensor<8xf32>
    cleave.yield %e, %s : tensor<8x8xf32>, tensor<8xf32>
  }
  %1 = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = cleave.matmul %x, %again {transpose_lhs} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %3 = cleave.kernel ins(%dz : tensor<8x8xf32>) -> tensor<8xf32> {
  ^bb0(%rows: tensor<8x8xf32>):
    %s = cleave.reduce sum %rows, [1] : tensor<8x8xf32> -> tensor<8xf32>
    cleave.yield %s : tensor<8xf32>
  }
  %4 = cleave.kernel ins(%dz : tensor<8x8xf32>) -> tensor<8xf32> {
  ^bb0(%rows: tensor<8x8xf32>):
    %s = cleave.reduce max %rows, [0] : tensor<8x8xf32> -> tensor<8xf32>
    cleave.yield %s : tensor<8xf32>
  }
  %5 = cleave.matmul %x, %dz {transpose_lhs} : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %6 = cleave.kernel ins(%h : tensor<8x8xbf16>) -> tensor<8xf32> {
  ^bb0(%rows: tensor<8x8xbf16>):
    %w = cleave.cast %rows : tensor<8x8xbf16> -> tensor<8x8xf32>
    %s = cleave.reduce sum %w, [0] : tensor<8x8xf32> -> tensor<8xf32>
    cleave.yield %s : tensor<8xf32>
  }
  %7 = cleave.matmul %h, %h {transpose_lhs} : tensor<8x8xbf16>, tensor<8x8xbf16> -> tensor<8x8xbf16>
  %8 = cleave.kernel ins(%x : tensor<8x8xf32>) -> tensor<8xf32> {
  ^bb0(%rows: tensor<8x8xf32>):
    %n = cleave.cast %rows : tensor<8x8xf32> -> tensor<8x8xbf16>
    %w = cleave.cast %n : tensor<8x8xbf16> -> tensor<8x8xf32>
    %s = cleave.reduce sum %w, [0] : tensor<8x8xf32> -> tensor<8xf32>
    cleave.yield %s : tensor<8xf32>
  }
  return %again, %0, %1, %2, %3, %4, %6, %7, %8 : tensor<8x8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8xf32>,
      tensor<8xf32>, tensor<8x8xbf16>, tensor<8xf32>
}

// -----

// The kernel stands before the product, and somebody between them wants its result.
// CHECK-LABEL: func.func @wanted_before
// CHECK-NOT:   matmul_bias_grad
func.func @wanted_before(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<1x16xf32>) {
  %db = cleave.kernel ins(%dy : tensor<8x16xf32>) -> tensor<16xf32> {
  ^bb0(%rows: tensor<8x16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    cleave.yield %0 : tensor<16xf32>
  }
  %r = cleave.reshape %db : tensor<16xf32> -> tensor<1x16xf32>
  %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %dw, %r : tensor<4x16xf32>, tensor<1x16xf32>
}

// -----

// Blocks are recomputed apart.
// CHECK-LABEL: func.func @blocks
// CHECK-NOT:   matmul_bias_grad
func.func @blocks(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>) -> (tensor<4x16xf32>, tensor<16xf32>) {
  %db = cleave.kernel ins(%dy : tensor<8x16xf32>) -> tensor<16xf32> attributes {cleave.block = 1 : i64} {
  ^bb0(%rows: tensor<8x16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    cleave.yield %0 : tensor<16xf32>
  }
  %dw = cleave.matmul %x, %dy {transpose_lhs, cleave.block = 2 : i64} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %dw, %db : tensor<4x16xf32>, tensor<16xf32>
}

// -----

// The kernel stands before the product, and what would remain of it has two results without a loop in common: it stays where it is.
// CHECK-LABEL: func.func @stays
// CHECK:       cleave.kernel
// CHECK:       cleave.matmul
// CHECK:       cleave.matmul
// CHECK-NOT:   cleave.kernel
func.func @stays(%x: tensor<8x4xf32>, %dy: tensor<8x16xf32>, %z: tensor<8x16xf32>) -> (tensor<4x4xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<8x16xf32>) {
  %db, %e = cleave.kernel ins(%dy, %z : tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<16xf32>, tensor<8x16xf32> {
  ^bb0(%rows: tensor<8x16xf32>, %b: tensor<8x16xf32>):
    %0 = cleave.reduce sum %rows, [0] : tensor<8x16xf32> -> tensor<16xf32>
    %1 = cleave.neg %0 : tensor<16xf32>
    %2 = cleave.exp %b : tensor<8x16xf32>
    cleave.yield %1, %2 : tensor<16xf32>, tensor<8x16xf32>
  }
  %h = cleave.matmul %x, %x {transpose_lhs} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %dw = cleave.matmul %x, %dy {transpose_lhs} : tensor<8x4xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %h, %dw, %db, %e : tensor<4x4xf32>, tensor<4x16xf32>, tensor<16xf32>, tensor<8x16xf32>
}
