// RUN: cleave-opt %s --verify-sharded --split-input-file --verify-diagnostics

// Programs that were accepted once, although the parts on the ranks are not what their distributions say.

// Terms of a maximum, concatenated with terms of a sum.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) -> (tensor<4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.reduce max %x, [0] : tensor<3x2xf32> -> tensor<2xf32>
    %1 = cleave.reduce sum %x, [0] : tensor<3x2xf32> -> tensor<2xf32>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (max); cleave.concat in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %c = cleave.concat %0, %1 dim = 0 : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>
    %2 = shard.all_reduce %c on @mesh grid_axes = [0]  {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

// -----
// The same, with the maximum on both sides.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) -> (tensor<6xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.reduce max %x, [0] : tensor<3x2xf32> -> tensor<2xf32>
    %1 = cleave.reduce sum %x, [0] : tensor<3x2xf32> -> tensor<2xf32>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (max); cleave.concat in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %c = cleave.concat %0, %1, %0 dim = 0 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32> -> tensor<6xf32>
    %2 = shard.all_reduce %c on @mesh grid_axes = [0] reduction = max  {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<6xf32> -> tensor<6xf32>
    return %2 : tensor<6xf32>
  }
}

// -----
// A whole list of integers, concatenated with terms of a sum.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x2xi64> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %n: tensor<2xi64> {cleave.name = "n", cleave.sharding = #cleave.sharding<[[]]>})
      -> (tensor<4xi64> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.reduce sum %x, [0] : tensor<3x2xi64> -> tensor<2xi64>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); cleave.concat in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %1 = cleave.concat %0, %n dim = 0 : tensor<2xi64>, tensor<2xi64> -> tensor<4xi64>
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xi64> -> tensor<4xi64>
    return %2 : tensor<4xi64>
  }
}

// -----
// Terms of a product, concatenated with a whole value.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @g : tensor<4xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[]], partial = ["dp"], kind = product>,
    segments = [#cleave.segment<"g", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @infer(%n: tensor<4xf32> {cleave.name = "n", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<8xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.read @g : tensor<4xf32>
    // expected-error @+1 {{the gradient of 'g' (@g) is partial over dp (product); cleave.concat in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %c = cleave.concat %0, %n dim = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
    %1 = shard.all_reduce %c on @mesh grid_axes = [0] reduction = product {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8xf32> -> tensor<8xf32>
    return %1 : tensor<8xf32>
  }
}

// -----
// Indices that are terms of a sum: where rows are added,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%u: tensor<3x2x4xf32> {cleave.name = "u", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], [], []]>},
                   %i: tensor<3x2xi64> {cleave.name = "i", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>})
      -> (tensor<8x4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    %z = cleave.constant dense<0.0> : tensor<8x4xf32>
    %t = cleave.reduce sum %u, [0] : tensor<3x2x4xf32> -> tensor<2x4xf32>
    %n = cleave.reduce sum %i, [0] : tensor<3x2xi64> -> tensor<2xi64>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); cleave.put_add in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %1 = cleave.put_add %z, %n, %t, dim = 0 : tensor<8x4xf32>, tensor<2xi64>, tensor<2x4xf32>
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8x4xf32> -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
}

// -----
// where rows are taken,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], [], []]>},
                   %i: tensor<3x2xi64> {cleave.name = "i", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>})
      -> (tensor<2x4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    %t = cleave.reduce sum %x, [0] : tensor<3x8x4xf32> -> tensor<8x4xf32>
    %n = cleave.reduce sum %i, [0] : tensor<3x2xi64> -> tensor<2xi64>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); cleave.take in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %1 = cleave.take %t, %n, dim = 0 : tensor<8x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x4xf32> -> tensor<2x4xf32>
    return %2 : tensor<2x4xf32>
  }
}

// -----
// and where elements are picked.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], [], []]>},
                   %i: tensor<3x8x2xi64> {cleave.name = "i", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], [], []]>})
      -> (tensor<8x2xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    %t = cleave.reduce sum %x, [0] : tensor<3x8x4xf32> -> tensor<8x4xf32>
    %n = cleave.reduce sum %i, [0] : tensor<3x8x2xi64> -> tensor<8x2xi64>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); cleave.pick in @infer uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %1 = cleave.pick %t, %n, dim = 1, batch = 1 : tensor<8x4xf32>, tensor<8x2xi64> -> tensor<8x2xf32>
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8x2xf32> -> tensor<8x2xf32>
    return %2 : tensor<8x2xf32>
  }
}

