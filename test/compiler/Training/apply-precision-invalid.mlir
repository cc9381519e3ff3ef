// RUN: not cleave-opt %s -apply-precision="precision=param=bf17" 2>&1 | FileCheck %s

// CHECK: error: {{.*}}unknown type 'bf17'; expected f32, bf16 or fp16
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
