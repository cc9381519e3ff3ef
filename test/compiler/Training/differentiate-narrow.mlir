// RUN: cleave-opt %s -split-input-file -differentiate -canonicalize -cse | FileCheck %s

// The gradient of an op on 16-bit numbers is computed in f32 and rounded once, at its end: numbers of the rule are f32, too. What is one step stays
// as it is.
cleave.state @w : tensor<4x3xbf16> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xbf16>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// CHECK-LABEL: func @c0
// CHECK-DAG: %[[FACTOR:.*]] = cleave.constant dense<1.128{{.*}}> : tensor<4x3xf32>
// CHECK-DAG: %[[X:.*]] = cleave.read @w : tensor<4x3xbf16>
// CHECK: cleave.erf %[[X]] : tensor<4x3xbf16>
// CHECK: %[[Y:.*]] = cleave.relu
// The relu's: one step.
// CHECK: %[[DY:.*]] = cleave.select {{.*}}, tensor<4x3xbf16>
// CHECK-DAG: %[[WIDEX:.*]] = cleave.cast %[[X]] : tensor<4x3xbf16> -> tensor<4x3xf32>
// CHECK-DAG: %[[WIDEDY:.*]] = cleave.cast %[[DY]] : tensor<4x3xbf16> -> tensor<4x3xf32>
// CHECK-DAG: %[[SQUARE:.*]] = cleave.mul %[[WIDEX]], %[[WIDEX]] : tensor<4x3xf32>
// CHECK-DAG: %[[SCALED:.*]] = cleave.mul %[[WIDEDY]], %[[FACTOR]] : tensor<4x3xf32>
// CHECK: %[[DX:.*]] = cleave.mul %[[SCALED]], %{{.*}} : tensor<4x3xf32>
// CHECK: cleave.cast %[[DX]] : tensor<4x3xf32> -> tensor<4x3xbf16>
func.func @model() -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<4x3xbf16>
  %e = cleave.erf %w : tensor<4x3xbf16>
  %r = cleave.relu %e : tensor<4x3xbf16>
  %c = cleave.cast %r : tensor<4x3xbf16> -> tensor<4x3xf32>
  %s = cleave.reduce sum %c, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n = cleave.constant dense<12.0> : tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// -----

// Nothing is cast in f32.
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// CHECK-LABEL: func @c0
// CHECK-NOT: cleave.cast
func.func @model() -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<4x3xf32>
  %e = cleave.erf %w : tensor<4x3xf32>
  %s = cleave.reduce sum %e, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n = cleave.constant dense<12.0> : tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}
