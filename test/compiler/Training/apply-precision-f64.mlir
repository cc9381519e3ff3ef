// RUN: cleave-opt %s -apply-precision="precision=bf16" -verify-diagnostics | FileCheck %s

// What is f64 stays so, frozen or not, with all that is computed in it; a remark says it.
// CHECK: cleave.state @w : tensor<4x3xbf16>
// CHECK: cleave.state @k : tensor<3xf64> {{.*}}#cleave.segment<"scale", tensor<3xf64>
// CHECK: cleave.state @f : tensor<3xf64>
// CHECK-LABEL: func @model
// CHECK: cleave.matmul {{.*}} -> tensor<2x3xbf16>
// CHECK: cleave.mul %{{.*}}, %{{.*}} : tensor<2x3xf64>
// CHECK: cleave.add %{{.*}}, %{{.*}} : tensor<2x3xf64>
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// expected-remark @+1 {{'scale' stays 'f64'}}
cleave.state @k : tensor<3xf64> {role = #cleave.role<parameter>, segments = [#cleave.segment<"scale", tensor<3xf64>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// expected-remark @+1 {{'shift' stays 'f64'}}
cleave.state @f : tensor<3xf64> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"shift", tensor<3xf64>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<2x4xf32>) -> tensor<2x3xf64> {
  %w = cleave.read @w : tensor<4x3xf32>
  %y = cleave.matmul %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %d = cleave.cast %y : tensor<2x3xf32> -> tensor<2x3xf64>
  %k = cleave.read @k : tensor<3xf64>
  %f = cleave.read @f : tensor<3xf64>
  %kb = cleave.broadcast %k, [1] : tensor<3xf64> -> tensor<2x3xf64>
  %fb = cleave.broadcast %f, [1] : tensor<3xf64> -> tensor<2x3xf64>
  %s = cleave.mul %d, %kb : tensor<2x3xf64>
  %r = cleave.add %s, %fb : tensor<2x3xf64>
  return %r : tensor<2x3xf64>
}