// -----
// One input, which two functions of a step declare differently.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<4x2xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"w", tensor<4x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<4x2xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"w", tensor<4x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<2x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    return
  }
  // expected-error @+1 {{argument 0 of @c0.bwd is input 'x', which @c0.fwd declares in another way; expected one type, one sharding and one batch dimension}}
  func.func @c0.bwd(%x: tensor<2x2xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64, cleave.sharding = #cleave.sharding<[[], ["dp"]]>}) attributes {cleave.backward_of = @c0.fwd} {
    %t = cleave.transpose %x, [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    %1 = shard.all_gather %t on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x2xf32> -> tensor<4x2xf32>
    cleave.write %1, @g : tensor<4x2xf32>
    return
  }
  func.func @update() {
    %1 = cleave.read @g : tensor<4x2xf32>
    cleave.write %1, @w : tensor<4x2xf32>
    return
  }
}

// -----
// An input that is also a residual.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @g : tensor<4xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) -> (tensor<4xf32>) {
    %k = cleave.read @g : tensor<4xf32>
    return %k : tensor<4xf32>
  }
  // expected-error @+1 {{argument 0 of @c0.bwd is an input and also a value of another function; expected one of the two}}
  func.func @c0.bwd(%x: tensor<4xf32> {cleave.name = "x", cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    cleave.write %x, @g : tensor<4xf32>
    return
  }
  func.func @update() {
    return
  }
}

// -----
// A state that is stored in blocks: the loader deals out neighbouring parts.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{parameter 'w' (@w) is stored in blocks; expected it whole, or one part on each rank}}
  cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[2, "dp"]]>,
    segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights, source = "w">>]}
  func.func @infer() -> (tensor<4x2xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    %w = cleave.read @w : tensor<4xf32>
    %0 = cleave.reshape %w {cleave.whole = tensor<2x4xf32>} : tensor<4xf32> -> tensor<2x2xf32>
    %t = cleave.transpose %0, [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    %1 = shard.all_gather %t on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x2xf32> -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}

// -----
// An input in blocks.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+3 {{argument 0 of @infer is declared in blocks; expected it whole, or one part on each rank}}
  // expected-error @+2 {{argument 1 of @infer is declared in blocks; expected it whole, or one part on each rank}}
  // expected-error @+1 {{result 0 of @infer is declared in blocks; expected it whole, or one part on each rank}}
  func.func @infer(%x: tensor<4x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[[2, "dp"], []]>},
   %z: tensor<4x2xf32> {cleave.name = "z", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[[2, "dp"], []]>})
   -> (tensor<4x2xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[[2, "dp"], []]>}) {
    %0 = cleave.add %x, %z : tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----
// A sharding with fewer dimensions than the type.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{argument 0 of @infer has the type 'tensor<4xf32>' and a sharding of 0 dimensions; expected one for each dimension of the type}}
  func.func @infer(%w: tensor<4xf32> {cleave.name = "w", cleave.sharding = #cleave.sharding<[]>}, %x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>})
   -> (tensor<4xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    // expected-error @+1 {{input 'w' is whole; cleave.add in @infer takes its operands in parts that belong together, and expects it split over dp along dimension 0: an all_slice over dp is missing}}
    %0 = cleave.add %x, %w : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----
// The place of a part, from a state of which each rank has another part,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @t : tensor<2xi64> {role = #cleave.role<buffer>, storage = #cleave.sharding<[["dp"]]>,
    segments = [#cleave.segment<"t", tensor<2xi64>, offset = 0, group = 0, init = #cleave.init<weights, source = "t">>]}
  func.func @infer(%x: tensor<3x4xi64> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>})
    -> (tensor<3x4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    %t = cleave.read @t : tensor<1xi64>
    // expected-error @+1 {{buffer 't' (@t) is split over dp along dimension 0; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %i = cleave.iota dim = 0 origin %t : tensor<1xi64> : tensor<4xi64>
    %b = cleave.broadcast %i, [1] : tensor<4xi64> -> tensor<3x4xi64>
    %4 = cleave.add %x, %b : tensor<3x4xi64>
    return %4 : tensor<3x4xi64>
  }
}

// -----
// from a state that only its owner has,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @t : tensor<1xi64> {role = #cleave.role<constant>, storage = #cleave.sharding<[[]], owner = ["dp"]>,
    segments = [#cleave.segment<"t", tensor<1xi64>, offset = 0, group = 0, init = #cleave.init<weights, source = "t">>]}
  func.func @infer() -> (tensor<4xi64> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %c = cleave.read @t : tensor<1xi64>
    // expected-error @+1 {{state 't' (@t) is only on its owner over dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %c : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
}

// -----
// from the difference of two numbers that all ranks share,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%x: tensor<4xi64> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}, %s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>}, %t: tensor<i64> {cleave.name = "t", cleave.sharding = #cleave.sharding<[]>})
    -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %d = cleave.sub %s, %t : tensor<i64>
    %f = cleave.add %four, %d : tensor<i64>
    %1 = cleave.mul %c, %f : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.reshape is another value on each rank of dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    %4 = cleave.add %x, %3 : tensor<4xi64>
    return %4 : tensor<4xi64>
  }
}

// -----
// and from the second part of a state.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @t : tensor<17xi64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"a", tensor<1xi64>, offset = 0, group = 0, init = #cleave.init<zeros>>,
                #cleave.segment<"c", tensor<1xi64>, offset = 16, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer() -> (tensor<4xi64> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %c = cleave.read @t : tensor<17xi64>
    %d = cleave.slice %c, [16], [1], [1] : tensor<17xi64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.slice is another value on each rank of dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %d : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
}

// -----
// A coordinate is written.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>})
    -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %1 = cleave.mul %c, %four : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    %zero = cleave.constant dense<0> : tensor<i64>
    // expected-error @+1 {{writes state 'coordinate.dp' (@coordinate.dp), the rank's coordinate, which must not change}}
    cleave.write %zero, @coordinate.dp : tensor<i64>
    return %3 : tensor<4xi64>
  }
}

