// RUN: cleave-opt %s -recompute-blocks=recompute=blocks | FileCheck %s
// RUN: cleave-opt %s -recompute-blocks='recompute=blocks when=except-last' | FileCheck %s --check-prefix=LAST
// RUN: cleave-opt %s -recompute-blocks='recompute=blocks when=never' | FileCheck %s --check-prefix=NEVER

// The backward pass is split (split-backward). Its first half runs the block's kernels again, once, and hands on what the second needs.
module attributes {cleave.blocks = 2 : i64, cleave.micro_batches = 3 : i64} {
cleave.state @w : tensor<8x16xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<8x16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w.grad : tensor<16x16xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
  #cleave.segment<"w", tensor<16x16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// CHECK-LABEL: func.func @c0.fwd
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32>
// CHECK-SAME: -> (tensor<4x16xf32> {cleave.edge = "c0:0"})
// LAST-LABEL: func.func @c0.fwd.last
// LAST-SAME: -> (tensor<4x16xf32> {cleave.edge = "c0:0"}, tensor<4x16xf32>, tensor<4x16xf32>)
// LAST-LABEL: func.func @c0.fwd(
// LAST-SAME: -> (tensor<4x16xf32> {cleave.edge = "c0:0"})
// NEVER-NOT: .last
// NEVER: func.func @c0.fwd
// NEVER-SAME: -> (tensor<4x16xf32> {cleave.edge = "c0:0"}, tensor<4x16xf32>, tensor<4x16xf32>)
func.func @c0.fwd(%x: tensor<4x8xf32> {cleave.name = "x"}) -> (tensor<4x16xf32> {cleave.edge = "c0:0"}, tensor<4x16xf32>, tensor<4x16xf32>) {
  %w = cleave.read @w : tensor<8x16xf32>
  %a = cleave.matmul %x, %w {cleave.block = 0 : i64} : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %h = cleave.kernel ins(%a : tensor<4x16xf32>) -> tensor<4x16xf32> attributes {cleave.block = 0 : i64, label = "k0"} {
  ^bb0(%v: tensor<4x16xf32>):
    %0 = cleave.tanh %v : tensor<4x16xf32>
    cleave.yield %0 : tensor<4x16xf32>
  }
  %y = cleave.neg %h {cleave.block = 0 : i64} : tensor<4x16xf32>
  return %y, %a, %h : tensor<4x16xf32>, tensor<4x16xf32>, tensor<4x16xf32>
}

// What only the second half needs (%h) is made along with the rest of its block.
// CHECK-LABEL: func.func @c0.bwd_x
// CHECK-SAME: %[[DY:[a-z0-9]+]]: tensor<4x16xf32> {cleave.edge = "c0:0.grad.c1"}
// CHECK-SAME: {cleave.name = "x"}
// CHECK-SAME: -> (tensor<4x16xf32> {cleave.edge = "c0.x:0"}, tensor<4x16xf32> {cleave.edge = "c0.x:r2"})
// CHECK: %[[A:.*]] = cleave.matmul
// CHECK: %[[H:.*]] = cleave.kernel ins(%[[A]]{{.*}}label = "k0"
// CHECK: %[[D:.*]] = cleave.mul %[[DY]], %[[A]]
// CHECK: return %[[D]], %[[H]]
// LAST-LABEL: func.func @c0.bwd_x.last
// LAST-SAME: cleave.residual = 1
// LAST: backward_of = @c0.fwd.last
func.func @c0.bwd_x(%a: tensor<4x16xf32> {cleave.residual = 1 : i64}, %dy: tensor<4x16xf32> {cleave.edge = "c0:0.grad.c1"})
    -> (tensor<4x16xf32> {cleave.edge = "c0.x:0"}) attributes {cleave.backward_of = @c0.fwd} {
  %d = cleave.mul %dy, %a {cleave.block = 0 : i64} : tensor<4x16xf32>
  return %d : tensor<4x16xf32>
}
// CHECK-LABEL: func.func @c0.bwd_w
// CHECK-SAME: %[[D:[a-z0-9]+]]: tensor<4x16xf32> {cleave.edge = "c0.x:0"}, %[[H:[a-z0-9]+]]: tensor<4x16xf32> {cleave.edge = "c0.x:r2"}
// CHECK-NOT: cleave.kernel
// CHECK: cleave.matmul %[[H]], %[[D]] {transpose_lhs}
func.func @c0.bwd_w(%d: tensor<4x16xf32> {cleave.edge = "c0.x:0"}, %h: tensor<4x16xf32> {cleave.residual = 2 : i64})
    attributes {cleave.backward_of = @c0.fwd} {
  %old = cleave.read @w.grad : tensor<16x16xf32>
  %g = cleave.matmul %h, %d {transpose_lhs} : tensor<4x16xf32>, tensor<4x16xf32> -> tensor<16x16xf32>
  %s = cleave.add %old, %g : tensor<16x16xf32>
  cleave.write %s, @w.grad : tensor<16x16xf32>
  return
}
}
