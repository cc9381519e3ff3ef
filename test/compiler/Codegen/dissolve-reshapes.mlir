// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(dissolve-reshapes))' -split-input-file | FileCheck %s
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(dissolve-reshapes,form-kernels))' -split-input-file | FileCheck %s --check-prefix=KERNEL

// Batch norm over a view of its input: all is computed as the input and the result are, and is one kernel.
// CHECK-LABEL: func.func @batch_norm
// CHECK-NOT:   cleave.reshape
// CHECK:       %[[S:.*]] = cleave.reduce sum %{{.*}}, [0, 2, 3] : tensor<8x16x14x14xf32> -> tensor<16xf32>
// CHECK:       cleave.broadcast %{{.*}}, [1] : tensor<16xf32> -> tensor<8x16x14x14xf32>
// CHECK-NOT:   cleave.reshape
// CHECK:       return
// KERNEL-LABEL: func.func @batch_norm
// KERNEL-COUNT-1: cleave.kernel
// KERNEL-NOT:     cleave.kernel
// KERNEL:         return
func.func @batch_norm(%c: tensor<8x16x14x14xbf16>) -> tensor<8x16x14x14xbf16> {
  %f = cleave.cast %c : tensor<8x16x14x14xbf16> -> tensor<8x16x14x14xf32>
  %x = cleave.reshape %f : tensor<8x16x14x14xf32> -> tensor<1x8x16x196xf32>
  %s = cleave.reduce sum %x, [1, 3] : tensor<1x8x16x196xf32> -> tensor<1x16xf32>
  %k = cleave.constant dense<0.001> : tensor<1x16xf32>
  %m = cleave.mul %s, %k : tensor<1x16xf32>
  %b = cleave.broadcast %m, [0, 2] : tensor<1x16xf32> -> tensor<1x8x16x196xf32>
  %d = cleave.sub %x, %b : tensor<1x8x16x196xf32>
  %y = cleave.reshape %d : tensor<1x8x16x196xf32> -> tensor<8x16x14x14xf32>
  %r = cleave.relu %y : tensor<8x16x14x14xf32>
  %o = cleave.cast %r : tensor<8x16x14x14xf32> -> tensor<8x16x14x14xbf16>
  return %o : tensor<8x16x14x14xbf16>
}

// -----

// What comes from memory and goes there keeps its shape: it is viewed.
// CHECK-LABEL: func.func @views
// CHECK-SAME:  (%[[C:.*]]: tensor<4x6xf32>, %[[D:.*]]: tensor<24xf32>)
// CHECK-DAG:   %[[X:.*]] = cleave.reshape %[[C]] : tensor<4x6xf32> -> tensor<4x2x3xf32>
// CHECK-DAG:   %[[Y:.*]] = cleave.reshape %[[D]] : tensor<24xf32> -> tensor<4x2x3xf32>
// CHECK:       %[[N:.*]] = cleave.neg %{{.*}} : tensor<4x2x3xf32>
// CHECK-NEXT:  %[[A:.*]] = cleave.add %[[Y]], %[[N]]
// CHECK-NEXT:  %[[R:.*]] = cleave.reshape %[[A]] : tensor<4x2x3xf32> -> tensor<24xf32>
// CHECK-NEXT:  return %[[N]], %[[R]]
// KERNEL-LABEL: func.func @views
// KERNEL-COUNT-1: cleave.kernel
// KERNEL-NOT:     cleave.kernel
// KERNEL:         return
func.func @views(%c: tensor<4x6xf32>, %d: tensor<24xf32>) -> (tensor<4x2x3xf32>, tensor<24xf32>) {
  %e = cleave.exp %c : tensor<4x6xf32>
  %x = cleave.reshape %e : tensor<4x6xf32> -> tensor<4x2x3xf32>
  %n = cleave.neg %x : tensor<4x2x3xf32>
  %y = cleave.reshape %n : tensor<4x2x3xf32> -> tensor<24xf32>
  %a = cleave.add %d, %y : tensor<24xf32>
  return %n, %a : tensor<4x2x3xf32>, tensor<24xf32>
}

// -----

