// RUN: cleave-opt %s -split-loss -cut-model="stages=2 at=w1" | FileCheck %s
// RUN: cleave-opt %s -split-loss -cut-model="stages=2 at=w1" -differentiate | FileCheck %s --check-prefix=JOINT
// RUN: cleave-opt %s -request-stages="stages=2 split=pattern=w? split-backward=true" -training-pipeline="optimizer=sgd" -verify-step | FileCheck %s --check-prefix=STEP
// RUN: cleave-opt %s -request-stages="stages=2 split=pattern=w? split-backward=true" -split-loss -cut-model -differentiate -form-buckets -build-update -choose-residuals \
// RUN:   -specialize-micro-batches -split-backward -canonicalize -cse -verify-step | FileCheck %s --check-prefix=STEP
// RUN: cleave-opt %s -split-loss -cut-model="stages=1" | FileCheck %s --check-prefix=ONE

// The first layer's result and the tied weight are used by both chunks, the labels by the last alone. The last chunk takes an input that the loss does
// not need, too, as the whole model does.
// CHECK-LABEL: func.func @c0
// CHECK-SAME: (%[[X:.*]]: tensor<6x4xf32> {cleave.batch_dim = 0 : i64, cleave.name = "x"}) -> (tensor<6x4xf32> {cleave.edge = "c0:0"})
// CHECK-DAG: cleave.read @w0
// CHECK: %[[H:.*]] = cleave.tanh
// CHECK-NEXT: return %[[H]]
// CHECK-LABEL: func.func @c1
// CHECK-SAME: (%[[H:.*]]: tensor<6x4xf32> {cleave.edge = "c0:0"}, %{{.*}}: tensor<6x4xf32> {cleave.batch_dim = 0 : i64, cleave.name = "y"}, %{{.*}}: tensor<6x2xf32> {cleave.batch_dim = 0 : i64, cleave.name = "z"})
// CHECK-SAME: -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count})
// CHECK-DAG: cleave.read @w1
// CHECK-DAG: cleave.read @w0
// CHECK-NOT: func.func @model

// Each chunk has an accumulator of the tied weight; the later chunk returns the edge's gradient.
// JOINT-DAG: cleave.state @w0.grad :
// JOINT-DAG: cleave.state @w0.grad.c0 :
// JOINT-DAG: cleave.state @w1.grad :
// JOINT-LABEL: func.func @c0
// JOINT-SAME: %[[D:[a-z0-9]+]]: tensor<6x4xf32> {cleave.cotangent, cleave.edge = "c0:0.grad.c1"}) -> (tensor<6x4xf32> {cleave.edge = "c0:0"})
// JOINT: cleave.write %{{.*}}, @w0.grad.c0
// JOINT-LABEL: func.func @c1
// JOINT-SAME: {cleave.seed}) -> (tensor<6x4xf32> {cleave.edge = "c0:0.grad.c1"})

// STEP-LABEL: func.func @c0.fwd
// STEP-LABEL: func.func @c0.bwd_x
// STEP-LABEL: func.func @c0.bwd_w
// STEP: cleave.write %{{.*}}, @bucket{{[0-9]+}}.grad.c0
// STEP-LABEL: func.func @c1.fwd
// STEP-LABEL: func.func @c1.bwd_x
// STEP-NOT: cleave.write
// STEP: return
// STEP-LABEL: func.func @c1.bwd_w
// STEP: cleave.write

// ONE: func.func @model
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  cleave.state @w0 : tensor<4x4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<4x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<4x4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<4x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x: tensor<6x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %y: tensor<6x4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64},
                   %z: tensor<6x2xf32> {cleave.name = "z", cleave.batch_dim = 0 : i64})
      -> (tensor<f32> {cleave.loss}) {
    %w0 = cleave.read @w0 : tensor<4x4xf32>
    %w1 = cleave.read @w1 : tensor<4x4xf32>
    %n = cleave.constant dense<24.0> : tensor<f32>
    %0 = cleave.matmul %x, %w0 {transpose_rhs} : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %h = cleave.tanh %0 : tensor<6x4xf32>
    %1 = cleave.matmul %h, %w1 {transpose_rhs} : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %s = cleave.add %1, %h : tensor<6x4xf32>
    %2 = cleave.matmul %s, %w0 : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
    %d = cleave.sub %2, %y : tensor<6x4xf32>
    %q = cleave.mul %d, %d : tensor<6x4xf32>
    %l = cleave.reduce sum %q, [0, 1] : tensor<6x4xf32> -> tensor<f32>
    %loss = cleave.div %l, %n : tensor<f32>
    return %loss : tensor<f32>
  }
}
