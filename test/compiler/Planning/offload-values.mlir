// RUN: cleave-opt %s --offload-values="residuals=true min-bytes=64" | FileCheck %s
// RUN: cleave-opt %s --offload-values="residuals=true min-bytes=64" --canonicalize --cse | FileCheck %s
// RUN: cleave-opt %s --offload-values | FileCheck %s --check-prefix=STATES
// RUN: cleave-opt %s --offload-values --canonicalize --cse | FileCheck %s --check-prefix=STATES

// What the forward pass computes and leaves is stored in host memory; views of one value share its copy. What is small, an argument or a
// state's stays. It is no identity, and so survives clean-up.
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
shard.grid @mesh(shape = 2)
cleave.state @w : tensor<32xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @g : tensor<32xf32> {cleave.offloaded, role = #cleave.role<gradient>, slot = "grad",
  segments = [#cleave.segment<"w", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
cleave.state @h : tensor<32xf32> {role = #cleave.role<gradient>, slot = "grad",
  segments = [#cleave.segment<"v", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// CHECK-LABEL: func.func @c0.fwd
// STATES-LABEL: func.func @c0.fwd
// STATES-NOT: cleave.offload %
func.func @c0.fwd(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<32xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<32xf32>) {
  // CHECK: %[[A:.*]]:2 = cleave.kernel
  %a, %s = cleave.kernel ins(%x : tensor<4x8xf32>) -> tensor<4x8xf32>, tensor<4xf32> {
  ^bb0(%v: tensor<4x8xf32>):
    %0 = cleave.exp %v : tensor<4x8xf32>
    %1 = cleave.reduce sum %0, [1] : tensor<4x8xf32> -> tensor<4xf32>
    cleave.yield %0, %1 : tensor<4x8xf32>, tensor<4xf32>
  }
  // CHECK: %[[H:.*]] = cleave.offload %[[A]]#0 : tensor<4x8xf32>
  // CHECK-NOT: cleave.offload %
  %b = cleave.reshape %a : tensor<4x8xf32> -> tensor<32xf32>
  %w = cleave.read @w : tensor<32xf32>
  // CHECK: %[[W:.*]] = cleave.read @w
  // CHECK: %[[B:.*]] = cleave.reshape %[[H]] : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK: return %[[H]], %[[B]], %{{.*}}, %[[A]]#1, %[[W]]
  return %a, %b, %x, %s, %w : tensor<4x8xf32>, tensor<32xf32>, tensor<4x8xf32>, tensor<4xf32>, tensor<32xf32>
}

func.func @c0.bwd() attributes {cleave.backward_of = @c0.fwd} {
  return
}

// A reduced accumulator of the host is used for the norm and much later for the update; a reduced one of the device stays there.
// CHECK-LABEL: func.func @update
// STATES-LABEL: func.func @update
func.func @update() -> (tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) {
  %g = cleave.read @g : tensor<32xf32>
  // STATES: %[[R:.*]] = shard.all_reduce %{{.*}} {{.*}}cleave.instance = 0
  // STATES-NEXT: %[[H:.*]] = cleave.offload %[[R]] : tensor<32xf32>
  // STATES-NOT: cleave.offload %
  %r = shard.all_reduce %g on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<32xf32> -> tensor<32xf32>
  %h = cleave.read @h : tensor<32xf32>
  %q = shard.all_reduce %h on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<32xf32> -> tensor<32xf32>
  // STATES: return %[[H]], %[[H]]
  return %r, %r, %q, %q : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>
}
}
