// RUN: cleave-opt %s -split-input-file -verify-diagnostics -build-update=optimizer=sgd

cleave.state @w : tensor<3xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w.grad : tensor<3xf32> {role = #cleave.role<gradient>, slot = "grad",
  segments = [#cleave.segment<"w", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
// expected-error @below {{expects states in cleave.deferred; got: variance = "v"}}
cleave.state @m : tensor<3xf32> {role = #cleave.role<buffer>,
  cleave.deferred = {count = 2 : i64, mean = "m", momentum = 0.9, squares = "v.sum", sum = "m.sum", terms = 4 : i64, variance = "v"},
  segments = [#cleave.segment<"m", tensor<3xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
