// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels))' -split-input-file | FileCheck %s

// An elementwise chain, its broadcast and its constant are one kernel; the matrix product stays.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:  (%[[X:.*]]: tensor<8x4xf32>, %[[W:.*]]: tensor<4x4xf32>, %[[B:.*]]: tensor<4xf32>)
// CHECK:       %[[M:.*]] = cleave.matmul %[[X]], %[[W]]
// CHECK-NEXT:  %[[K:.*]] = cleave.kernel ins(%[[B]], %[[M]]
// CHECK-DAG:   cleave.broadcast
// CHECK-DAG:   cleave.constant
// CHECK:       cleave.max
// CHECK-NEXT:  cleave.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  return %[[K]]
func.func @chain(%x: tensor<8x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %zero = cleave.constant dense<0.0> : tensor<8x4xf32>
  %bb = cleave.broadcast %b, [1] : tensor<4xf32> -> tensor<8x4xf32>
  %m = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32>
  %s = cleave.add %m, %bb : tensor<8x4xf32>
  %r = cleave.max %s, %zero : tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

// Reductions over different dimensions do not share a space: the row sums and the column sums are two kernels.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK-COUNT-2: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @rows_and_columns(%x: tensor<8x4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %r = cleave.reduce sum %x, [1] : tensor<8x4xf32> -> tensor<8xf32>
  %c = cleave.reduce sum %x, [0] : tensor<8x4xf32> -> tensor<4xf32>
  return %r, %c : tensor<8xf32>, tensor<4xf32>
}

// -----

// Two groups around a matrix product may not become one: that would be a cycle.
// CHECK-LABEL: func.func @no_cycle
// CHECK:       %[[E:.*]] = cleave.kernel ins(%{{.*}} : tensor<4x4xf32>)
// CHECK:       cleave.exp
// CHECK:       %[[M:.*]] = cleave.matmul %[[E]], %[[E]]
// CHECK:       cleave.kernel ins(%[[E]], %[[M]]
func.func @no_cycle(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %e = cleave.exp %x : tensor<4x4xf32>
  %m = cleave.matmul %e, %e : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %s = cleave.add %e, %m : tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}

// -----

// Bucket members are addresses: contiguous slices, reshapes and flat concatenations stay outside.
// CHECK-LABEL: func.func @buckets
// CHECK:       cleave.slice
// CHECK-NEXT:  cleave.reshape
// CHECK-NEXT:  cleave.kernel
// CHECK:       cleave.reshape
// CHECK-NEXT:  cleave.concat
func.func @buckets(%f: tensor<64xf32>) -> tensor<64xf32> {
  %a = cleave.slice %f, [0], [32], [1] : tensor<64xf32> -> tensor<32xf32>
  %m = cleave.reshape %a : tensor<32xf32> -> tensor<8x4xf32>
  %n = cleave.neg %m : tensor<8x4xf32>
  %r = cleave.reshape %n : tensor<8x4xf32> -> tensor<32xf32>
  %c = cleave.concat %r, %r dim = 0 : tensor<32xf32>, tensor<32xf32> -> tensor<64xf32>
  return %c : tensor<64xf32>
}

// -----

// The mask is computed again in both kernels rather than stored.
// CHECK-LABEL: func.func @cheap_producers
// CHECK:       cleave.kernel
// CHECK:       cleave.random_uniform
// CHECK:       cleave.matmul
// CHECK:       cleave.kernel
// CHECK:       cleave.random_uniform
func.func @cheap_producers(%x: tensor<4x4xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4x4xf32> {
  %u = cleave.random_uniform %seed, %step {site = 0 : i64, global_shape = array<i64: 4, 4>} : tensor<i64>, tensor<i64> -> tensor<4x4xf32>
  %a = cleave.mul %x, %u : tensor<4x4xf32>
  %m = cleave.matmul %a, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %b = cleave.mul %m, %u : tensor<4x4xf32>
  return %b : tensor<4x4xf32>
}

// -----

// One element along a dimension lies where it lies, whatever the step; columns must be moved.
// CHECK-LABEL: func.func @slices
// CHECK-NEXT:  cleave.slice %{{.*}}, [2, 0], [1, 4], [2, 1]
// CHECK-NEXT:  cleave.kernel
// CHECK:       cleave.slice %{{.*}}, [0, 1], [8, 2], [1, 1]
func.func @slices(%f: tensor<8x4xf32>) -> (tensor<1x4xf32>, tensor<8x2xf32>) {
  %a = cleave.slice %f, [2, 0], [1, 4], [2, 1] : tensor<8x4xf32> -> tensor<1x4xf32>
  %b = cleave.slice %f, [0, 1], [8, 2], [1, 1] : tensor<8x4xf32> -> tensor<8x2xf32>
  return %a, %b : tensor<1x4xf32>, tensor<8x2xf32>
}

// -----

// Two columns of one value share no loops in the form that code is made of (a slice has no maps): two kernels.
// CHECK-LABEL: func.func @two_columns
// CHECK-COUNT-2: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @two_columns(%x: tensor<5x2xf32>) -> (tensor<5x1xf32>, tensor<5x1xf32>) {
  %a = cleave.slice %x, [0, 0], [5, 1], [1, 1] : tensor<5x2xf32> -> tensor<5x1xf32>
  %b = cleave.slice %x, [0, 1], [5, 1], [1, 1] : tensor<5x2xf32> -> tensor<5x1xf32>
  return %a, %b : tensor<5x1xf32>, tensor<5x1xf32>
}

