// RUN: cleave-opt %s -split-input-file -verify-model -verify-diagnostics

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<4xf32> {cleave.name = "y"}) {
    %w = cleave.read @w : tensor<4xf32>
    %y = cleave.add %x, %w : tensor<4xf32>
    cleave.write %y, @w : tensor<4xf32>
    return %y : tensor<4xf32>
  }
}

// -----

// expected-error @below {{expects a module with cleave.level = "model"; got: "step"}}
// expected-error @below {{expects a function @model; got: none}}
module attributes {cleave.level = "step"} {}

// -----

// expected-error @below {{expects a module with cleave.mesh, a #cleave.mesh; got: none}}
module attributes {cleave.level = "model"} {
  // expected-error @below {{expects cleave.name on every argument; got: none on argument 0}}
  // expected-error @below {{expects cleave.name on every result; got: none on result 0}}
  func.func @model(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  // expected-error @below {{does not belong to the model level, which has @model and @model.eval only; got: @other}}
  func.func @other() {
    return
  }
}

// -----

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{expects role parameter, buffer, constant or scalar at the model level; got: optimizer}}
  cleave.state @m : tensor<4xf32> {role = #cleave.role<optimizer>, segments = [#cleave.segment<"m", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @below {{as cleave.batch_dim of argument 0; got: 1}}
  func.func @model(%x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64}) {
    // expected-error @below {{is formed after sharding and must not be here yet}}
    %0 = cleave.kernel ins(%x : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %1 = cleave.exp %a : tensor<4xf32>
      cleave.yield %1 : tensor<4xf32>
    }
    cleave.write %0, @m : tensor<4xf32>
    // expected-error @below {{of @m stands after its write}}
    %2 = cleave.read @m : tensor<4xf32>
    // expected-error @below {{writes @m a second time in a function; only one write is allowed}}
    cleave.write %2, @m : tensor<4xf32>
    // expected-error @below {{is not an op of the cleave or shard dialect and must not be here}}
    %3 = arith.constant 0 : i64
    return
  }
}

// -----

// Where things are is decided by sharding, and buckets are formed before it: none of it is in a model.
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{crosses ranks, which is decided by sharding and must not be here yet}}
  shard.grid @mesh(shape = 2)
  // expected-error @below {{has a storage, which is decided by sharding and must not be here yet}}
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[["dp"]]>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  // expected-error @below {{expects one segment at the model level; buckets are formed later; got: 2}}
  cleave.state @bucket : tensor<64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"a", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<weights>>,
                #cleave.segment<"b", tensor<32xf32>, offset = 32, group = 0, init = #cleave.init<weights>>]}
  // expected-error @below {{cleave.sharding of argument 0 must not be here at this level}}
  func.func @model(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    // expected-error @below {{crosses ranks, which is decided by sharding and must not be here yet}}
    %0 = shard.all_reduce %x on @mesh grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
    return
  }
}

// -----

module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  // expected-error @below {{expects a statically shaped tensor as argument 0; got: 'tensor<?xf32>'}}
  // expected-error @below {{expects a statically shaped tensor as argument 1; got: 'f32'}}
  // expected-error @below {{expects a statically shaped tensor as result 0; got: 'f32'}}
  func.func @model(%x: tensor<?xf32> {cleave.name = "x"}, %y: f32 {cleave.name = "y"}) -> (f32 {cleave.name = "z"}) {
    return %y : f32
  }
  // expected-error @below {{must have a body of one block}}
  func.func private @model.eval(tensor<4xf32> {cleave.name = "x"})
}
