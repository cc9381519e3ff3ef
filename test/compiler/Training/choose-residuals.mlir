// RUN: cleave-opt %s -choose-residuals | FileCheck %s

cleave.state @scalar.micro : tensor<i64> {role = #cleave.role<scalar>, segments = [
  #cleave.segment<"scalar.micro", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @w : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w.grad : tensor<8x8xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
  #cleave.segment<"w", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// The counter is written by the forward pass, so the backward pass must not read it again: what was made of it is kept,
// at its smallest (the cast has four bytes). The tensors are made again from that and from inputs.
// CHECK-LABEL: func @c0.fwd
// CHECK-SAME: -> tensor<f32>
// CHECK-NOT: cleave.matmul
// CHECK: %[[M:.*]] = cleave.read @scalar.micro
// CHECK: cleave.write %{{.*}}, @scalar.micro
// CHECK: %[[F:.*]] = cleave.cast %[[M]]
// CHECK: return %[[F]]
// CHECK-LABEL: func @c0.bwd
// CHECK-SAME: (%[[F:[a-z0-9]+]]: tensor<f32> {cleave.residual = 0 : i64},
// CHECK-SAME: tensor<8x8xf32> {cleave.name = "x"})
// CHECK-SAME: attributes {cleave.backward_of = @c0.fwd}
// CHECK-NOT: cleave.read @scalar.micro
// CHECK: cleave.broadcast %[[F]]
// CHECK: cleave.matmul
// CHECK: cleave.write %{{.*}}, @w.grad
func.func @c0(%x: tensor<8x8xf32> {cleave.name = "x"}, %seed: tensor<8x8xf32> {cleave.seed}) {
  %m = cleave.read @scalar.micro : tensor<i64>
  %one = cleave.constant dense<1> : tensor<i64>
  %next = cleave.add %m, %one : tensor<i64>
  cleave.write %next, @scalar.micro : tensor<i64>
  %f = cleave.cast %m : tensor<i64> -> tensor<f32>
  %b = cleave.broadcast %f, [] : tensor<f32> -> tensor<8x8xf32>
  %a = cleave.mul %x, %b : tensor<8x8xf32>
  %g = cleave.matmul %a, %seed : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %old = cleave.read @w.grad : tensor<8x8xf32>
  %new = cleave.add %old, %g : tensor<8x8xf32>
  cleave.write %new, @w.grad : tensor<8x8xf32>
  return
}