// -----

// A constant of one number relates nothing: it is added along the rows and along the columns in one kernel.
// CHECK-LABEL: func.func @one_number
// CHECK-COUNT-1: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @one_number(%x: tensor<4x4xf32>) -> tensor<4xf32> {
  %ones = cleave.constant dense<1.0> : tensor<4x4xf32>
  %t = cleave.transpose %ones, [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %a = cleave.add %x, %ones : tensor<4x4xf32>
  %b = cleave.mul %a, %t : tensor<4x4xf32>
  %s = cleave.reduce sum %b, [1] : tensor<4x4xf32> -> tensor<4xf32>
  return %s : tensor<4xf32>
}

// -----

// Merged, the two copies of the table would be read along rows and along columns by one kernel; it stays without the merge.
// CHECK-LABEL: func.func @one_table
// CHECK-COUNT-1: cleave.kernel
// CHECK-COUNT-2: cleave.constant dense<[1.000000e+00
// CHECK-NOT:     cleave.kernel
func.func @one_table(%x: tensor<3x3xf32>) -> tensor<3xf32> {
  %table = cleave.constant dense<[1.0, 2.0, 4.0]> : tensor<3xf32>
  %rows = cleave.broadcast %table, [0] : tensor<3xf32> -> tensor<3x3xf32>
  %columns = cleave.broadcast %table, [1] : tensor<3xf32> -> tensor<3x3xf32>
  %a = cleave.mul %x, %rows : tensor<3x3xf32>
  %b = cleave.mul %a, %columns : tensor<3x3xf32>
  %s = cleave.reduce sum %b, [1] : tensor<3x3xf32> -> tensor<3xf32>
  return %s : tensor<3xf32>
}

// -----

// What is made with a sum of much to one number is a kernel of its own: all threads work on each. Of little they are one.
// CHECK-LABEL: func.func @norm_of_much
// CHECK-COUNT-2: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @norm_of_much(%g: tensor<100000xf32>, %w: tensor<100000xf32>) -> tensor<100000xf32> {
  %q = cleave.mul %g, %g : tensor<100000xf32>
  %s = cleave.reduce sum %q, [0] : tensor<100000xf32> -> tensor<f32>
  %r = cleave.rsqrt %s : tensor<f32>
  %b = cleave.broadcast %r, [] : tensor<f32> -> tensor<100000xf32>
  %m = cleave.mul %g, %b : tensor<100000xf32>
  %y = cleave.sub %w, %m : tensor<100000xf32>
  return %y : tensor<100000xf32>
}

// -----

// CHECK-LABEL: func.func @norm_of_little
// CHECK-COUNT-1: cleave.kernel
// CHECK-NOT:     cleave.kernel
func.func @norm_of_little(%g: tensor<1000xf32>, %w: tensor<1000xf32>) -> tensor<1000xf32> {
  %q = cleave.mul %g, %g : tensor<1000xf32>
  %s = cleave.reduce sum %q, [0] : tensor<1000xf32> -> tensor<f32>
  %r = cleave.rsqrt %s : tensor<f32>
  %b = cleave.broadcast %r, [] : tensor<f32> -> tensor<1000xf32>
  %m = cleave.mul %g, %b : tensor<1000xf32>
  %y = cleave.sub %w, %m : tensor<1000xf32>
  return %y : tensor<1000xf32>
}

// -----

// All ranks give their terms to a reduce. Kernels are the same as those of gradients that are stored unreduced.
// CHECK-LABEL: func.func @terms_of_a_reduce
// CHECK-COUNT-1: cleave.kernel
// CHECK-NOT:     cleave.kernel
// CHECK:         shard.reduce
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @terms_of_a_reduce(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>) {
    %e = cleave.exp %x : tensor<4x8xf32>
    %s = cleave.reduce sum %e, [0] : tensor<4x8xf32> -> tensor<8xf32>
    %r = shard.reduce %s on @mesh grid_axes = [0] root = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<8xf32>) -> tensor<8xf32>
    return %e, %r : tensor<4x8xf32>, tensor<8xf32>
  }
}
