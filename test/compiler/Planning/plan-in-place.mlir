// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(plan-in-place))' | FileCheck %s

cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// The residual dies here; the port must not be overwritten; a reduction reads %s.
// CHECK-LABEL: func.func @ties
func.func @ties(%port: tensor<64xf32> {cleave.name = "x"}, %r: tensor<64xf32> {cleave.residual = 0 : i64},
                %s: tensor<64xf32> {cleave.residual = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: cleave.kernel ins(%{{.*}}, %{{.*}} : {{.*}}tied = array<i64: 1>
  %0 = cleave.kernel ins(%port, %r : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %1 = cleave.add %a, %b : tensor<64xf32>
    cleave.yield %1 : tensor<64xf32>
  }
  // CHECK: cleave.kernel
  // CHECK-NOT: tied
  // CHECK: return
  %2 = cleave.kernel ins(%s : tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %3 = cleave.reduce sum %a, [0] : tensor<64xf32> -> tensor<f32>
    %4 = cleave.broadcast %3, [] : tensor<f32> -> tensor<64xf32>
    %5 = cleave.sub %a, %4 : tensor<64xf32>
    cleave.yield %5 : tensor<64xf32>
  }
  return %0, %2 : tensor<64xf32>, tensor<64xf32>
}

// The state's own bytes, for what is written to that state alone.
// CHECK-LABEL: func.func @update
func.func @update(%g: tensor<64xf32> {cleave.name = "g"}) {
  %w = cleave.read @w : tensor<64xf32>
  // CHECK: tied = array<i64: 0>
  %0 = cleave.kernel ins(%w, %g : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %1 = cleave.sub %a, %b : tensor<64xf32>
    cleave.yield %1 : tensor<64xf32>
  }
  cleave.write %0, @w : tensor<64xf32>
  return
}

// Used again: a kernel may not overwrite it.
// CHECK-LABEL: func.func @again
func.func @again(%r: tensor<64xf32> {cleave.residual = 0 : i64}) -> tensor<8x8xf32> {
  // CHECK-NOT: tied
  %0 = cleave.kernel ins(%r : tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %1 = cleave.exp %a : tensor<64xf32>
    cleave.yield %1 : tensor<64xf32>
  }
  %2 = cleave.reshape %r : tensor<64xf32> -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
