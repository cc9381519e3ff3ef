// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(plan-in-place))' | FileCheck %s

cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// The residual dies here; the port must not be overwritten. The sum of %s is finished before %s is overwritten.
// CHECK-LABEL: func.func @ties
func.func @ties(%port: tensor<64xf32> {cleave.name = "x"}, %r: tensor<64xf32> {cleave.residual = 0 : i64},
                %s: tensor<64xf32> {cleave.residual = 1 : i64}) -> (tensor<64xf32>, tensor<64xf32>) {
  // CHECK: cleave.kernel ins(%{{.*}}, %{{.*}} : {{.*}}tied = array<i64: 1>
  %0 = cleave.kernel ins(%port, %r : tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %1 = cleave.add %a, %b : tensor<64xf32>
    cleave.yield %1 : tensor<64xf32>
  }
  // CHECK: cleave.kernel {{.*}}tied = array<i64: 0>
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

// The gradient of an activation and, in the same kernel, its column sum: both inputs are taken over.
// CHECK-LABEL: func.func @column_sum
func.func @column_sum(%x: tensor<8x64xf32> {cleave.residual = 0 : i64}, %dy: tensor<8x64xf32> {cleave.residual = 1 : i64})
    -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>) {
  // CHECK: tied = array<i64: 0, 1, -1>
  %0:3 = cleave.kernel ins(%x, %dy : tensor<8x64xf32>, tensor<8x64xf32>)
      -> tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<8x64xf32>):
    %1 = cleave.tanh %a : tensor<8x64xf32>
    %2 = cleave.mul %b, %1 : tensor<8x64xf32>
    %3 = cleave.reduce sum %2, [0] : tensor<8x64xf32> -> tensor<64xf32>
    cleave.yield %1, %2, %3 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<64xf32>
}

// Of equal type, but stored at another index than the one at which %x is read; %u, which both read, lives on.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: tensor<8x8xf32> {cleave.residual = 0 : i64}, %u: tensor<8x8xf32> {cleave.residual = 1 : i64})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: cleave.kernel
  // CHECK: tied = array<i64: -1, 0>
  %0:2 = cleave.kernel ins(%x, %u : tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>, tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %1 = cleave.add %a, %b : tensor<8x8xf32>
    %2 = cleave.transpose %b, [1, 0] : tensor<8x8xf32> -> tensor<8x8xf32>
    cleave.yield %2, %1 : tensor<8x8xf32>, tensor<8x8xf32>
  }
  return %0#0, %0#1, %u : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
