// RUN: cleave-opt %s -differentiate="reduce=fp16" -build-update="optimizer=sgd" -choose-residuals -specialize-micro-batches="micro-batches=2" -canonicalize -cse | FileCheck %s
// RUN: cleave-opt %s -differentiate -build-update="optimizer=sgd" | FileCheck %s --check-prefix=PLAIN

// The first micro-batch keeps what the buffer was before the step; a skipped step puts it back.
// CHECK: cleave.state @running.before : tensor<2xf32> {role = #cleave.role<buffer>{{.*}}slot = "before"
// CHECK-LABEL: func @c0.fwd.first
// CHECK: %[[OLD:.*]] = cleave.read @running :
// CHECK: cleave.write %[[OLD]], @running.before
// CHECK: cleave.write %{{.*}}, @running :
// CHECK-LABEL: func @c0.fwd(
// CHECK-NOT: @running.before
// CHECK: cleave.write %{{.*}}, @running :
// CHECK-NOT: @running.before
// CHECK: return
// CHECK-LABEL: func @update
// CHECK: %[[OK:.*]] = cleave.compare lt
// CHECK-DAG: %[[NOW:.*]] = cleave.read @running :
// CHECK-DAG: %[[BEFORE:.*]] = cleave.read @running.before
// CHECK: %[[KEPT:.*]] = cleave.select %{{.*}}, %[[NOW]], %[[BEFORE]]
// CHECK: cleave.write %[[KEPT]], @running :
// PLAIN-NOT: before
cleave.state @w : tensor<3x2xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<3x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @running : tensor<2xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"running", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<6x3xf32> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<3x2xf32>
  %old = cleave.read @running : tensor<2xf32>
  %y = cleave.matmul %x, %w : tensor<6x3xf32>, tensor<3x2xf32> -> tensor<6x2xf32>
  %seen = cleave.reduce sum %y, [0] : tensor<6x2xf32> -> tensor<2xf32>
  %new = cleave.add %old, %seen : tensor<2xf32>
  cleave.write %new, @running : tensor<2xf32>
  %sum = cleave.reduce sum %y, [0, 1] : tensor<6x2xf32> -> tensor<f32>
  %count = cleave.constant dense<6.0> : tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
