// RUN: cleave-opt %s -build-update="optimizer=lamb" -canonicalize -cse | FileCheck %s
// RUN: cleave-opt %s -build-update="optimizer=lamb" -canonicalize -cse -assign-shardings="fsdp-strategy=full-shard" -partition -verify-sharded \
// RUN:   | FileCheck %s --check-prefix=SPLIT

// The norms of the tensors of a bucket: sums over blocks of 32 elements, then over the blocks of each tensor. q has 20 elements: those past its end
// do not count. Where q ends, and where the bucket's padding begins, is in tables and not in code.
// CHECK-LABEL: func @update
// CHECK-DAG: cleave.constant dense<{{\[\[}}0, 0, 0, 0, 0, 0, 0, 0], [2, 2, 2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3, 3, 3]]> : tensor<3x8xi64>
// CHECK-DAG: cleave.constant dense<{{\[\[}}2, 2, 2, 2, 2, 2, 2, 2], [3, 3, 3, 3, 3, 3, 3, 3], [7, 7, 7, 7, 7, 7, 7, 7]]> : tensor<3x8xi64>
// CHECK-DAG: cleave.constant dense<{{\[\[}}64, 64, 64, 64, 64, 64, 64, 64], [84, 84, 84, 84, 84, 84, 84, 84], [224, 224,
// CHECK-DAG: %[[OLD:.*]] = cleave.read @v : tensor<256xf32>
// CHECK: %[[ROWS:.*]] = cleave.reshape %[[OLD]] : tensor<256xf32> -> tensor<8x32xf32>
// CHECK: %[[KEPT:.*]] = cleave.select %{{.*}}, %[[ROWS]], %{{.*}} : tensor<8x32xi1>, tensor<8x32xf32>
// CHECK: %[[WIDE:.*]] = cleave.cast %[[KEPT]] : tensor<8x32xf32> -> tensor<8x32xf64>
// CHECK: %[[SQUARES:.*]] = cleave.mul %[[WIDE]], %[[WIDE]]
// CHECK: %[[BLOCKS:.*]] = cleave.reduce sum %[[SQUARES]], [1] : tensor<8x32xf64> -> tensor<8xf64>
// CHECK: %[[TABLE:.*]] = cleave.broadcast %[[BLOCKS]], [1] : tensor<8xf64> -> tensor<3x8xf64>
// CHECK: %[[OWN:.*]] = cleave.select %{{.*}}, %[[TABLE]], %{{.*}} : tensor<3x8xi1>, tensor<3x8xf64>
// CHECK: %[[SUMS:.*]] = cleave.reduce sum %[[OWN]], [1] : tensor<3x8xf64> -> tensor<3xf64>
// CHECK: %[[NORMS:.*]] = cleave.sqrt %[[SUMS]] : tensor<3xf64>
// CHECK: cleave.div %[[NORMS]], %{{.*}} : tensor<3xf64>
// A parameter alone in its state needs no table.
// CHECK: cleave.reduce sum %{{.*}}, [0, 1] : tensor<4x6xf64> -> tensor<f64>
// CHECK: cleave.write %{{.*}}, @w :

// Of a rank's part the sums are terms: three numbers are reduced, for the parameter and for its direction, and nothing is gathered.
// SPLIT-LABEL: func @update
// SPLIT-NOT: shard.all_gather
// SPLIT: cleave.reduce sum %{{.*}}, [1] : tensor<4x32xf64> -> tensor<4xf64>
// SPLIT: shard.all_reduce {{.*}} : tensor<3xf64>
// SPLIT: shard.all_reduce {{.*}} : tensor<3xf64>
// SPLIT-NOT: shard.all_reduce {{.*}} : tensor<3xf64>
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  cleave.state @v : tensor<256xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"p", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>,
    #cleave.segment<"q", tensor<20xf32>, offset = 64, group = 0, init = #cleave.init<weights>>,
    #cleave.segment<"r", tensor<4x32xf32>, offset = 96, group = 0, init = #cleave.init<weights>>]}
  cleave.state @v.grad : tensor<256xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
    #cleave.segment<"p", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"q", tensor<20xf32>, offset = 64, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"r", tensor<4x32xf32>, offset = 96, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w : tensor<4x6xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w.grad : tensor<4x6xf32> {role = #cleave.role<gradient>, slot = "grad", segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
}
