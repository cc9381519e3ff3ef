// RUN: cleave-opt %s --verify-sharded --split-input-file --verify-diagnostics

// expected-error @+1 {{expected cleave.level = "sharded" and a cleave.mesh}}
module {}

// -----
// expected-error @+1 {{expected shard.grid @mesh of the shape of #cleave.mesh<["dp"], [2]>}}
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {}

// -----
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{state @w has no storage}}
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @v : tensor<4xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[["dp"]]>,
    segments = [#cleave.segment<"v", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @+2 {{argument 0 has no cleave.sharding}}
  // expected-error @+1 {{result 0 has no cleave.sharding}}
  func.func @infer(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error @+1 {{state @v is stored as 'tensor<2xf32>'; got: 'tensor<4xf32>'}}
    %v = cleave.read @v : tensor<4xf32>
    // expected-error @+1 {{a collective has cleave.instance and cleave.reason}}
    %0 = shard.all_reduce %x on @mesh grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    // expected-error @+1 {{collectives have instances of their own; got: 1 twice}}
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    // expected-error @+1 {{cleave.uses must not be here at this level}}
    %3 = cleave.neg %2 {cleave.uses = []} : tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}

// -----
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{'func.func' op must have a body of one block}}
  func.func private @infer()
}