// -----
// A part of a repetition: the sum over it is not the whole sum.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%w: tensor<4xf32> {cleave.name = "w", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<4xf32> {cleave.name = "z", cleave.sharding = #cleave.sharding<[[]]>}) {
    %1 = cleave.broadcast %w, [1] : tensor<4xf32> -> tensor<4x4xf32>
    %2 = shard.all_slice %1 on @mesh grid_axes = [0] slice_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4x4xf32> -> tensor<2x4xf32>
    %3 = cleave.reduce sum %2, [0] : tensor<2x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); result 0 of @infer is declared whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    return %3 : tensor<4xf32>
  }
}

// -----
// A value of a function that runs later.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @+1 {{argument 0 of @update is a value of @infer, which runs later in the step}}
  func.func @update(%e: tensor<4xf32> {cleave.edge = "c0:0"}) {
    cleave.write %e, @w : tensor<4xf32>
    return
  }
  func.func @infer(%x: tensor<3x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) -> (tensor<4xf32> {cleave.edge = "c0:0"}) {
    %0 = cleave.reduce sum %x, [0] : tensor<3x4xf32> -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----
// A constant with another kind of attribute is whole.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer() -> (tensor<2xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.constant sparse<[[0]], [5.0]> : tensor<4xf32>
    %1 = shard.all_slice %0 on @mesh grid_axes = [0] slice_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<2xf32>
    // expected-error @+1 {{the result of shard.all_slice is split over dp along dimension 0; result 0 of @infer is declared whole: an all_gather over dp is missing}}
    return %1 : tensor<2xf32>
  }
}

// -----
// A collective that changes the type.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<3x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) -> (tensor<4xi32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.reduce sum %x, [0] : tensor<3x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{the result of cleave.reduce is partial over dp (sum); shard.all_reduce in @infer changes the type of the elements}}
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xi32>
    return %1 : tensor<4xi32>
  }
}

