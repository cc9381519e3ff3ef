// RUN: cleave-opt %s -split-input-file -verify-step -verify-diagnostics

module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 2 : i64} {
  func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x"}) -> tensor<4xf32> {
    %0 = cleave.exp %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  func.func @c0.bwd(%r: tensor<4xf32> {cleave.residual = 0 : i64}, %x: tensor<4xf32> {cleave.name = "x"}) attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  func.func @update() {
    return
  }
}

// -----

// expected-error @below {{expects cleave.micro_batches of at least 1; got: none}}
// expected-error @below {{expects @infer, or @c0.fwd and @c0.bwd; got: neither}}
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{expects one of @infer, @cN.fwd, @cN.bwd (or @cN.bwd_x and @cN.bwd_w), @update, @evaluate; got: @other}}
  func.func @other() {
    return
  }
  // expected-error @below {{expects type 'tensor<i64>'; got: 'tensor<f32>'}}
  cleave.state @scalar.step : tensor<f32> {role = #cleave.role<scalar>, segments = [#cleave.segment<"s", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @below {{expects role scalar exactly for names that begin with "scalar."; got: scalar}}
  cleave.state @loss : tensor<f32> {role = #cleave.role<scalar>, segments = [#cleave.segment<"l", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
}

// -----

// expected-error @below {{expects @update in addition to the chunks of a training step; got: none}}
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  // expected-error @below {{expects its counterpart @c1.bwd; got: none}}
  func.func @c1.fwd() {
    return
  }
}

// -----

module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  func.func @update() {
    return
  }
  func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  // expected-error @below {{expects either cleave.residual or cleave.name (or cleave.edge) on every argument; got: neither on argument 0}}
  // expected-error @below {{expects a result of @c0.fwd as cleave.residual of argument 1; got: 1 of 1}}
  // expected-error @below {{expects argument 2 to have the type of the residual it names, 'tensor<4xf32>'; got: 'tensor<2xf32>'}}
  func.func @c0.bwd(%a: tensor<4xf32>, %b: tensor<4xf32> {cleave.residual = 1 : i64}, %c: tensor<2xf32> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    return
  }
}

// -----

// Names are names: which function is a backward pass, and of which, an attribute says.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  // expected-error @below {{expects cleave.backward_of exactly on backward passes; got: it on @update}}
  func.func @update() attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  func.func @c0.fwd() {
    return
  }
  // expected-error @below {{expects cleave.backward_of exactly on backward passes; got: none on @c0.bwd}}
  func.func @c0.bwd() {
    return
  }
  func.func @c1.fwd() {
    return
  }
  // expected-error @below {{expects cleave.backward_of to name a forward function; got: @c2.fwd}}
  func.func @c1.bwd() attributes {cleave.backward_of = @c2.fwd} {
    return
  }
}

// -----

// Two chunks: an edge forward, its gradient back; the first chunk's backward pass is split.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x"}) -> (tensor<4xf32> {cleave.edge = "c0:0"}) {
    return %x : tensor<4xf32>
  }
  func.func @c1.fwd(%h: tensor<4xf32> {cleave.edge = "c0:0"}) {
    return
  }
  func.func @c1.bwd(%h: tensor<4xf32> {cleave.edge = "c0:0"}) -> (tensor<4xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd} {
    return %h : tensor<4xf32>
  }
  func.func @c0.bwd_x() attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  func.func @c0.bwd_w(%d: tensor<4xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  func.func @update() {
    return
  }
}

// -----

module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  // expected-error @below {{expects edge "c1:0" to be the result, of type 'tensor<4xf32>', of a function that runs before; got: c1.fwd}}
  // expected-error @below {{expects a function that takes edge "twice"; got: none}}
  func.func @c0.fwd(%h: tensor<4xf32> {cleave.edge = "c1:0"}) -> (tensor<4xf32> {cleave.edge = "twice"}) {
    return %h : tensor<4xf32>
  }
  // expected-error @below {{expects a function that takes edge "twice"; got: none}}
  // expected-error @below {{expects one maker of edge "twice"; got: another function that returns it}}
  // expected-error @below {{expects edge "none" to be the result, of type 'tensor<4xf32>', of a function that runs before; got: none}}
  func.func @c1.fwd(%n: tensor<4xf32> {cleave.edge = "none"}) -> (tensor<4xf32> {cleave.edge = "twice"}, tensor<4xf32> {cleave.edge = "c1:0"}) {
    return %n, %n : tensor<4xf32>, tensor<4xf32>
  }
  func.func @c0.bwd() attributes {cleave.backward_of = @c0.fwd} {
    return
  }
  // expected-error @below {{expects its counterpart @c1.bwd_w; got: none}}
  func.func @c1.bwd_x() attributes {cleave.backward_of = @c1.fwd} {
    return
  }
  func.func @update() {
    return
  }
}
