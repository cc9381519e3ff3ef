// RUN: cleave-opt %s --assign-shardings="offload=optimizer,grads" | FileCheck %s
// RUN: cleave-opt %s --assign-shardings="offload=params" --partition --verify-sharded | FileCheck %s --check-prefix=PARAMS
// RUN: not cleave-opt %s --assign-shardings="offload=weights" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not cleave-opt %s --assign-shardings="offload=grads,grads" 2>&1 | FileCheck %s --check-prefix=TWICE

// Where a state is stored follows from its role, as what is stored split does.
// UNKNOWN: assign-shardings: expected params, grads, optimizer, activations or several of them
// TWICE: assign-shardings: 'grads' is given twice
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // CHECK: cleave.state @w : tensor<4xf32> {role
  // PARAMS: cleave.state @w : tensor<4xf32> {cleave.offloaded, role
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK: cleave.state @g : tensor<4xf32> {cleave.offloaded, role
  // PARAMS: cleave.state @g : tensor<4xf32> {role
  cleave.state @g : tensor<4xf32> {role = #cleave.role<gradient>, slot = "grad",
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK: cleave.state @m : tensor<4xf32> {cleave.offloaded, role
  // PARAMS: cleave.state @m : tensor<4xf32> {role
  cleave.state @m : tensor<4xf32> {role = #cleave.role<optimizer>, slot = "momentum",
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK: cleave.state @scalar.lr : tensor<f32> {role
  cleave.state @scalar.lr : tensor<f32> {role = #cleave.role<scalar>,
    segments = [#cleave.segment<"scalar.lr", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @update() {
    %w = cleave.read @w : tensor<4xf32>
    cleave.write %w, @w : tensor<4xf32>
    return
  }
}