// -----
// A collective on another grid.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  shard.grid @other(shape = 4x2)
  func.func @infer(%w: tensor<8xf32> {cleave.name = "w", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<8xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    // expected-error @+1 {{input 'w' is whole; shard.all_slice in @infer is not on the grid @mesh}}
    %1 = shard.all_slice %w on @other grid_axes = [0] slice_axis = 0 {cleave.instance = 3 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8xf32> -> tensor<2xf32>
    %2 = shard.all_gather %1 on @other grid_axes = [0] gather_axis = 0 {cleave.instance = 4 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2xf32> -> tensor<8xf32>
    return %2 : tensor<8xf32>
  }
}

// -----
// Terms that do not begin with zeros.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{the gradient of 'g' (@g) is stored partial over dp (sum), and each rank begins with a number; expected zeros}}
  cleave.state @g : tensor<4xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[]], partial = ["dp"]>,
    segments = [#cleave.segment<"g", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<constant, value = 1.0>>]}
  func.func @infer() -> (tensor<4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %0 = cleave.read @g : tensor<4xf32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----
// The place of a part, from two elements of one input,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%s: tensor<2xi64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %a = cleave.slice %s, [0], [1], [1] : tensor<2xi64> -> tensor<1xi64>
    %b = cleave.slice %s, [1], [1], [1] : tensor<2xi64> -> tensor<1xi64>
    %d = cleave.sub %a, %b : tensor<1xi64>
    %ds = cleave.reshape %d : tensor<1xi64> -> tensor<i64>
    %f = cleave.add %four, %ds : tensor<i64>
    %1 = cleave.mul %c, %f : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.reshape is another value on each rank of dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
}

// -----
// from a state before and after it is written,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  cleave.state @n : tensor<i64> {role = #cleave.role<scalar>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"n", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @infer() -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %n = cleave.read @n : tensor<i64>
    %one = cleave.constant dense<1> : tensor<i64>
    %m = cleave.add %n, %one : tensor<i64>
    cleave.write %m, @n : tensor<i64>
    %new = cleave.read @n : tensor<i64>
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %d = cleave.sub %new, %n : tensor<i64>
    %f = cleave.add %four, %d : tensor<i64>
    %1 = cleave.mul %c, %f : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.reshape is another value on each rank of dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
}

// -----
// the same in two functions,
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  cleave.state @n : tensor<i64> {role = #cleave.role<scalar>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"n", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<8xi64> {role = #cleave.role<buffer>, storage = #cleave.sharding<[["dp"]]>,
    segments = [#cleave.segment<"g", tensor<8xi64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd() -> (tensor<i64>) {
    %n = cleave.read @n : tensor<i64>
    %one = cleave.constant dense<1> : tensor<i64>
    %m = cleave.add %n, %one : tensor<i64>
    cleave.write %m, @n : tensor<i64>
    return %n : tensor<i64>
  }
  func.func @c0.bwd(%old: tensor<i64> {cleave.residual = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %new = cleave.read @n : tensor<i64>
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %d = cleave.sub %new, %old : tensor<i64>
    %f = cleave.add %four, %d : tensor<i64>
    %1 = cleave.mul %c, %f : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.reshape is another value on each rank of dp; cleave.iota in @c0.bwd takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    cleave.write %3, @g : tensor<4xi64>
    return
  }
  func.func @update() {
    return
  }
}

// -----
// and from five inputs.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>}, %p: tensor<i64> {cleave.name = "p", cleave.sharding = #cleave.sharding<[]>},
     %q: tensor<i64> {cleave.name = "q", cleave.sharding = #cleave.sharding<[]>}, %r: tensor<i64> {cleave.name = "r", cleave.sharding = #cleave.sharding<[]>}, %t: tensor<i64> {cleave.name = "t", cleave.sharding = #cleave.sharding<[]>}) -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %a1 = cleave.add %s, %p : tensor<i64>
    %a2 = cleave.add %a1, %q : tensor<i64>
    %a3 = cleave.add %a2, %r : tensor<i64>
    %b1 = cleave.sub %a3, %p : tensor<i64>
    %b2 = cleave.sub %b1, %q : tensor<i64>
    %b3 = cleave.sub %b2, %r : tensor<i64>
    %d = cleave.sub %b3, %t : tensor<i64>
    %f = cleave.add %four, %d : tensor<i64>
    %1 = cleave.mul %c, %f : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    // expected-error @+1 {{the result of cleave.reshape is another value on each rank of dp; cleave.iota in @infer takes it for the place of the rank's part, and it is not}}
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
}

// -----
// A coordinate that calls itself a buffer.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  // expected-error @+1 {{buffer 'k' (@k) has the role of a coordinate or begins with one; expected both or none}}
  cleave.state @k : tensor<i64> {role = #cleave.role<buffer>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"k", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer() -> (tensor<4xi64> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @k : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %1 = cleave.mul %c, %four : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    %zero = cleave.constant dense<0> : tensor<i64>
    cleave.write %zero, @k : tensor<i64>
    return %3 : tensor<4xi64>
  }
}

// -----
// One input without a name, declared differently.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<4x2xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"w", tensor<4x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<4x2xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"g", tensor<4x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<2x2xf32> {cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    return
  }
  // expected-error @+1 {{argument 0 of @c0.bwd is input 'arg0', which @c0.fwd declares in another way; expected one type, one sharding and one batch dimension}}
  func.func @c0.bwd(%x: tensor<2x2xf32> {cleave.batch_dim = 1 : i64, cleave.sharding = #cleave.sharding<[[], ["dp"]]>}) attributes {cleave.backward_of = @c0.fwd} {
    %t = cleave.transpose %x, [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
    %1 = shard.all_gather %t on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x2xf32> -> tensor<4x2xf32>
    cleave.write %1, @g : tensor<4x2xf32>
    return
  }
  func.func @update() {
    %1 = cleave.read @g : tensor<4x2xf32>
    cleave.write %1, @w : tensor<4x2xf32>
    return
  }
}

// -----
// A body for which there is no rule.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) -> (tensor<4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %k = cleave.kernel ins(%x : tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      // expected-error @+1 {{tensor.generate has a body or calls one, for which there is no rule here}}
      %g = tensor.generate {
      ^bb0(%i: index):
        %e = tensor.extract %a[%i] : tensor<4xf32>
        tensor.yield %e : f32
      } : tensor<4xf32>
      cleave.yield %g : tensor<4xf32>
    }
    return %k : tensor<4xf32>
  }
}

