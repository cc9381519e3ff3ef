// RUN: cleave-opt %s -split-input-file -differentiate -verify-diagnostics | FileCheck %s

cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @frozen : tensor<3xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"frozen", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// @v is not used, @frozen is frozen: neither has a gradient.
// CHECK-NOT: @v.grad
// CHECK-NOT: @frozen.grad
// CHECK: cleave.state @w.grad : tensor<4x3xf32> {role = #cleave.role<gradient>
// CHECK-SAME: slot = "grad"
// CHECK-NOT: @v.grad
// CHECK-NOT: @frozen.grad
// CHECK-LABEL: func @c0
// CHECK-SAME: %[[SEED:[a-z0-9]+]]: tensor<f32> {cleave.seed})
// CHECK-DAG: %[[OLD:.*]] = cleave.read @w.grad
// CHECK-DAG: cleave.write %{{.*}}, @scalar.loss_sum
// CHECK-DAG: cleave.write %{{.*}}, @scalar.loss_count
// CHECK: %[[B:.*]] = cleave.broadcast %[[SEED]]
// CHECK: cleave.write %{{.*}}, @w.grad
// CHECK: return{{$}}
func.func @model(%x: tensor<4x3xf32> {cleave.name = "x"}) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<4x3xf32>
  %v = cleave.read @v : tensor<3xf32>
  %f = cleave.read @frozen : tensor<3xf32>
  %b = cleave.broadcast %f, [1] : tensor<3xf32> -> tensor<4x3xf32>
  %0 = cleave.mul %w, %x : tensor<4x3xf32>
  %1 = cleave.mul %0, %b : tensor<4x3xf32>
  %s = cleave.reduce sum %1, [0, 1] : tensor<4x3xf32> -> tensor<f32>
  %n = cleave.constant dense<12.0> : tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}

// -----

cleave.state @v : tensor<3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.bias", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model() -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %v = cleave.read @v : tensor<3xf32>
  // expected-error @+1 {{a parameter's gradient passes here, and 'cleave.offload' has no derivative}}
  %r = cleave.offload %v : tensor<3xf32>
  %s = cleave.reduce sum %r, [0] : tensor<3xf32> -> tensor<f32>
  return %s, %s : tensor<f32>, tensor<f32>
}

// -----

// expected-error @+1 {{the model has no parameters, so there is nothing to train}}
func.func @model(%x: tensor<f32>) -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  return %x, %x : tensor<f32>, tensor<f32>
}

// -----

// Gradients of slices that share no element are laid side by side. A pad that is the gradient of two values stays for the other one.
// CHECK-LABEL: func @c0
// CHECK: %[[PAD:.*]] = cleave.pad %{{.*}}, [2, 0], [0, 0], [0, 0]
// CHECK: %[[U:.*]] = cleave.add %{{.*}}, %[[PAD]] : tensor<4x3xf32>
// CHECK: cleave.write %[[U]], @u.grad
// CHECK: %[[JOINED:.*]] = cleave.concat %{{.*}}, %{{.*}}, %{{.*}} dim = 0 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
// CHECK: %[[W:.*]] = cleave.add %{{.*}}, %[[JOINED]] : tensor<4x3xf32>
// CHECK: cleave.write %[[W]], @w.grad
cleave.state @w : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.w", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @u : tensor<4x3xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"net.u", tensor<4x3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model() -> (tensor<f32> {cleave.loss_sum}, tensor<f32> {cleave.loss_count}) {
  %w = cleave.read @w : tensor<4x3xf32>
  %u = cleave.read @u : tensor<4x3xf32>
  %y = cleave.add %w, %u : tensor<4x3xf32>
  %0 = cleave.slice %w, [0, 0], [1, 3], [1, 1] : tensor<4x3xf32> -> tensor<1x3xf32>
  %1 = cleave.slice %y, [2, 0], [2, 3], [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %2 = cleave.reduce sum %0, [0, 1] : tensor<1x3xf32> -> tensor<f32>
  %3 = cleave.reduce sum %1, [0, 1] : tensor<2x3xf32> -> tensor<f32>
  %s = cleave.add %2, %3 : tensor<f32>
  %n = cleave.constant dense<12.0> : tensor<f32>
  return %s, %n : tensor<f32>, tensor<f32>
}
