// RUN: cleave-opt %s --assign-shardings --split-input-file --verify-diagnostics

// expected-error @+1 {{assign-shardings needs the module's cleave.mesh; got: none}}
module {}

// -----
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @+1 {{cannot split argument 0 of @infer evenly: dimension 0 of 'tensor<7x4xf32>' over 2 data ranks; bind a batch that is a multiple of 2}}
  func.func @infer(%x: tensor<7x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) {
    return
  }
}

// -----
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @+1 {{cleave.batch_dim of argument 0 is not one of its dimensions; got: 2}}
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 2 : i64}) {
    return
  }
}

// -----
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @+1 {{argument 0 is residual 1, which no forward function returns}}
  func.func @c0.bwd(%x: tensor<8x4xf32> {cleave.residual = 1 : i64}) {
    return
  }
}
