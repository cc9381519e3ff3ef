// RUN: cleave-opt %s -build-update="optimizer=sgd,momentum=0.9,weight_decay=0.1" | FileCheck %s
// RUN: cleave-opt %s -build-update="optimizer=adam loss-average=rank" | FileCheck %s --check-prefix=RANK
// RUN: not cleave-opt %s -build-update="optimizer=adamax" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: unknown optimizer 'adamax'; expected sgd, adam, {{.*}};
cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v.grad : tensor<3xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// CHECK: cleave.state @v.momentum_buffer : tensor<3xf32> {role = #cleave.role<optimizer>{{.*}}"net.bias"{{.*}}slot = "momentum_buffer"
// CHECK-LABEL: func @update
// CHECK: %[[COUNT:.*]] = cleave.read @scalar.loss_count
// CHECK: %[[G:.*]] = cleave.read @v.grad
// The squares of f32 gradients are summed in f64, where they do not overflow.
// CHECK: %[[WIDE:.*]] = cleave.cast %[[G]] : tensor<3xf32> -> tensor<3xf64>
// CHECK: %[[SQ:.*]] = cleave.mul %[[WIDE]], %[[WIDE]]
// CHECK: cleave.reduce sum %[[SQ]], [0]
// Where nothing counts and all gradients are 0 they stay 0: the divisor is 1.
// CHECK: %[[EMPTY:.*]] = cleave.and
// CHECK: %[[CHOSEN:.*]] = cleave.select %[[EMPTY]], %{{.*}}, %[[COUNT]]
// CHECK: %[[DIVISOR:.*]] = cleave.cast %[[CHOSEN]] : tensor<f32> -> tensor<f64>
// The divisor may be below 0, and a norm is not.
// CHECK: %[[SIGNED:.*]] = cleave.div %{{.*}}, %[[DIVISOR]]
// CHECK: %[[OTHER:.*]] = cleave.neg %[[SIGNED]]
// CHECK: %[[NORM:.*]] = cleave.max %[[SIGNED]], %[[OTHER]]
// A limit of infinity leaves gradients as they are, whatever the norm is.
// CHECK: cleave.read @scalar.clip_norm
// CHECK: cleave.min
// CHECK: %[[CLIPS:.*]] = cleave.compare lt
// CHECK: cleave.select %[[CLIPS]]
// CHECK-DAG: cleave.write %{{.*}}, @v :
// CHECK-DAG: cleave.write %{{.*}}, @v.momentum_buffer
// CHECK-DAG: %[[REPORTED:.*]] = cleave.cast %[[NORM]] : tensor<f64> -> tensor<f32>
// CHECK-DAG: cleave.write %[[REPORTED]], @scalar.grad_norm
// CHECK-DAG: cleave.write %{{.*}}, @scalar.loss :

// With rank averages the gradients are means already: the count divides the reported loss alone.
// RANK-LABEL: func @update
// RANK: %[[COUNT:.*]] = cleave.read @scalar.loss_count
// RANK-NOT: %[[COUNT]]{{[ ,]}}
// RANK: cleave.write %{{.*}}, @scalar.grad_norm
// RANK: cleave.div %{{.*}}, %[[COUNT]]

// A narrow parameter's master begins as the file has it, is what the update works on, and is rounded for the parameter.
// RUN: cleave-opt %s -apply-precision="precision=bf16" -build-update="optimizer=sgd,momentum=0.9" | FileCheck %s --check-prefix=MASTER
// MASTER: cleave.state @v : tensor<3xbf16>
// MASTER: cleave.state @v.master : tensor<3xf32> {role = #cleave.role<optimizer>{{.*}}"net.bias", tensor<3xf32>, {{.*}}init = <weights>{{.*}}slot = "master"
// MASTER: cleave.state @v.momentum_buffer : tensor<3xf32>
// MASTER-LABEL: func @update
// MASTER: %[[OLD:.*]] = cleave.read @v.master : tensor<3xf32>
// MASTER: %[[NEW:.*]] = cleave.sub %[[OLD]],
// MASTER: cleave.write %[[NEW]], @v.master : tensor<3xf32>
// MASTER: %[[N:.*]] = cleave.cast %[[NEW]] : tensor<3xf32> -> tensor<3xbf16>
// MASTER: cleave.write %[[N]], @v : tensor<3xbf16>
