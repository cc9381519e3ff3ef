// RUN: cleave-opt %s -split-input-file -verify-diagnostics -defer-statistics=deferred=true

cleave.state @m : tensor<3xf32> {role = #cleave.role<buffer>,
  segments = [#cleave.segment<"m", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%x: tensor<1x2x3x1xf32> {cleave.name = "x"}) -> tensor<1x2x3x1xf32> {
  // expected-error @below {{expects states in cleave.statistics; got: "v"}}
  %y, %mean, %variance = cleave.normalize %x, [1, 3], epsilon = 1.0e-5 {cleave.statistics = {count = 2 : i64, mean = "m", momentum = 0.9, use = 1 : i64, variance = "v"}}
    : tensor<1x2x3x1xf32> -> tensor<1x2x3x1xf32>, tensor<1x3xf32>, tensor<1x3xf32>
  return %y : tensor<1x2x3x1xf32>
}

// -----

// Entries of another type are refused before the pass looks at them.
func.func @model(%x: tensor<1x2x3x1xf32> {cleave.name = "x"}) -> tensor<1x2x3x1xf32> {
  // expected-error @below {{cleave.statistics expects the form {mean: string, variance: string, momentum: f64, count: i64, use: i64}; got: }}
  %y, %mean, %variance = cleave.normalize %x, [1, 3], epsilon = 1.0e-5 {cleave.statistics = {count = 2 : i64, mean = 1, momentum = 0.9, use = 1 : i64, variance = "v"}}
    : tensor<1x2x3x1xf32> -> tensor<1x2x3x1xf32>, tensor<1x3xf32>, tensor<1x3xf32>
  return %y : tensor<1x2x3x1xf32>
}
