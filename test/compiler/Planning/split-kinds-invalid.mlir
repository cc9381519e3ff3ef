// RUN: cleave-opt %s --split-kinds --split-input-file --verify-diagnostics

// Workers cannot read what only the server has, neither a state ...
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>,
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 2>}}]} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>], storage = #cleave.sharding<[[]]>}
  cleave.state @m : tensor<8xf32> {role = #cleave.role<optimizer>, slot = "m", segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], owner = ["dp"]>}
  func.func @train_step() attributes {cleave.entry} {
    // expected-error @+1 {{is a state that only its owners have, but ranks of kind "worker" need it}}
    %m = cleave.read @m : tensor<8xf32>
    // expected-note @+1 {{used here}}
    cleave.write %m, @w : tensor<8xf32>
    return
  }
}

// -----

// ... nor what is reduced to it.
module attributes {cleave.mesh = #cleave.mesh<["dp"], [2]>,
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 2>}}]} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>], storage = #cleave.sharding<[[]]>}
  func.func @train_step() attributes {cleave.entry} {
    %w = cleave.read @w : tensor<8xf32>
    // expected-error @+1 {{is what only the root of a reduce has, but ranks of kind "worker" need it}}
    %r = shard.reduce %w on @mesh grid_axes = [0] root = [0] : (tensor<8xf32>) -> tensor<8xf32>
    // expected-note @+1 {{used here}}
    cleave.write %r, @w : tensor<8xf32>
    return
  }
}

// -----

// A kind is the root of a collective, or it is not.
module attributes {cleave.mesh = #cleave.mesh<["dp"], [4]>,
                   cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 2>}}, {name = "worker", where = {dp = array<i64: 2, 4>}}]} {
  shard.grid @mesh(shape = 4)
  cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>], storage = #cleave.sharding<[[]]>}
  func.func @train_step() attributes {cleave.entry} {
    %w = cleave.read @w : tensor<8xf32>
    // expected-error @+1 {{expected every kind of ranks to be its root or not; got: kind "server"}}
    %b = shard.broadcast %w on @mesh grid_axes = [0] root = [0] : (tensor<8xf32>) -> tensor<8xf32>
    cleave.write %b, @w : tensor<8xf32>
    return
  }
}
