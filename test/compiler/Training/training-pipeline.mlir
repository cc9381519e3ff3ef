// RUN: cleave-opt %s -verify-model -training-pipeline="optimizer=adamw data-ranks=2 micro-batches=2" -verify-step | FileCheck %s
// RUN: cleave-opt %s -training-pipeline="optimizer=adamw" -verify-step | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s -split-loss -differentiate -form-buckets="bucket-bytes=65 first-bucket-bytes=64 data-ranks=2" | FileCheck %s --check-prefix=BUCKETS
// RUN: cleave-opt %s -split-loss -differentiate -form-buckets -build-update -build-evaluate -choose-residuals -specialize-micro-batches="micro-batches=2" | FileCheck %s --check-prefix=PASSES

// A classifier of two layers, all the way. In the backward pass fc2.weight's gradient comes first, so it lies first in the bucket;
// 128-byte alignment puts fc1.bias at 64 and fc1.weight at 96.
// CHECK: cleave.level = "step", {{.*}}cleave.micro_batches = 2 : i64
// CHECK: cleave.state @bucket0 : tensor<256xf32> {role = #cleave.role<parameter>
// CHECK-SAME: "fc2.weight", tensor<4x16xf32>, offset = 0,
// CHECK-SAME: "fc1.bias", tensor<16xf32>, offset = 64,
// CHECK-SAME: "fc1.weight", tensor<16x8xf32>, offset = 96,
// CHECK: cleave.state @bucket0.grad : tensor<256xf32> {role = #cleave.role<gradient>
// CHECK: cleave.state @bucket0.exp_avg : tensor<256xf32> {role = #cleave.role<optimizer>
// CHECK: cleave.state @bucket0.exp_avg_sq : tensor<256xf32>

// The first micro-batch reads no accumulator.
// CHECK-LABEL: func @c0.fwd.first
// CHECK-NOT: cleave.read @scalar.loss
// CHECK: cleave.write %{{.*}}, @scalar.loss_sum
// Kept: relu's result, which the second product's gradient wants and which tells its own mask; and the probabilities' logarithms.
// CHECK: return %{{.*}}, %{{.*}} : tensor<6x16xf32>, tensor<6x4xf32>
// CHECK-LABEL: func @c0.fwd(
// CHECK: cleave.read @scalar.loss
// CHECK-LABEL: func @c0.bwd.first(
// CHECK-SAME: tensor<6x16xf32> {cleave.residual = 0 : i64}, %{{.*}}: tensor<6x4xf32> {cleave.residual = 1 : i64}
// CHECK-SAME: attributes {cleave.backward_of = @c0.fwd.first}
// CHECK-NOT: cleave.read @bucket0.grad
// CHECK: cleave.concat
// CHECK: cleave.write %{{.*}}, @bucket0.grad
// CHECK-LABEL: func @c0.bwd(
// The sum is made member by member: there is no second tensor of the bucket's size.
// CHECK: %[[OLD:.*]] = cleave.read @bucket0.grad
// CHECK: cleave.slice %[[OLD]], [0], [64], [1]
// CHECK-NOT: cleave.add %{{.*}} : tensor<256xf32>
// CHECK: cleave.write %{{.*}}, @bucket0.grad
// CHECK-LABEL: func @evaluate
// CHECK: cleave.argmax
// CHECK: cleave.write %{{.*}}, @scalar.eval_correct
// CHECK: cleave.write %{{.*}}, @scalar.eval_predictions
// CHECK-LABEL: func @update
// CHECK: cleave.write %{{.*}}, @bucket0 :

// ONE-NOT: @c0.fwd.first
// ONE: func @c0.fwd(
// ONE-NOT: cleave.read @scalar.loss
// ONE: func @c0.bwd(
// ONE-NOT: cleave.read @bucket0.grad
// ONE: func @evaluate

// BUCKETS-DAG: cleave.state @bucket0 : tensor<64xf32>
// BUCKETS-DAG: cleave.state @bucket1 : tensor<192xf32>

