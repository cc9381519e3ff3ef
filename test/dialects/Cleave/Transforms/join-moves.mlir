// Ops that move elements join over reshapes that only merge or split dimensions, where something joins that was apart.
// RUN: cleave-opt %s --pass-pipeline='builtin.module(join-moves)' --split-input-file | FileCheck %s
// RUN: cleave-opt %s --pass-pipeline='builtin.module(join-moves,join-moves)' --split-input-file | FileCheck %s

// The heads of the second of three projections.
// CHECK-LABEL: @part_of_product
// CHECK: %[[R:.*]] = cleave.reshape %{{.*}} : tensor<8x6x12xf32> -> tensor<8x6x6x2xf32>
// CHECK: %[[S:.*]] = cleave.slice %[[R]], [0, 0, 2, 0], [8, 6, 2, 2], [1, 1, 1, 1] {cleave.block = 3 : i64}
// CHECK: %[[T:.*]] = cleave.transpose %[[S]], [0, 2, 1, 3]
// CHECK: return %[[T]]
func.func @part_of_product(%x: tensor<8x6x4xf32>, %w: tensor<4x12xf32>) -> tensor<8x2x6x2xf32> {
  %p = cleave.matmul %x, %w : tensor<8x6x4xf32>, tensor<4x12xf32> -> tensor<8x6x12xf32>
  %s = cleave.slice %p, [0, 0, 4], [8, 6, 4], [1, 1, 1] {cleave.block = 3 : i64} : tensor<8x6x12xf32> -> tensor<8x6x4xf32>
  %r = cleave.reshape %s : tensor<8x6x4xf32> -> tensor<8x6x2x2xf32>
  %t = cleave.transpose %r, [0, 2, 1, 3] : tensor<8x6x2x2xf32> -> tensor<8x2x6x2xf32>
  return %t : tensor<8x2x6x2xf32>
}

// A part of size 1, whose dimension the reshape drops.
// CHECK-LABEL: @one_of_three
// CHECK: %[[R:.*]] = cleave.reshape %{{.*}} : tensor<8x6x3x2x4xf32> -> tensor<8x6x6x4xf32>
// CHECK: %[[S:.*]] = cleave.slice %[[R]], [0, 0, 4, 0], [8, 6, 2, 4], [1, 1, 1, 1]
// CHECK: cleave.exp %[[S]]
func.func @one_of_three(%x: tensor<8x6x3x2x4xf32>) -> tensor<8x6x2x4xf32> {
  %s = cleave.slice %x, [0, 0, 2, 0, 0], [8, 6, 1, 2, 4], [1, 1, 2, 1, 1] : tensor<8x6x3x2x4xf32> -> tensor<8x6x1x2x4xf32>
  %r = cleave.reshape %s : tensor<8x6x1x2x4xf32> -> tensor<8x6x2x4xf32>
  %e = cleave.exp %r : tensor<8x6x2x4xf32>
  return %e : tensor<8x6x2x4xf32>
}