// -----
// A call.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @f() -> (tensor<4xi64> {cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %1 = cleave.mul %c, %four : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
  func.func @infer() -> (tensor<4xi64> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>}) {
    %k = cleave.kernel -> tensor<4xi64> {
      // expected-error @+1 {{func.call has a body or calls one, for which there is no rule here}}
      %g = func.call @f() : () -> tensor<4xi64>
      cleave.yield %g : tensor<4xi64>
    }
    return %k : tensor<4xi64>
  }
}

// -----
// A state that is split over the axis of the pipeline.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["pp", "dp"], [2, 2]>, cleave.micro_batches = 2 : i64, cleave.pipeline = {axis = "pp", schedule = "1f1b"}} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @coordinate.pp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.pp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "pp">>]}
  // expected-error @+1 {{buffer 'b' (@b) is stored split over pp along dimension 0, and pp is the axis of the pipeline; expected it whole over that}}
  cleave.state @b : tensor<8xi64> {role = #cleave.role<buffer>, storage = #cleave.sharding<[["pp"]]>,
    segments = [#cleave.segment<"b", tensor<8xi64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd() -> (tensor<4xi64> {cleave.edge = "c0:0"}) {
    // expected-error @+1 {{state 'coordinate.pp' (@coordinate.pp) is another value on each rank of pp, and pp is the axis of the pipeline; expected it whole over that}}
    %c = cleave.read @coordinate.pp : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %1 = cleave.mul %c, %four : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    %3 = cleave.iota dim = 0 origin %2 : tensor<1xi64> : tensor<4xi64>
    return %3 : tensor<4xi64>
  }
  func.func @c1.fwd(%e: tensor<4xi64> {cleave.edge = "c0:0"}) {
    cleave.write %e, @b : tensor<4xi64>
    return
  }
}
