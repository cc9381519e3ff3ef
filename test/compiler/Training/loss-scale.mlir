// RUN: cleave-opt %s -differentiate="reduce=fp16" | FileCheck %s
// RUN: cleave-opt %s -differentiate="reduce=fp16 loss-scale=dynamic,init=1024,interval=5" -build-update="optimizer=adam" -canonicalize -cse | FileCheck %s --check-prefix=UPDATE
// RUN: cleave-opt %s -differentiate="reduce=fp16 loss-scale=8" -build-update="optimizer=sgd" -canonicalize -cse | FileCheck %s --check-prefix=FIXED
// RUN: cleave-opt %s -differentiate="reduce=fp16 loss-scale=none" -build-update="optimizer=sgd" | FileCheck %s --check-prefix=NONE
// RUN: cleave-opt %s -differentiate="reduce=bf16" -build-update="optimizer=sgd" | FileCheck %s --check-prefix=BF16
// RUN: not cleave-opt %s -differentiate="reduce=bf16 loss-scale=dynamic" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: --loss-scale: gradients of f32 and bf16 have f32's range and need none

// The count is 6 at most: the sum's gradient is that of the mean times up to 6, of which the seed takes 4 back.
// CHECK: cleave.loss_scale = {{{.*}}unit = 2.500000e-01
// CHECK: cleave.state @scalar.loss_scale : tensor<f32> {{.*}}init = <constant, value = 6.553600e+04
// CHECK: cleave.state @w.grad : tensor<3x2xf16>
// CHECK-LABEL: func @c0
// CHECK: %[[SCALE:.*]] = cleave.read @scalar.loss_scale
// CHECK: cleave.mul %[[SCALE]]
// CHECK: %[[G:.*]] = cleave.matmul {{.*}} -> tensor<3x2xf32>
// CHECK: %[[N:.*]] = cleave.cast %[[G]] : tensor<3x2xf32> -> tensor<3x2xf16>
// CHECK: cleave.add %{{.*}}, %[[N]] : tensor<3x2xf16>

// Every state that @update writes is a choice between the new value and the old one; bias correction counts updates.
// UPDATE: init = <constant, value = 1.024000e+03
// UPDATE-LABEL: func @update
// UPDATE: cleave.div
// UPDATE: %[[NORM:.*]] = cleave.max
// UPDATE: %[[OK:.*]] = cleave.compare lt %[[NORM]],
// UPDATE: %[[STEP:.*]] = cleave.cast %{{.*}} : tensor<i64> -> tensor<f64>
// UPDATE: %[[READ:.*]] = cleave.read @scalar.skipped
// UPDATE: %[[SKIPPED:.*]] = cleave.cast %[[READ]] : tensor<f32> -> tensor<f64>
// UPDATE: cleave.sub %[[STEP]], %[[SKIPPED]]
// UPDATE: %[[W:.*]] = cleave.select {{.*}} tensor<3x2xi1>, tensor<3x2xf32>
// UPDATE: cleave.write %[[W]], @w :
// UPDATE: %[[M:.*]] = cleave.select {{.*}} tensor<3x2xi1>, tensor<3x2xf32>
// UPDATE: cleave.write %[[M]], @w.exp_avg :
// UPDATE: %[[V:.*]] = cleave.select {{.*}} tensor<3x2xi1>, tensor<3x2xf32>
// UPDATE: cleave.write %[[V]], @w.exp_avg_sq :
// UPDATE: cleave.write %{{.*}}, @scalar.skipped
// UPDATE: cleave.write %{{.*}}, @scalar.loss_scale
// UPDATE: cleave.write %{{.*}}, @scalar.good_steps

// FIXED-LABEL: func @update
// FIXED: cleave.select
// FIXED: cleave.write %{{.*}}, @scalar.skipped
// FIXED-NOT: cleave.write %{{.*}}, @scalar.loss_scale

// Nothing is chosen but what gradients are divided by where nothing counts, and whether they are clipped.
// NONE-NOT: scalar.loss_scale
// NONE-NOT: cleave.select
// NONE: cleave.select {{.*}} : tensor<i1>, tensor<f32>
// NONE-NOT: cleave.select
// NONE: cleave.select {{.*}} : tensor<i1>, tensor<f64>
// NONE-NOT: cleave.select
// NONE-NOT: scalar.loss_scale

// BF16: cleave.state @w.grad : tensor<3x2xbf16>
// BF16-NOT: scalar.loss_scale
cleave.state @w : tensor<3x2xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<3x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<6x3xf32> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<3x2xf32>
  %y = cleave.matmul %x, %w : tensor<6x3xf32>, tensor<3x2xf32> -> tensor<6x2xf32>
  %sum = cleave.reduce sum %y, [0, 1] : tensor<6x2xf32> -> tensor<f32>
  %zero = cleave.constant dense<0.0> : tensor<6x3xf32>
  %positive = cleave.compare gt %x, %zero : tensor<6x3xf32>
  %ones = cleave.cast %positive : tensor<6x3xi1> -> tensor<6x3xf32>
  %any = cleave.reduce max %ones, [1] : tensor<6x3xf32> -> tensor<6xf32>
  %count = cleave.reduce sum %any, [0] : tensor<6xf32> -> tensor<f32>
  return %sum, %count : tensor<f32>, tensor<f32>
}
