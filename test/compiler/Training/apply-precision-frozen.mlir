// RUN: cleave-opt %s -apply-precision="precision=bf16" -canonicalize -cse | FileCheck %s
// RUN: cleave-opt %s -apply-precision="precision=f32" -canonicalize -cse | FileCheck %s --check-prefix=SAME

// A frozen parameter has no master beside it: it stays as the model has it, to the last bit, and what reads it sees what it would see if it
// were stored narrow, in the tail behind the last product too.
// CHECK: cleave.state @w : tensor<8x8xf32> {frozen, {{.*}}"w", tensor<8x8xf32>
// CHECK: cleave.state @half : tensor<8x8xf16> {frozen,
// CHECK: cleave.state @v : tensor<8x8xbf16>
// CHECK: cleave.state @bias : tensor<8xf32> {frozen,
// CHECK-LABEL: func @model
// CHECK: %[[W:.*]] = cleave.read @w : tensor<8x8xf32>
// CHECK-NEXT: %[[WN:.*]] = cleave.cast %[[W]] : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK-NOT: %[[W]]
// CHECK: %[[H:.*]] = cleave.read @half : tensor<8x8xf16>
// CHECK: %[[HN:.*]] = cleave.cast %{{.*}} -> tensor<8x8xbf16>
// CHECK: %[[B:.*]] = cleave.read @bias : tensor<8xf32>
// CHECK-NEXT: %[[BN:.*]] = cleave.cast %[[B]] : tensor<8xf32> -> tensor<8xbf16>
// CHECK: cleave.matmul %{{.*}}, %[[WN]] : tensor<6x8xbf16>, tensor<8x8xbf16>
// CHECK: cleave.matmul %{{.*}}, %[[HN]] : tensor<6x8xbf16>, tensor<8x8xbf16>
// CHECK: cleave.broadcast %[[BN]], [1] : tensor<8xbf16> -> tensor<6x8xbf16>

// SAME: cleave.state @half : tensor<8x8xf16>
// SAME-LABEL: func @model
// SAME-COUNT-1: cleave.cast
// SAME-NOT: cleave.cast
cleave.state @w : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"w", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @half : tensor<8x8xf16> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"half", tensor<8x8xf16>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"v", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @bias : tensor<8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"bias", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %w = cleave.read @w : tensor<8x8xf32>
  %h16 = cleave.read @half : tensor<8x8xf16>
  %h = cleave.cast %h16 : tensor<8x8xf16> -> tensor<8x8xf32>
  %v = cleave.read @v : tensor<8x8xf32>
  %b = cleave.read @bias : tensor<8xf32>
  %0 = cleave.matmul %x, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %1 = cleave.matmul %0, %v : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %2 = cleave.matmul %1, %h : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %3 = cleave.broadcast %b, [1] : tensor<8xf32> -> tensor<6x8xf32>
  %4 = cleave.add %2, %3 : tensor<6x8xf32>
  return %4 : tensor<6x8xf32>
}