// Where a slice cannot go after the reshape: rows of 4 do not begin at 2, not each element is taken, the slice has
// another use, nothing joins it, bytes lie together, it takes of what is computed only what it needs.
// CHECK-LABEL: @slices_that_stay
// CHECK: cleave.slice %{{.*}}, [0, 2], [8, 8], [1, 1]
// CHECK: cleave.slice %{{.*}}, [0, 0], [8, 8], [1, 2]
// CHECK: cleave.slice %{{.*}}, [0, 4], [8, 8], [1, 1]
// CHECK: cleave.slice %{{.*}}, [0, 8], [8, 8], [1, 1]
// CHECK: cleave.slice %{{.*}}, [2, 0], [4, 16], [1, 1]
// CHECK: cleave.slice %{{.*}}, [0, 0], [8, 8], [1, 1]
func.func @slices_that_stay(%x: tensor<8x16xf32>, %b: tensor<8x2x4xf32>, %c: tensor<4x4x4xf32>)
    -> (tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x8xf32>, tensor<8x2x4xf32>, tensor<4x4x4xf32>, tensor<8x2x4xf32>) {
  %s0 = cleave.slice %x, [0, 2], [8, 8], [1, 1] : tensor<8x16xf32> -> tensor<8x8xf32>
  %r0 = cleave.reshape %s0 : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %e0 = cleave.exp %r0 : tensor<8x2x4xf32>
  %s1 = cleave.slice %x, [0, 0], [8, 8], [1, 2] : tensor<8x16xf32> -> tensor<8x8xf32>
  %r1 = cleave.reshape %s1 : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %e1 = cleave.exp %r1 : tensor<8x2x4xf32>
  %s2 = cleave.slice %x, [0, 4], [8, 8], [1, 1] : tensor<8x16xf32> -> tensor<8x8xf32>
  %r2 = cleave.reshape %s2 : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %e2 = cleave.exp %r2 : tensor<8x2x4xf32>
  %s3 = cleave.slice %x, [0, 8], [8, 8], [1, 1] : tensor<8x16xf32> -> tensor<8x8xf32>
  %r3 = cleave.reshape %s3 : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %s4 = cleave.slice %x, [2, 0], [4, 16], [1, 1] : tensor<8x16xf32> -> tensor<4x16xf32>
  %r4 = cleave.reshape %s4 : tensor<4x16xf32> -> tensor<4x4x4xf32>
  %e4 = cleave.exp %r4 : tensor<4x4x4xf32>
  %n5 = cleave.neg %x : tensor<8x16xf32>
  %s5 = cleave.slice %n5, [0, 0], [8, 8], [1, 1] : tensor<8x16xf32> -> tensor<8x8xf32>
  %r5 = cleave.reshape %s5 : tensor<8x8xf32> -> tensor<8x2x4xf32>
  %e5 = cleave.exp %r5 : tensor<8x2x4xf32>
  return %e0, %e1, %e2, %s2, %r3, %e4, %e5
    : tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x2x4xf32>, tensor<8x8xf32>, tensor<8x2x4xf32>, tensor<4x4x4xf32>, tensor<8x2x4xf32>
}

// Keys that an exporter turns to [heads, size, keys], with one dimension of heads, and that attention turns back.
// CHECK-LABEL: @turned_twice
// CHECK-SAME: %[[X:.*]]: tensor<2x6x3x4xf32>
// CHECK: %[[T:.*]] = cleave.transpose %[[X]], [0, 2, 1, 3] : tensor<2x6x3x4xf32> -> tensor<2x3x6x4xf32>
// CHECK-NOT: cleave.{{transpose|reshape}}
// CHECK: return %[[T]]
func.func @turned_twice(%x: tensor<2x6x3x4xf32>) -> tensor<2x3x6x4xf32> {
  %a = cleave.transpose %x, [0, 2, 1, 3] : tensor<2x6x3x4xf32> -> tensor<2x3x6x4xf32>
  %b = cleave.reshape %a : tensor<2x3x6x4xf32> -> tensor<6x6x4xf32>
  %c = cleave.transpose %b, [0, 2, 1] : tensor<6x6x4xf32> -> tensor<6x4x6xf32>
  %d = cleave.reshape %c : tensor<6x4x6xf32> -> tensor<2x3x4x6xf32>
  %e = cleave.transpose %d, [0, 1, 3, 2] : tensor<2x3x4x6xf32> -> tensor<2x3x6x4xf32>
  return %e : tensor<2x3x6x4xf32>
}

// The second transpose is one with what reads it, so that the reshape goes up.
// CHECK-LABEL: @reshape_goes_up
// CHECK: %[[R:.*]] = cleave.reshape %{{.*}} : tensor<4x6x5xf32> -> tensor<4x2x3x5xf32>
// CHECK: %[[T:.*]] = cleave.transpose %[[R]], [2, 0, 3, 1] : tensor<4x2x3x5xf32> -> tensor<3x4x5x2xf32>
// CHECK: cleave.exp %[[T]]
func.func @reshape_goes_up(%x: tensor<4x6x5xf32>) -> tensor<3x4x5x2xf32> {
  %a = cleave.transpose %x, [1, 2, 0] : tensor<4x6x5xf32> -> tensor<6x5x4xf32>
  %b = cleave.reshape %a : tensor<6x5x4xf32> -> tensor<2x3x5x4xf32>
  %c = cleave.transpose %b, [1, 3, 2, 0] : tensor<2x3x5x4xf32> -> tensor<3x4x5x2xf32>
  %d = cleave.exp %c : tensor<3x4x5x2xf32>
  return %d : tensor<3x4x5x2xf32>
}

