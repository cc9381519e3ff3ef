// RUN: cleave-opt %s -build-update="optimizer=adamw,weight_decay=0.1" -canonicalize -cse | FileCheck %s
// RUN: cleave-opt %s -build-update="optimizer=adadelta,weight_decay=0.1" -canonicalize -cse | FileCheck %s --check-prefix=ADD
// RUN: cleave-opt %s -build-update="optimizer=adamw,weight_decay=0.1" -canonicalize -cse -assign-shardings="fsdp-strategy=full-shard" -partition -verify-sharded \
// RUN:   | FileCheck %s --check-prefix=SPLIT

// A bucket with members of four groups. lr's scale is 1, from element 64 on 2, from 128 on 1 again; the decay is 0.1 (the optimizer's), from 64 on 0,
// from 96 on 0.3, and from 128 on 0.1 again. Where a neighbour's is the same there is no choice: decay has four ranges, lr three.
// CHECK-LABEL: func @update
// CHECK-DAG: %[[E64:.*]] = cleave.constant dense<64> : tensor<256xi64>
// CHECK-DAG: %[[E96:.*]] = cleave.constant dense<96> : tensor<256xi64>
// CHECK-DAG: %[[E128:.*]] = cleave.constant dense<128> : tensor<256xi64>
// CHECK-DAG: %[[ONE:.*]] = cleave.constant dense<1.000000e+00> : tensor<256xf32>
// CHECK: %[[OLD:.*]] = cleave.read @v : tensor<256xf32>
// CHECK: %[[PLACE:.*]] = cleave.iota dim = 0 : tensor<256xi64>
// CHECK: %[[IN128:.*]] = cleave.compare lt %[[PLACE]], %[[E128]]
// CHECK: %[[FROM96:.*]] = cleave.select %[[IN128]], %[[C:.*]], %[[A:.*]] : tensor<256xi1>, tensor<256xf32>
// CHECK: %[[IN96:.*]] = cleave.compare lt %[[PLACE]], %[[E96]]
// CHECK: %[[FROM64:.*]] = cleave.select %[[IN96]], %[[ONE]], %[[FROM96]]
// CHECK: %[[IN64:.*]] = cleave.compare lt %[[PLACE]], %[[E64]]
// CHECK: %[[FACTOR:.*]] = cleave.select %[[IN64]], %[[A]], %[[FROM64]]
// CHECK: cleave.mul %[[OLD]], %[[FACTOR]]
// CHECK: %[[LR64:.*]] = cleave.select %[[IN128]], %{{.*}}, %[[LR:.*]] : tensor<256xi1>, tensor<256xf32>
// CHECK: cleave.select %[[IN64]], %[[LR]], %[[LR64]]
// The groups of @u have the same constants.
// CHECK-NOT: cleave.select
// CHECK: cleave.write %{{.*}}, @u :

// -0 is the term that changes nothing, whatever it is added to.
// ADD: %[[NONE:.*]] = cleave.constant dense<-0.000000e+00> : tensor<256xf32>
// ADD: %[[TERM:.*]] = cleave.select %{{.*}}, %[[NONE]],
// ADD: %[[ALL:.*]] = cleave.select %{{.*}}, %{{.*}}, %[[TERM]]
// ADD: cleave.add %{{.*}}, %[[ALL]]

// A rank's part begins where the rank says.
// SPLIT: %[[WHERE:.*]] = cleave.concat
// SPLIT: cleave.iota dim = 0 origin %[[WHERE]] : tensor<1xi64> : tensor<128xi64>
// SPLIT-NOT: shard.all_slice
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["fsdp"], [2]>, cleave.param_groups = [
    {lr_scale = 1.0, name = "default"}, {lr_scale = 2.0, name = "a", weight_decay = 0.0},
    {lr_scale = 2.0, name = "b", weight_decay = 0.3}, {lr_scale = 1.0, name = "c", weight_decay = 0.1}]} {
  cleave.state @v : tensor<256xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"p", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>,
    #cleave.segment<"q", tensor<20xf32>, offset = 64, group = 1, init = #cleave.init<weights>>,
    #cleave.segment<"r", tensor<32xf32>, offset = 96, group = 2, init = #cleave.init<weights>>,
    #cleave.segment<"s", tensor<32xf32>, offset = 128, group = 3, init = #cleave.init<weights>>]}
  cleave.state @v.grad : tensor<256xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
    #cleave.segment<"p", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"q", tensor<20xf32>, offset = 64, group = 1, init = #cleave.init<zeros>>,
    #cleave.segment<"r", tensor<32xf32>, offset = 96, group = 2, init = #cleave.init<zeros>>,
    #cleave.segment<"s", tensor<32xf32>, offset = 128, group = 3, init = #cleave.init<zeros>>]}
  cleave.state @u : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"t", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<weights>>,
    #cleave.segment<"u", tensor<32xf32>, offset = 32, group = 3, init = #cleave.init<weights>>]}
  cleave.state @u.grad : tensor<64xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
    #cleave.segment<"t", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"u", tensor<32xf32>, offset = 32, group = 3, init = #cleave.init<zeros>>]}
}
