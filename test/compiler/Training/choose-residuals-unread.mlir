// RUN: cleave-opt %s -choose-residuals | FileCheck %s

// @c0 rounds what it returns as "c0:0", so it does not read the gradient of it; that of "c0:1" it reads. @c1 makes both, and the first one of
// what @c2 returns for "c1:0": nobody needs that either. What nobody needs is not computed, and crosses no chunks.
// CHECK-LABEL: func.func @c0.bwd
// CHECK-NOT: c0:0.grad
// CHECK-SAME: {cleave.edge = "c0:1.grad.c1"}
// CHECK: cleave.write %{{.*}}, @w.grad
// CHECK-LABEL: func.func @c1.bwd
// CHECK-SAME: ({{[^>]*}}> {cleave.edge = "c1:1.grad.c2"}) -> (tensor<4xf32> {cleave.edge = "c0:1.grad.c1"}) attributes
// CHECK-NEXT: cleave.neg
// CHECK-NEXT: return
// CHECK-LABEL: func.func @c2.bwd
// CHECK-SAME: -> (tensor<4xf32> {cleave.edge = "c1:1.grad.c2"}) attributes
// CHECK-NOT: cleave.mul
// CHECK: return
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w.grad : tensor<4xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
  #cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @c0(%x: tensor<4xf32> {cleave.name = "x"}, %dr: tensor<4xf32> {cleave.cotangent, cleave.edge = "c0:0.grad.c1"},
              %dy: tensor<4xf32> {cleave.cotangent, cleave.edge = "c0:1.grad.c1"})
    -> (tensor<4xf32> {cleave.edge = "c0:0"}, tensor<4xf32> {cleave.edge = "c0:1"}) {
  %w = cleave.read @w : tensor<4xf32>
  %y = cleave.mul %x, %w : tensor<4xf32>
  %r = cleave.round %y : tensor<4xf32>
  %dw = cleave.mul %dy, %x : tensor<4xf32>
  %old = cleave.read @w.grad : tensor<4xf32>
  %new = cleave.add %old, %dw : tensor<4xf32>
  cleave.write %new, @w.grad : tensor<4xf32>
  return %r, %y : tensor<4xf32>, tensor<4xf32>
}
func.func @c1(%r: tensor<4xf32> {cleave.edge = "c0:0"}, %y: tensor<4xf32> {cleave.edge = "c0:1"},
              %dp: tensor<4xf32> {cleave.cotangent, cleave.edge = "c1:0.grad.c2"}, %dn: tensor<4xf32> {cleave.cotangent, cleave.edge = "c1:1.grad.c2"})
    -> (tensor<4xf32> {cleave.edge = "c1:0"}, tensor<4xf32> {cleave.edge = "c1:1"},
        tensor<4xf32> {cleave.edge = "c0:0.grad.c1"}, tensor<4xf32> {cleave.edge = "c0:1.grad.c1"}) {
  %p = cleave.exp %r : tensor<4xf32>
  %n = cleave.neg %y : tensor<4xf32>
  %dr = cleave.mul %dp, %p : tensor<4xf32>
  %dy = cleave.neg %dn : tensor<4xf32>
  return %p, %n, %dr, %dy : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
func.func @c2(%p: tensor<4xf32> {cleave.edge = "c1:0"}, %n: tensor<4xf32> {cleave.edge = "c1:1"}, %seed: tensor<4xf32> {cleave.seed})
    -> (tensor<4xf32> {cleave.edge = "c1:0.grad.c2"}, tensor<4xf32> {cleave.edge = "c1:1.grad.c2"}) {
  %dp = cleave.mul %seed, %n : tensor<4xf32>
  %dn = cleave.add %seed, %p : tensor<4xf32>
  return %dp, %dn : tensor<4xf32>, tensor<4xf32>
}
