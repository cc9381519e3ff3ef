// RUN: cleave-opt %s -split-loss="micro-batches=4" | FileCheck %s

// The count is a mean, so the guard of the sum of four counts is 4, and each micro-batch multiplies the penalty by its
// count and 1: (sum of counts) + 4 in all.
// CHECK: cleave.loss_guards = [{kind = 1 : i64, number = 4.000000e+00 : f64
// CHECK-LABEL: func @model
// CHECK: %[[N:.*]] = cleave.reduce sum %arg1
// CHECK: %[[C:.*]] = cleave.mul %[[N]]
// CHECK: %[[P:.*]] = cleave.reduce sum %{{.*}} : tensor<5xf32> -> tensor<f32>
// CHECK: %[[G:.*]] = cleave.add %[[C]], %[[ONE:.*]] : tensor<f32>
// CHECK: %[[W:.*]] = cleave.mul %[[P]], %[[G]]
// CHECK: return %{{.*}}, %[[C]]
// CHECK-NOT: dense<2.500000e-01>
module {
cleave.state @w : tensor<5xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<5xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["mean/mean", "mean"]}) {
  %w = cleave.read @w : tensor<5xf32>
  %eighth = cleave.constant dense<0.125> : tensor<f32>
  %s0 = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %s = cleave.mul %s0, %eighth : tensor<f32>
  %n0 = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.mul %n0, %eighth : tensor<f32>
  %one = cleave.constant dense<1.0> : tensor<f32>
  %g = cleave.add %n, %one : tensor<f32>
  %d = cleave.div %s, %g : tensor<f32>
  %r = cleave.reduce sum %w, [0] : tensor<5xf32> -> tensor<f32>
  %l = cleave.add %d, %r : tensor<f32>
  return %l : tensor<f32>
}
}