// PASSES-DAG: func @c0.fwd.first
// PASSES-DAG: func @c0.bwd.first
// PASSES-DAG: func @evaluate
// PASSES-DAG: func @update
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  cleave.state @fc1.weight : tensor<16x8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"fc1.weight", tensor<16x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @fc1.bias : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"fc1.bias", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @fc2.weight : tensor<4x16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"fc2.weight", tensor<4x16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x: tensor<6x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %labels: tensor<6xi64> {cleave.name = "labels", cleave.batch_dim = 0 : i64}) -> (tensor<6x4xf32> {cleave.name = "logits"}, tensor<f32> {cleave.name = "loss", cleave.loss}) {
    %w1 = cleave.read @fc1.weight : tensor<16x8xf32>
    %b1 = cleave.read @fc1.bias : tensor<16xf32>
    %w2 = cleave.read @fc2.weight : tensor<4x16xf32>
    %h = cleave.matmul %x, %w1 {transpose_rhs} : tensor<6x8xf32>, tensor<16x8xf32> -> tensor<6x16xf32>
    %bb = cleave.broadcast %b1, [1] : tensor<16xf32> -> tensor<6x16xf32>
    %a = cleave.add %h, %bb : tensor<6x16xf32>
    %r = cleave.relu %a : tensor<6x16xf32>
    %y = cleave.matmul %r, %w2 {transpose_rhs} : tensor<6x16xf32>, tensor<4x16xf32> -> tensor<6x4xf32>
    %ls = cleave.log_softmax %y, dim = 1 : tensor<6x4xf32>
    %i = cleave.iota dim = 1 : tensor<6x4xi64>
    %lb = cleave.broadcast %labels, [0] : tensor<6xi64> -> tensor<6x4xi64>
    %hit = cleave.compare eq %i, %lb : tensor<6x4xi64>
    %zero = cleave.constant dense<0.0> : tensor<6x4xf32>
    %p = cleave.select %hit, %ls, %zero : tensor<6x4xi1>, tensor<6x4xf32>
    %per = cleave.reduce sum %p, [1] : tensor<6x4xf32> -> tensor<6xf32>
    %sum = cleave.reduce sum %per, [0] : tensor<6xf32> -> tensor<f32>
    %neg = cleave.neg %sum : tensor<f32>
    %ign = cleave.constant dense<-100> : tensor<6xi64>
    %valid = cleave.compare ne %labels, %ign : tensor<6xi64>
    %vf = cleave.cast %valid : tensor<6xi1> -> tensor<6xf32>
    %count = cleave.reduce sum %vf, [0] : tensor<6xf32> -> tensor<f32>
    %loss = cleave.div %neg, %count : tensor<f32>
    return %y, %loss : tensor<6x4xf32>, tensor<f32>
  }
  func.func @model.eval(%x: tensor<6x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}, %labels: tensor<6xi64> {cleave.name = "labels", cleave.batch_dim = 0 : i64}) -> (tensor<6x4xf32> {cleave.name = "logits"}, tensor<f32> {cleave.name = "loss", cleave.loss}) {
    %w1 = cleave.read @fc1.weight : tensor<16x8xf32>
    %b1 = cleave.read @fc1.bias : tensor<16xf32>
    %w2 = cleave.read @fc2.weight : tensor<4x16xf32>
    %h = cleave.matmul %x, %w1 {transpose_rhs} : tensor<6x8xf32>, tensor<16x8xf32> -> tensor<6x16xf32>
    %bb = cleave.broadcast %b1, [1] : tensor<16xf32> -> tensor<6x16xf32>
    %a = cleave.add %h, %bb : tensor<6x16xf32>
    %r = cleave.relu %a : tensor<6x16xf32>
    %y = cleave.matmul %r, %w2 {transpose_rhs} : tensor<6x16xf32>, tensor<4x16xf32> -> tensor<6x4xf32>
    %ls = cleave.log_softmax %y, dim = 1 : tensor<6x4xf32>
    %i = cleave.iota dim = 1 : tensor<6x4xi64>
    %lb = cleave.broadcast %labels, [0] : tensor<6xi64> -> tensor<6x4xi64>
    %hit = cleave.compare eq %i, %lb : tensor<6x4xi64>
    %zero = cleave.constant dense<0.0> : tensor<6x4xf32>
    %p = cleave.select %hit, %ls, %zero : tensor<6x4xi1>, tensor<6x4xf32>
    %per = cleave.reduce sum %p, [1] : tensor<6x4xf32> -> tensor<6xf32>
    %sum = cleave.reduce sum %per, [0] : tensor<6xf32> -> tensor<f32>
    %neg = cleave.neg %sum : tensor<f32>
    %ign = cleave.constant dense<-100> : tensor<6xi64>
    %valid = cleave.compare ne %labels, %ign : tensor<6xi64>
    %vf = cleave.cast %valid : tensor<6xi1> -> tensor<6xf32>
    %count = cleave.reduce sum %vf, [0] : tensor<6xf32> -> tensor<f32>
    %loss = cleave.div %neg, %count : tensor<f32>
    return %y, %loss : tensor<6x4xf32>, tensor<f32>
  }
}
