// The attributes that passes leave for each other (dialects/Cleave/IR/Attributes.def): verify passes refuse one that is
// not declared, that stands on something else, or that should be gone at the level. Of forms ../attribute-forms-invalid.mlir tells.
// RUN: cleave-opt %s -split-input-file -verify-diagnostics -verify-model

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{cleave.forgotten is no attribute of the dialect}}
  func.func @model(%x: tensor<4xf32> {cleave.name = "x"}) -> (tensor<4xf32> {cleave.name = "y"}) attributes {cleave.forgotten} {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{cleave.mesh of argument 0 must not stand on an argument}}
  func.func @model(%x: tensor<4xf32> {cleave.name = "x", cleave.mesh = #cleave.mesh<["dp"], [2]>}) -> (tensor<4xf32> {cleave.name = "y"}) {
    return %x : tensor<4xf32>
  }
}

// -----

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{cleave.loss of result 0 expects the form unit; got: "yes"}}
  func.func @model(%x: tensor<f32> {cleave.name = "x"}) -> (tensor<f32> {cleave.name = "y", cleave.loss = "yes"}) {
    return %x : tensor<f32>
  }
}

// -----

// expected-error @below {{cleave.kinds must not be here at this level}}
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.kinds = [{name = "all", where = {}}]} {
  func.func @model(%x: tensor<4xf32> {cleave.name = "x"}) -> (tensor<4xf32> {cleave.name = "y"}) {
    // expected-error @below {{cleave.instance must not be here at this level}}
    %0 = cleave.neg %x {cleave.instance = 1} : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// What other tools leave on ops is their business.
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>, other.note = 1 : i64} {
  func.func @model(%x: tensor<4xf32> {cleave.name = "x"}) -> (tensor<4xf32> {cleave.name = "y"}) {
    return %x : tensor<4xf32>
  }
}
