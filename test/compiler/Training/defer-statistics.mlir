// RUN: cleave-opt %s -defer-statistics='deferred=true micro-batches=4' | FileCheck %s
// RUN: cleave-opt %s -defer-statistics | FileCheck %s --check-prefix=EVERY

// Running statistics wait for the update: @model adds up by how much the means differ from the running one, and the squares.
// CHECK: cleave.state @m : {{.*}}cleave.deferred = {count = 2 : i64, mean = "m", momentum = 9.000000e-01 : f64, squares = "v.sum", sum = "m.sum", terms = 4 : i64, variance = "v"}
// CHECK: cleave.state @m.sum : tensor<3xf32> {{.*}}slot = "sum"
// CHECK: cleave.state @v.sum : tensor<3xf32> {{.*}}slot = "sum"
// CHECK-LABEL: func.func @model
// CHECK-DAG: %[[OLD:.*]] = cleave.read @m :
// CHECK-DAG: %[[SUM:.*]] = cleave.read @m.sum
// CHECK-DAG: %[[SQUARES:.*]] = cleave.read @v.sum
// CHECK: %{{.*}}, %[[M:.*]], %[[V:.*]] = cleave.normalize
// CHECK-NOT: cleave.statistics
// CHECK: %[[MEAN:.*]] = cleave.reshape %[[M]]
// CHECK: %[[MOVED:.*]] = cleave.sub %[[MEAN]], %[[OLD]]
// CHECK: cleave.add %[[SUM]], %[[MOVED]]
// CHECK-DAG: %[[VARIANCE:.*]] = cleave.reshape %[[V]]
// CHECK-DAG: %[[SQUARE:.*]] = cleave.mul %[[MOVED]], %[[MOVED]]
// CHECK: %[[TERM:.*]] = cleave.add %[[VARIANCE]], %[[SQUARE]]
// CHECK: cleave.add %[[SQUARES]], %[[TERM]]
// CHECK: cleave.write %{{.*}}, @m.sum
// CHECK: cleave.write %{{.*}}, @v.sum
// CHECK-NOT: cleave.write

// EVERY-NOT: cleave.deferred
// EVERY-NOT: cleave.statistics
// EVERY: cleave.write %{{.*}}, @m :
// EVERY: cleave.write %{{.*}}, @v :
module {
cleave.state @m : tensor<3xf32> {role = #cleave.role<buffer>,
  segments = [#cleave.segment<"m", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<3xf32> {role = #cleave.role<buffer>,
  segments = [#cleave.segment<"v", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<1x2x3x1xf32> {cleave.name = "x"}) -> tensor<1x2x3x1xf32> {
  %y, %mean, %variance = cleave.normalize %x, [1, 3], epsilon = 1.0e-5 {cleave.statistics = {count = 2 : i64, mean = "m", momentum = 9.000000e-01 : f64, use = 1 : i64, variance = "v"}}
    : tensor<1x2x3x1xf32> -> tensor<1x2x3x1xf32>, tensor<1x3xf32>, tensor<1x3xf32>
  %m = cleave.reshape %mean : tensor<1x3xf32> -> tensor<3xf32>
  %v = cleave.reshape %variance : tensor<1x3xf32> -> tensor<3xf32>
  cleave.write %m, @m : tensor<3xf32>
  cleave.write %v, @v : tensor<3xf32>
  return %y : tensor<1x2x3x1xf32>
}
}
