// RUN: cleave-opt %s -apply-precision="precision=bf16" -verify-diagnostics

// expected-error @+1 {{a precision is chosen for parameters and buffers of f32, bf16 or fp16; 'fc.weight' is 'f64'}}
cleave.state @w : tensor<4x3xf64> {role = #cleave.role<parameter>, segments = [#cleave.segment<"fc.weight", tensor<4x3xf64>, offset = 0, group = 0, init = #cleave.init<weights>>]}