// Only a constant has the reduced dimension: it keeps it.
// CHECK-LABEL: func.func @reduced_constant
// CHECK:       %[[K:.*]] = cleave.constant dense<{{\[\[}}0, 0, 0], [0, 1, 0], [0, 0, 1]]> : tensor<3x3xi32>
// CHECK:       cleave.reduce max %[[K]], [1] : tensor<3x3xi32> -> tensor<3xi32>
// CHECK-NOT:   cleave.reshape
// CHECK:       return
func.func @reduced_constant(%x: tensor<3xf32>) -> tensor<3xf32> {
  %k = cleave.constant dense<[[0, 0, 0], [0, 1, 0], [0, 0, 1]]> : tensor<3x3xi32>
  %zero = cleave.constant dense<0> : tensor<3x1xi32>
  %none = cleave.constant dense<0.0> : tensor<3xf32>
  %m = cleave.reduce max %k, [1] : tensor<3x3xi32> -> tensor<3xi32>
  %r = cleave.reshape %m : tensor<3xi32> -> tensor<3x1xi32>
  %c = cleave.compare eq %r, %zero : tensor<3x1xi32>
  %h = cleave.reshape %c : tensor<3x1xi1> -> tensor<3xi1>
  %y = cleave.select %h, %none, %x : tensor<3xi1>, tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// Rows of 6 and rows of 4 have no common cut.
// CHECK-LABEL: func.func @no_common_cut
// CHECK-NEXT:  cleave.exp %{{.*}} : tensor<4x6xf32>
// CHECK-NEXT:  cleave.reshape
// CHECK-NEXT:  cleave.neg %{{.*}} : tensor<6x4xf32>
func.func @no_common_cut(%c: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %e = cleave.exp %c : tensor<4x6xf32>
  %x = cleave.reshape %e : tensor<4x6xf32> -> tensor<6x4xf32>
  %n = cleave.neg %x : tensor<6x4xf32>
  return %n : tensor<6x4xf32>
}

// -----

// The columns that are cut out would be read under another shape, and not be of the same kernel.
// CHECK-LABEL: func.func @slice
// CHECK-NEXT:  cleave.exp %{{.*}} : tensor<4x6xf32>
// CHECK-NEXT:  cleave.reshape
// CHECK-NEXT:  cleave.neg %{{.*}} : tensor<2x12xf32>
// CHECK-NEXT:  cleave.slice
func.func @slice(%c: tensor<4x6xf32>) -> (tensor<2x12xf32>, tensor<4x2xf32>) {
  %e = cleave.exp %c : tensor<4x6xf32>
  %x = cleave.reshape %e : tensor<4x6xf32> -> tensor<2x12xf32>
  %n = cleave.neg %x : tensor<2x12xf32>
  %s = cleave.slice %e, [0, 1], [4, 2], [1, 1] : tensor<4x6xf32> -> tensor<4x2xf32>
  return %n, %s : tensor<2x12xf32>, tensor<4x2xf32>
}

// -----

// Each of two ranks has one group: without its dimension the sums would look like a part of one sum over both.
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // CHECK-LABEL: func.func @groups
  // CHECK:       cleave.reduce sum %{{.*}}, [1, 2] : tensor<1x8x16xf32> -> tensor<1xf32>
  func.func @groups(%c: tensor<8x16xf32>) -> tensor<1xf32> {
    %e = cleave.exp %c : tensor<8x16xf32>
    %x = cleave.reshape %e {cleave.whole = tensor<2x8x16xf32>} : tensor<8x16xf32> -> tensor<1x8x16xf32>
    %s = cleave.reduce sum %x, [1, 2] : tensor<1x8x16xf32> -> tensor<1xf32>
    return %s : tensor<1xf32>
  }
}

// -----

// Each of four ranks has one sample: the parameter's broadcast says that it has the part of this sample, as %x does.
module attributes {cleave.mesh = #cleave.mesh<["dp"], [4]>} {
  // CHECK-LABEL: func.func @one_sample
  // CHECK:       cleave.broadcast %{{.*}}, [0, 1] : tensor<2x4xf32> -> tensor<2x4x1xf32>
  // CHECK-NEXT:  cleave.reshape
  // CHECK-NEXT:  cleave.mul
  func.func @one_sample(%x: tensor<2x4xf32>, %w: tensor<2x4xf32>) -> tensor<2x4xf32> {
    %b = cleave.broadcast %w, [0, 1] : tensor<2x4xf32> -> tensor<2x4x1xf32>
    %r = cleave.reshape %b {cleave.whole = tensor<2x16xf32>} : tensor<2x4x1xf32> -> tensor<2x4xf32>
    %y = cleave.mul %x, %r : tensor<2x4xf32>
    return %y : tensor<2x4xf32>
  }
}
