// RUN: cleave-opt %s -differentiate="micro-batches=4" -canonicalize -cse -form-buckets="data-ranks=2 sums-whole" -canonicalize | FileCheck %s
// RUN: cleave-opt %s -differentiate="micro-batches=4 reduce=f32" -form-buckets | FileCheck %s --check-prefix=WIDE
// RUN: cleave-opt %s -differentiate="micro-batches=1" -form-buckets | FileCheck %s --check-prefix=ONE

// Gradients of several micro-batches are added in f32. `cleave.term_type` says that they have another type before that: a bucket of terms is
// concatenated, and can be reduced, in their own type.
// CHECK: cleave.state @bucket0.grad : tensor<{{.*}}xf32> {cleave.term_type = bf16
// CHECK: %[[OLD:.*]] = cleave.read @bucket0.grad : tensor<128xf32>
// CHECK: %[[TERMS:.*]] = cleave.concat {{.*}} -> tensor<128xbf16>
// CHECK: %[[F32:.*]] = cleave.cast %[[TERMS]] : tensor<128xbf16> -> tensor<128xf32>
// CHECK: %[[SUM:.*]] = cleave.add %[[OLD]], %[[F32]]
// CHECK: cleave.write %[[SUM]], @bucket0.grad

// WIDE-NOT: cleave.term_type
// WIDE: cleave.state @bucket0.grad : tensor<{{.*}}xf32>
// ONE-NOT: cleave.term_type
// ONE: cleave.state @bucket0.grad : tensor<{{.*}}xbf16>
cleave.state @w : tensor<4x3xbf16> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xbf16>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<4x3xbf16> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.v", tensor<4x3xbf16>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model() -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<4x3xbf16>
  %v = cleave.read @v : tensor<4x3xbf16>
  %e = cleave.mul %w, %v : tensor<4x3xbf16>
  %c = cleave.cast %e : tensor<4x3xbf16> -> tensor<4x3xf32>
  %s = cleave.reduce sum %c, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n = cleave.constant dense<12.0> : tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}
