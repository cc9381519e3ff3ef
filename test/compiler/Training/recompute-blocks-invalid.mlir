// RUN: cleave-opt %s -split-input-file -recompute-blocks=recompute=every=3 -verify-diagnostics
// RUN: not cleave-opt %s -split-input-file -recompute-blocks=recompute=auto 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: not cleave-opt %s -split-input-file -recompute-blocks=recompute=some 2>&1 | FileCheck %s --check-prefix=SOME
// AUTO: auto is a search over the other values; the driver does it
// SOME: expected never, none, blocks, every=N, first=N, segments=N or auto; got: 'some'

// expected-error @+1 {{--recompute every=3: the model has 2 blocks; N may be from 1 to 2}}
module attributes {cleave.blocks = 2 : i64} {}

// -----

// expected-error @+1 {{the model has fewer than two layers, so there are no blocks to compute again}}
module {}

// -----

// expected-error @+1 {{no chunk of the pipeline has two layers, so there are no blocks to compute again; use fewer stages or chunks}}
module {
func.func @c0.fwd() { return }
func.func @c1.fwd() { return }
}

// -----

// expected-error @+1 {{--recompute every=3: the model has 1 blocks; N may be from 1 to 1}}
module attributes {cleave.blocks = 1 : i64} {}

// -----

module attributes {cleave.blocks = 3 : i64} {
func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
// expected-error @+1 {{expected argument 0 to be a residual of @c0.fwd}}
func.func @c0.bwd(%r: tensor<8xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
  return
}
}
