// RUN: cleave-opt %s -assign-parameter-groups="freeze=*.w groups=*.bias:weight_decay=0" | FileCheck %s
// RUN: not cleave-opt %s -assign-parameter-groups="freeze=nothing*" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not cleave-opt %s -assign-parameter-groups="groups=*.bias:decay=0" 2>&1 | FileCheck %s --check-prefix=KEY
// RUN: not cleave-opt %s -assign-parameter-groups="groups=net.*:weight_decay=0;*.bias:lr_scale=2" 2>&1 | FileCheck %s --check-prefix=LATE

// LATE: --param-group: '*.bias' has no effect: earlier groups already match all its parameters; move this one before them
// NONE: --freeze: pattern 'nothing*' matches none of 2 parameters: net.w, net.bias
// KEY: parameter group '*.bias' has no option 'decay'; expected lr_scale or weight_decay
// CHECK: cleave.param_groups = [{lr_scale = 1.000000e+00 : f64, name = "default"},
// CHECK-SAME: {lr_scale = 1.000000e+00 : f64, name = "*.bias", weight_decay = 0.000000e+00 : f64}]
// CHECK: @w : {{.*}}frozen{{.*}}"net.w", tensor<4x3xf32>, offset = 0, group = 0
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// CHECK: @v : {{.*}}"net.bias", tensor<3xf32>, offset = 0, group = 1
cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