// Neither way is open: the reshape merges what was apart, and what it merges is parted by the second transpose.
// CHECK-LABEL: @transposes_that_stay
// CHECK: cleave.transpose
// CHECK: cleave.reshape
// CHECK: cleave.transpose
func.func @transposes_that_stay(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %a = cleave.transpose %x, [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
  %b = cleave.reshape %a : tensor<6x4xf32> -> tensor<8x3xf32>
  %c = cleave.transpose %b, [1, 0] : tensor<8x3xf32> -> tensor<3x8xf32>
  return %c : tensor<3x8xf32>
}

// A transpose that joins nothing below goes to what makes the elements; one that does stays.
// CHECK-LABEL: @transpose_goes_up
// CHECK: %[[N:.*]] = cleave.neg
// CHECK: %[[T:.*]] = cleave.transpose %[[N]], [2, 0, 1, 3] : tensor<2x3x4x1xf32> -> tensor<4x2x3x1xf32>
// CHECK: %[[R:.*]] = cleave.reshape %[[T]] : tensor<4x2x3x1xf32> -> tensor<4x6xf32>
// CHECK: %[[S:.*]] = cleave.reshape
// CHECK: %[[U:.*]] = cleave.transpose %[[S]], [1, 0]
// CHECK: cleave.exp %[[U]]
func.func @transpose_goes_up(%x: tensor<2x3x4x1xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %n = cleave.neg %x : tensor<2x3x4x1xf32>
  %r = cleave.reshape %n : tensor<2x3x4x1xf32> -> tensor<6x4xf32>
  %t = cleave.transpose %r, [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
  %m = cleave.abs %x : tensor<2x3x4x1xf32>
  %s = cleave.reshape %m : tensor<2x3x4x1xf32> -> tensor<6x4xf32>
  %u = cleave.transpose %s, [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
  %e = cleave.exp %u : tensor<4x6xf32>
  return %t, %e : tensor<4x6xf32>, tensor<4x6xf32>
}

// Gradients of the heads are put together, and the sum over all rows is one with that.
// CHECK-LABEL: @put_together
// CHECK: %[[A:.*]] = cleave.transpose %{{.*}} : tensor<8x2x6x4xf32> -> tensor<8x6x2x4xf32>
// CHECK: %[[B:.*]] = cleave.transpose %{{.*}} : tensor<8x1x6x4xf32> -> tensor<8x6x1x4xf32>
// CHECK: %[[C:.*]] = cleave.concat %[[A]], %[[B]] dim = 2 : tensor<8x6x2x4xf32>, tensor<8x6x1x4xf32> -> tensor<8x6x3x4xf32>
// CHECK: %[[R:.*]] = cleave.reshape %[[C]] : tensor<8x6x3x4xf32> -> tensor<8x6x12xf32>
// CHECK: %[[S:.*]] = cleave.reduce sum %[[C]], [0, 1] : tensor<8x6x3x4xf32> -> tensor<3x4xf32>
// CHECK: %[[V:.*]] = cleave.reshape %[[S]] : tensor<3x4xf32> -> tensor<12xf32>
// CHECK: cleave.matmul %[[R]]
// CHECK: return %{{.*}}, %[[V]]
func.func @put_together(%a: tensor<8x2x6x4xf32>, %b: tensor<8x1x6x4xf32>, %w: tensor<12x4xf32>) -> (tensor<8x6x4xf32>, tensor<12xf32>) {
  %t = cleave.transpose %a, [0, 2, 1, 3] : tensor<8x2x6x4xf32> -> tensor<8x6x2x4xf32>
  %r = cleave.reshape %t : tensor<8x6x2x4xf32> -> tensor<8x6x8xf32>
  %u = cleave.transpose %b, [0, 2, 1, 3] : tensor<8x1x6x4xf32> -> tensor<8x6x1x4xf32>
  %s = cleave.reshape %u : tensor<8x6x1x4xf32> -> tensor<8x6x4xf32>
  %c = cleave.concat %r, %s dim = 2 : tensor<8x6x8xf32>, tensor<8x6x4xf32> -> tensor<8x6x12xf32>
  %sum = cleave.reduce sum %c, [0, 1] : tensor<8x6x12xf32> -> tensor<12xf32>
  %p = cleave.matmul %c, %w : tensor<8x6x12xf32>, tensor<12x4xf32> -> tensor<8x6x4xf32>
  return %p, %sum : tensor<8x6x4xf32>, tensor<12xf32>
}

// Tensors that are stacked: a new dimension of size 1 each.
// CHECK-LABEL: @stacked
// CHECK: %[[C:.*]] = cleave.concat %{{.*}}, %{{.*}} dim = 1 : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x8xf32>
// CHECK: cleave.reshape %[[C]] : tensor<8x8xf32> -> tensor<8x2x4xf32>
func.func @stacked(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>) -> tensor<8x2x4xf32> {
  %n = cleave.neg %a : tensor<8x4xf32>
  %r = cleave.reshape %n : tensor<8x4xf32> -> tensor<8x1x4xf32>
  %e = cleave.exp %b : tensor<8x4xf32>
  %s = cleave.reshape %e : tensor<8x4xf32> -> tensor<8x1x4xf32>
  %c = cleave.concat %r, %s dim = 1 : tensor<8x1x4xf32>, tensor<8x1x4xf32> -> tensor<8x2x4xf32>
  return %c : tensor<8x2x4xf32>
}

// Elements that lie between one another, and operands that are stored anyway, stay.
// CHECK-LABEL: @concats_that_stay
// CHECK: cleave.concat %{{.*}}, %{{.*}} dim = 2 : tensor<8x4x1xf32>
// CHECK: cleave.concat %{{.*}}, %{{.*}} dim = 1 : tensor<8x8xf32>
func.func @concats_that_stay(%a: tensor<8x4xf32>, %b: tensor<8x4xf32>, %d: tensor<8x2x4xf32>) -> (tensor<8x4x2xf32>, tensor<8x16xf32>) {
  %n = cleave.neg %a : tensor<8x4xf32>
  %r = cleave.reshape %n : tensor<8x4xf32> -> tensor<8x4x1xf32>
  %e = cleave.exp %b : tensor<8x4xf32>
  %s = cleave.reshape %e : tensor<8x4xf32> -> tensor<8x4x1xf32>
  %c = cleave.concat %r, %s dim = 2 : tensor<8x4x1xf32>, tensor<8x4x1xf32> -> tensor<8x4x2xf32>
  %t = cleave.reshape %d : tensor<8x2x4xf32> -> tensor<8x8xf32>
  %f = cleave.concat %t, %t dim = 1 : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x16xf32>
  return %c, %f : tensor<8x4x2xf32>, tensor<8x16xf32>
}

// Sums that stay: of terms that are computed (they would be added in another way), over dimensions that the reshape
// makes, and beside another reader that would be left alone.
// CHECK-LABEL: @sums_that_stay
// CHECK: cleave.reduce sum %{{.*}}, [0] : tensor<6x8xf32>
// CHECK: cleave.reduce sum %{{.*}}, [1] : tensor<6x8xf32>
// CHECK: cleave.reduce sum %{{.*}}, [0] : tensor<6x8xf32>
func.func @sums_that_stay(%x: tensor<6x2x4xf32>, %y: tensor<6x4x2xf32>) -> (tensor<8xf32>, tensor<6xf32>, tensor<8xf32>, tensor<6x8xf32>) {
  %n = cleave.neg %x : tensor<6x2x4xf32>
  %r = cleave.reshape %n : tensor<6x2x4xf32> -> tensor<6x8xf32>
  %a = cleave.reduce sum %r, [0] : tensor<6x8xf32> -> tensor<8xf32>
  %t = cleave.transpose %y, [0, 2, 1] : tensor<6x4x2xf32> -> tensor<6x2x4xf32>
  %s = cleave.reshape %t : tensor<6x2x4xf32> -> tensor<6x8xf32>
  %b = cleave.reduce sum %s, [1] : tensor<6x8xf32> -> tensor<6xf32>
  %u = cleave.reshape %t : tensor<6x2x4xf32> -> tensor<6x8xf32>
  %c = cleave.reduce sum %u, [0] : tensor<6x8xf32> -> tensor<8xf32>
  %e = cleave.exp %u : tensor<6x8xf32>
  return %a, %b, %c, %e : tensor<8xf32>, tensor<6xf32>, tensor<8xf32>, tensor<6x8xf32>
}

// -----

// Directions of an LSTM whose samples lie inside: the 3 samples stay a dimension of their own, and rows of 5 do not.
// CHECK-LABEL: @samples_inside
// CHECK: cleave.slice %{{.*}}, [0, 1, 0, 0], [7, 1, 3, 4], [1, 1, 1, 1]
// CHECK: cleave.concat %{{.*}}, %{{.*}} dim = 1 : tensor<7x1x3x4xf32>
// CHECK: cleave.slice %{{.*}}, [0, 5, 0], [7, 5, 4], [1, 1, 1]
// CHECK: cleave.concat %{{.*}}, %{{.*}} dim = 1 : tensor<7x5x4xf32>
func.func @samples_inside(%x: tensor<3x7xf32> {cleave.batch_dim = 0 : i64}, %y: tensor<7x2x3x4xf32>, %a: tensor<7x3x4xf32>,
                          %z: tensor<7x2x5x4xf32>, %b: tensor<7x5x4xf32>)
    -> (tensor<7x3x4xf32>, tensor<7x2x3x4xf32>, tensor<7x5x4xf32>, tensor<7x2x5x4xf32>) {
  %s = cleave.slice %y, [0, 1, 0, 0], [7, 1, 3, 4], [1, 1, 1, 1] : tensor<7x2x3x4xf32> -> tensor<7x1x3x4xf32>
  %r = cleave.reshape %s : tensor<7x1x3x4xf32> -> tensor<7x3x4xf32>
  %e = cleave.exp %r : tensor<7x3x4xf32>
  %n = cleave.neg %a : tensor<7x3x4xf32>
  %p = cleave.reshape %n : tensor<7x3x4xf32> -> tensor<7x1x3x4xf32>
  %m = cleave.exp %a : tensor<7x3x4xf32>
  %q = cleave.reshape %m : tensor<7x3x4xf32> -> tensor<7x1x3x4xf32>
  %c = cleave.concat %p, %q dim = 1 : tensor<7x1x3x4xf32>, tensor<7x1x3x4xf32> -> tensor<7x2x3x4xf32>
  %s5 = cleave.slice %z, [0, 1, 0, 0], [7, 1, 5, 4], [1, 1, 1, 1] : tensor<7x2x5x4xf32> -> tensor<7x1x5x4xf32>
  %r5 = cleave.reshape %s5 : tensor<7x1x5x4xf32> -> tensor<7x5x4xf32>
  %e5 = cleave.exp %r5 : tensor<7x5x4xf32>
  %n5 = cleave.neg %b : tensor<7x5x4xf32>
  %p5 = cleave.reshape %n5 : tensor<7x5x4xf32> -> tensor<7x1x5x4xf32>
  %m5 = cleave.exp %b : tensor<7x5x4xf32>
  %q5 = cleave.reshape %m5 : tensor<7x5x4xf32> -> tensor<7x1x5x4xf32>
  %c5 = cleave.concat %p5, %q5 dim = 1 : tensor<7x1x5x4xf32>, tensor<7x1x5x4xf32> -> tensor<7x2x5x4xf32>
  return %e, %c, %e5, %c5 : tensor<7x3x4xf32>, tensor<7x2x3x4xf32>, tensor<7x5x4xf32>, tensor<7x2x5x4xf32>
}
