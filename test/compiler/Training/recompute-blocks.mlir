// RUN: cleave-opt %s -split-input-file -recompute-blocks=recompute=blocks | FileCheck %s
// RUN: cleave-opt %s -split-input-file -recompute-blocks=recompute=first=1 | FileCheck %s --check-prefix=FIRST
// RUN: cleave-opt %s -split-input-file -recompute-blocks=recompute=segments=2 | FileCheck %s --check-prefix=WHOLE
// RUN: cleave-opt %s -split-input-file -recompute-blocks | FileCheck %s --check-prefix=NONE

// Two blocks, each a product, a kernel (block 1's updates a statistic too) and a product; then a head without a mark. What is kept
// without recomputation is both hidden values and block 1's result.
module attributes {cleave.blocks = 2 : i64} {
cleave.state @bucket : tensor<256xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @bucket.grad : tensor<256xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
  #cleave.segment<"w", tensor<256xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @mean : tensor<16xf32> {role = #cleave.role<buffer>, segments = [
  #cleave.segment<"mean", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// blocks: what crosses is kept, block 0's result and block 1's, and the statistic as it was, which the forward pass overwrites. first=1: block 1 is as
// without recomputation. segments=2: nothing between the blocks.
// CHECK-LABEL: func.func @c0.fwd
// CHECK-SAME: -> (tensor<4x8xf32>, tensor<16xf32>, tensor<4x8xf32>)
// CHECK: %[[X1:.*]] = cleave.matmul %{{.*}}, %{{.*}} {cleave.block = 0 : i64} : tensor<4x16xf32>
// CHECK: %[[OLD:.*]] = cleave.read @mean
// CHECK: %[[X2:.*]] = cleave.matmul %{{.*}}, %{{.*}} {cleave.block = 1 : i64} : tensor<4x16xf32>
// CHECK: cleave.write %{{.*}}, @mean
// CHECK: return %[[X1]], %[[OLD]], %[[X2]] :
// FIRST-LABEL: func.func @c0.fwd
// FIRST-SAME: -> (tensor<4x16xf32>, tensor<4x8xf32>)
// WHOLE-LABEL: func.func @c0.fwd
// WHOLE-SAME: -> (tensor<16xf32>, tensor<4x8xf32>)
// NONE-LABEL: func.func @c0.fwd
// NONE-SAME: -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>)
func.func @c0.fwd(%x: tensor<4x8xf32> {cleave.name = "x"}) -> (tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>) {
  %bucket = cleave.read @bucket : tensor<256xf32>
  %s0 = cleave.slice %bucket, [0], [128], [1] : tensor<256xf32> -> tensor<128xf32>
  %w0 = cleave.reshape %s0 : tensor<128xf32> -> tensor<8x16xf32>
  %s1 = cleave.slice %bucket, [128], [128], [1] : tensor<256xf32> -> tensor<128xf32>
  %w1 = cleave.reshape %s1 : tensor<128xf32> -> tensor<16x8xf32>
  %a0 = cleave.matmul %x, %w0 {cleave.block = 0 : i64} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %h0 = cleave.kernel ins(%a0 : tensor<4x16xf32>) -> tensor<4x16xf32> attributes {cleave.block = 0 : i64, label = "k0"} {
  ^bb0(%v: tensor<4x16xf32>):
    %0 = cleave.tanh %v : tensor<4x16xf32>
    cleave.yield %0 : tensor<4x16xf32>
  }
  %x1 = cleave.matmul %h0, %w1 {cleave.block = 0 : i64} : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %a1 = cleave.matmul %x1, %w0 {cleave.block = 1 : i64} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %old = cleave.read @mean : tensor<16xf32>
  %h1:2 = cleave.kernel ins(%a1, %old : tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>, tensor<16xf32> attributes {cleave.block = 1 : i64, label = "k1"} {
  ^bb0(%v: tensor<4x16xf32>, %m: tensor<16xf32>):
    %0 = cleave.tanh %v : tensor<4x16xf32>
    %1 = cleave.reduce sum %v, [0] : tensor<4x16xf32> -> tensor<16xf32>
    %2 = cleave.add %1, %m : tensor<16xf32>
    cleave.yield %0, %2 : tensor<4x16xf32>, tensor<16xf32>
  }
  %x2 = cleave.matmul %h1#0, %w1 {cleave.block = 1 : i64} : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %y = cleave.matmul %x2, %w0 : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  cleave.write %h1#1, @mean : tensor<16xf32>
  return %h0, %h1#0, %x2 : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x8xf32>
}

// Block 1's kernels run again before its part of the backward pass, block 0's only before theirs; an input is added for them. Parameters are read
// once: the read moves up. Writes are not repeated.
// CHECK-LABEL: func.func @c0.bwd
// CHECK-SAME: %[[X1:[a-z0-9]+]]: tensor<4x8xf32> {cleave.residual = 0 : i64}
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: tensor<16xf32> {cleave.residual = 1 : i64}
// CHECK-SAME: %[[X2:[a-z0-9]+]]: tensor<4x8xf32> {cleave.residual = 2 : i64}
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {cleave.name = "x"}
// CHECK: cleave.matmul %[[X2]], %[[X2]]
// CHECK: cleave.read @bucket
// CHECK: %[[W0:.*]] = cleave.reshape {{.*}} -> tensor<8x16xf32>
// CHECK: %[[A1:.*]] = cleave.matmul %[[X1]], %[[W0]]
// CHECK: %[[H1:.*]]:2 = cleave.kernel ins(%[[A1]], %[[OLD]] {{.*}}label = "k1"
// CHECK: cleave.matmul %{{.*}}, %[[H1]]#0
// CHECK-NOT: cleave.read
// CHECK: cleave.matmul %{{.*}}, %[[W0]] {transpose_rhs}
// CHECK: %[[A0:.*]] = cleave.matmul %[[X]], %[[W0]]
// CHECK: %[[H0:.*]] = cleave.kernel ins(%[[A0]] {{.*}}label = "k0"
// CHECK: cleave.matmul %{{.*}}, %[[H0]] {transpose_lhs}
// CHECK-NOT: @mean
// CHECK: return{{$}}
// FIRST-LABEL: func.func @c0.bwd
// FIRST-NOT: label = "k1"
// FIRST: label = "k0"
// WHOLE-LABEL: func.func @c0.bwd
// WHOLE: label = "k0"
// WHOLE: label = "k1"
// NONE-LABEL: func.func @c0.bwd
// NONE-NOT: cleave.kernel
func.func @c0.bwd(%h0: tensor<4x16xf32> {cleave.residual = 0 : i64}, %h1: tensor<4x16xf32> {cleave.residual = 1 : i64},
                  %x2: tensor<4x8xf32> {cleave.residual = 2 : i64}) attributes {cleave.backward_of = @c0.fwd} {
  %d2 = cleave.matmul %x2, %x2 {transpose_rhs} : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
  %g1 = cleave.matmul %d2, %h1 : tensor<4x4xf32>, tensor<4x16xf32> -> tensor<4x16xf32>
  %bucket = cleave.read @bucket : tensor<256xf32>
  %s0 = cleave.slice %bucket, [0], [128], [1] : tensor<256xf32> -> tensor<128xf32>
  %w0 = cleave.reshape %s0 : tensor<128xf32> -> tensor<8x16xf32>
  %d1 = cleave.matmul %g1, %w0 {transpose_rhs} : tensor<4x16xf32>, tensor<8x16xf32> -> tensor<4x8xf32>
  %g0 = cleave.matmul %d1, %h0 {transpose_lhs} : tensor<4x8xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  %f0 = cleave.reshape %g0 : tensor<8x16xf32> -> tensor<128xf32>
  %g = cleave.concat %f0, %f0 dim = 0 : tensor<128xf32>, tensor<128xf32> -> tensor<256xf32>
  cleave.write %g, @bucket.grad : tensor<256xf32>
  return
}
}
