// RUN: cleave-opt %s -build-inference | FileCheck %s
// RUN: cleave-opt %s -inference-pipeline | FileCheck %s

// CHECK: module attributes {cleave.level = "step", cleave.micro_batches = 1 : i64}
cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// CHECK-NOT: @model
// CHECK: func @infer(%arg0: tensor<3xf32> {cleave.name = "x"}) -> (tensor<3xf32> {cleave.name = "y"})
// CHECK-NOT: cleave.write
func.func @model(%x: tensor<3xf32> {cleave.name = "x"}) -> (tensor<3xf32> {cleave.name = "y"}) {
  %v = cleave.read @v : tensor<3xf32>
  %y = cleave.add %x, %v : tensor<3xf32>
  cleave.write %y, @v : tensor<3xf32>
  return %y : tensor<3xf32>
}
