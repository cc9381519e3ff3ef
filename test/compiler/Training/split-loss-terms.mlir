// RUN: cleave-opt %s -split-input-file -split-loss="micro-batches=3" -verify-diagnostics | FileCheck %s

// A sum over samples, three times in three micro-batches, and a penalty on weights, which counts once.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[P:.*]] = cleave.mul %{{.*}}, %{{.*}}
// CHECK: %[[THREE:.*]] = cleave.constant dense<3.000000e+00>
// CHECK: %[[M:.*]] = cleave.mul %[[S]], %[[THREE]]
// CHECK: %[[L:.*]] = cleave.add %[[M]], %[[P]]
// CHECK: %[[B:.*]] = cleave.constant dense<8.000000e+00>
// CHECK: %[[T:.*]] = cleave.mul %[[L]], %[[B]]
// CHECK: return %[[T]]
module {
cleave.state @w : tensor<5xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<5xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["sum", "mean"]}) {
  %w = cleave.read @w : tensor<5xf32>
  %c = cleave.constant dense<0.01> : tensor<f32>
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %r = cleave.reduce sum %w, [0] : tensor<5xf32> -> tensor<f32>
  %p = cleave.mul %r, %c : tensor<f32>
  // expected-remark @+1 {{the loss is that of 24 samples, a global batch, and depends on that number: it is a sum over samples}}
  %l = cleave.add %s, %p : tensor<f32>
  return %l : tensor<f32>
}
}

// -----

// With labels that count the penalty is multiplied by their number, and the division is left away.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[N:.*]] = cleave.reduce sum %arg1
// CHECK: %[[R:.*]] = cleave.mul %{{.*}}, %[[N]]
// CHECK: %[[L:.*]] = cleave.add %[[S]], %[[R]]
// CHECK: return %[[L]], %[[N]]
module {
cleave.state @w : tensor<5xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w", tensor<5xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss}) {
  %w = cleave.read @w : tensor<5xf32>
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %d = cleave.div %s, %n : tensor<f32>
  %r = cleave.reduce sum %w, [0] : tensor<5xf32> -> tensor<f32>
  %l = cleave.add %d, %r : tensor<f32>
  return %l : tensor<f32>
}
}

// -----

// Two counts have no common one.
// CHECK-LABEL: func @model
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64},
                 %k: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %o = cleave.reduce sum %k, [0] : tensor<8xf32> -> tensor<f32>
  %d = cleave.div %s, %n : tensor<f32>
  %e = cleave.div %s, %o : tensor<f32>
  // expected-remark @+1 {{depends on that number: its terms are divided by different counts}}
  %l = cleave.add %d, %e : tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["unknown"]}) {
  // expected-error @+1 {{a term of the loss is neither a sum over samples nor a mean}}
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  return %s : tensor<f32>
}

// -----

// A sum beside a term that cannot be split is that of one micro-batch: the loss is the mean of the micro-batches' losses as they are.
// CHECK-LABEL: func @model
// CHECK: %[[S:.*]] = cleave.reduce sum %arg0
// CHECK: %[[X:.*]] = cleave.reduce max %arg0
// CHECK: %[[L:.*]] = cleave.add %[[S]], %[[X]]
// CHECK: %[[B:.*]] = cleave.constant dense<8.000000e+00>
// CHECK: %[[T:.*]] = cleave.mul %[[L]], %[[B]]
// CHECK: return %[[T]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["sum", "whole mixes"]}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %x = cleave.reduce max %q, [0] : tensor<8xf32> -> tensor<f32>
  // expected-remark @+1 {{averaged over batches of 8 samples, and depends on that number: a term of it needs several samples together}}
  %l = cleave.add %s, %x : tensor<f32>
  return %l : tensor<f32>
}

// -----

// So is one beside a mean over a count.
// CHECK-LABEL: func @model
// CHECK: %[[D:.*]] = cleave.div
// CHECK: %[[L:.*]] = cleave.add %[[D]], %{{.*}}
// CHECK: %[[B:.*]] = cleave.constant dense<8.000000e+00>
// CHECK: %[[T:.*]] = cleave.mul %[[L]], %[[B]]
// CHECK: return %[[T]]
func.func @model(%q: tensor<8xf32> {cleave.batch_dim = 0 : i64}, %m: tensor<8xf32> {cleave.batch_dim = 0 : i64})
    -> (tensor<f32> {cleave.loss, cleave.loss_reductions = ["mean/sum", "sum"]}) {
  %s = cleave.reduce sum %q, [0] : tensor<8xf32> -> tensor<f32>
  %n = cleave.reduce sum %m, [0] : tensor<8xf32> -> tensor<f32>
  %d = cleave.div %s, %n : tensor<f32>
  // expected-remark @+1 {{depends on that number: its terms are divided by different counts}}
  %l = cleave.add %d, %s : tensor<f32>
  return %l : tensor<f32>
}
