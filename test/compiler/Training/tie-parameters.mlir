// RUN: cleave-opt %s -tie-parameters="pairs=net.w=head" | FileCheck %s
// RUN: cleave-opt %s -tie-parameters="pairs=head=net.w" -assign-parameter-groups="freeze=*.w groups=net.bias:lr_scale=2" | FileCheck %s --check-prefix=ALIAS
// RUN: cleave-opt %s -tie-parameters="pairs=head=net.w" -assign-parameter-groups="groups=net.w:lr_scale=2" | FileCheck %s --check-prefix=GROUP
// RUN: cleave-opt %s -tie-parameters="pairs=net.w=head,other=head" | FileCheck %s --check-prefix=CHAIN
// RUN: not cleave-opt %s -tie-parameters="pairs=net.w=net.bias" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not cleave-opt %s -tie-parameters="pairs=net.w=tail" 2>&1 | FileCheck %s --check-prefix=NAME

// SHAPE: --tie: expected two parameters' names, KEPT=TIED; got '{{.*}}': their shapes, [4, 3] and [3], are neither equal nor transposed
// NAME: --tie: expected two parameters' names, KEPT=TIED; got 'net.w=tail': there is no parameter 'tail'
// Options know a tied parameter by each of its names.
// ALIAS: cleave.state @head : {{.*}}frozen{{.*}}aliases = ["net.w"]
// GROUP: cleave.state @head : {{.*}}"head", tensor<3x4xf32>, offset = 0, group = 1,{{.*}}aliases = ["net.w"]
// CHAIN: cleave.state @other : {{.*}}aliases = ["net.w", "head"]
// CHECK: cleave.state @w : {{.*}}aliases = ["head"]
// CHECK-NOT: @head
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @head : tensor<3x4xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"head", tensor<3x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @other : tensor<3x4xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"other", tensor<3x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// CHECK: %[[W:.*]] = cleave.read @w
// CHECK: cleave.transpose %[[W]], [1, 0]
func.func @model() -> tensor<3x4xf32> {
  %h = cleave.read @head : tensor<3x4xf32>
  return %h : tensor<3x4xf32>
}
