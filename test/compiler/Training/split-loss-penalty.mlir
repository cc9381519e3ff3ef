// RUN: cleave-opt %s -split-loss="micro-batches=1" | FileCheck %s

// In one micro-batch the guarded count is known: the penalty is whole where the guard acts.
// CHECK: cleave.loss_guards = [{kind = 0 : i64, number = 1.000000e+01 : f64
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[N:.*]] = cleave.reduce sum %arg1
// CHECK: %[[P:.*]] = cleave.reduce sum %{{.*}} : tensor<5xf32> -> tensor<f32>
// CHECK: %[[TEN:.*]] = cleave.constant dense<1.000000e+01>
// CHECK: %[[G:.*]] = cleave.max %[[N]], %[[TEN]]
// CHECK: %[[W:.*]] = cleave.mul %[[P]], %[[G]]
// CHECK: %[[L:.*]] = cleave.add %[[S]], %[[W]]
// CHECK: return %[[L]], %[[N]]
module {
cleave.state @w : tensor<5xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<5xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss}) {
  %w = cleave.read @w : tensor<5xf32>
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %ten = cleave.constant dense<10.0> : tensor<f32>
  %g = cleave.max %n, %ten : tensor<f32>
  %d = cleave.div %s, %g : tensor<f32>
  %r = cleave.reduce sum %w, [0] : tensor<5xf32> -> tensor<f32>
  %l = cleave.add %d, %r : tensor<f32>
  return %l : tensor<f32>
}
}
