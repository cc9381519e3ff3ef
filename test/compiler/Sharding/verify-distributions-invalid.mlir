// RUN: cleave-opt %s --verify-sharded --split-input-file --verify-diagnostics

// What verify-sharded finds from the ops themselves: values that are something else than their uses expect.

// The update takes a gradient that nobody has reduced: once linearly, once not.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"fc.weight", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w.grad : tensor<4xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[[]], partial = ["dp"]>,
    segments = [#cleave.segment<"fc.weight", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @update() {
    %g = cleave.read @w.grad : tensor<4xf32>
    %w = cleave.read @w : tensor<4xf32>
    // expected-error @+1 {{the gradient of 'fc.weight' (@w.grad) is partial over dp (sum); cleave.sub in @update uses it together with a value that is not a term of the sum, and expects it whole: an all_reduce, or a reduce_scatter where a part is enough, over dp is missing}}
    %0 = cleave.sub %w, %g : tensor<4xf32>
    cleave.write %0, @w : tensor<4xf32>
    return
  }
  func.func @norm() -> (tensor<f32> {cleave.name = "norm", cleave.sharding = #cleave.sharding<[]>}) {
    %g = cleave.read @w.grad : tensor<4xf32>
    %n = cleave.neg %g : tensor<4xf32>
    // expected-error @+1 {{the result of cleave.neg is partial over dp (sum), as is the gradient of 'fc.weight' (@w.grad); cleave.mul in @norm is not linear, and expects it whole}}
    %0 = cleave.mul %n, %n : tensor<4xf32>
    %1 = cleave.reduce sum %0, [0] : tensor<4xf32> -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----
// The sum of the rows of a gradient, of which each rank has some, is not reduced; its product is.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<4x2xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %dy: tensor<4x3xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>})
      -> (tensor<2x3xf32> {cleave.name = "dw", cleave.sharding = #cleave.sharding<[[], []]>},
          tensor<3xf32> {cleave.name = "db", cleave.sharding = #cleave.sharding<[[]]>}) {
    %dw, %db = cleave.matmul_bias_grad %x, %dy : tensor<4x2xf32>, tensor<4x3xf32> -> tensor<2x3xf32>, tensor<3xf32>
    %0 = shard.all_reduce %dw on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<2x3xf32> -> tensor<2x3xf32>
    // expected-error @+1 {{is partial over dp (sum)}}
    return %0, %db : tensor<2x3xf32>, tensor<3xf32>
  }
}

// -----
// A bias in a product whose contraction is split: each rank adds it to its part of the sum.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<4x3xf32> {cleave.name = "x", cleave.batch_dim = 1 : i64, cleave.sharding = #cleave.sharding<[[], ["dp"]]>},
                   %w: tensor<3x8xf32> {cleave.name = "w", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %b: tensor<8xf32> {cleave.name = "b", cleave.sharding = #cleave.sharding<[[]]>})
      -> (tensor<4x8xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    // expected-error @+1 {{input 'b' is whole; cleave.matmul in @infer adds it on every rank of dp}}
    %0 = cleave.matmul %x, %w bias %b : tensor<4x3xf32>, tensor<3x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4x8xf32> -> tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}

// -----
// The rank's own part of its own terms, where parts of the sum are stored.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @g : tensor<8xf32> {role = #cleave.role<gradient>, storage = #cleave.sharding<[["fsdp"]]>,
    segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @bwd(%x: tensor<3x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["fsdp"], []]>}) {
    %0 = cleave.reduce sum %x, [0] : tensor<3x8xf32> -> tensor<8xf32>
    // expected-error @+1 {{the result of cleave.reduce is partial over fsdp (sum); shard.all_slice in @bwd takes the rank's part of it over fsdp, and expects it whole}}
    %1 = shard.all_slice %0 on @mesh grid_axes = [0] slice_axis = 0 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<8xf32> -> tensor<4xf32>
    cleave.write %1, @g : tensor<4xf32>
    return
  }
}

// -----
// Reduced twice; reduced of parts; terms of a maximum added up; what is stored as terms is reduced already.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @sum : tensor<f32> {role = #cleave.role<scalar>, storage = #cleave.sharding<[], partial = ["dp"]>,
    segments = [#cleave.segment<"loss_sum", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @fwd(%x: tensor<3x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    %0 = cleave.reduce sum %x, [0, 1] : tensor<3x4xf32> -> tensor<f32>
    %1 = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<f32> -> tensor<f32>
    // expected-error @+1 {{the result of shard.all_reduce is whole; shard.all_reduce in @fwd combines terms over dp, and expects it partial over dp (sum): it was reduced already, or it is no term of a sum: a collective too many}}
    %2 = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<f32> -> tensor<f32>
    // expected-error @+1 {{input 'x' is split over dp along dimension 0; shard.all_reduce in @fwd combines terms over dp}}
    %3 = shard.all_reduce %x on @mesh grid_axes = [0] {cleave.instance = 2 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<3x4xf32> -> tensor<3x4xf32>
    %4 = cleave.reduce max %x, [0] : tensor<3x4xf32> -> tensor<4xf32>
    // expected-error @+1 {{is partial over dp (max); shard.all_reduce in @fwd combines it in another way}}
    %5 = shard.all_reduce %4 on @mesh grid_axes = [0] {cleave.instance = 3 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    // expected-error @+1 {{the result of shard.all_reduce is whole; state 'loss_sum' (@sum) is stored partial over dp (sum): it was reduced already}}
    cleave.write %1, @sum : tensor<f32>
    return
  }
  func.func @update() {
    %0 = cleave.read @sum : tensor<f32>
    return
  }
}

// -----
// Gathered along another dimension; a part where all is needed; operands that do not belong together.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %w: tensor<4x8xf32> {cleave.name = "w", cleave.sharding = #cleave.sharding<[[], []]>})
      -> (tensor<4x8xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[], []]>}) {
    // expected-error @+1 {{input 'x' is split over dp along dimension 0; shard.all_gather in @infer puts parts over dp together along dimension 1}}
    %0 = shard.all_gather %x on @mesh grid_axes = [0] gather_axis = 1 {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4x8xf32> -> tensor<4x16xf32>
    // expected-error @+1 {{cleave.add in @infer takes its operands in parts that belong together, and expects it split over dp along dimension 0: an all_slice over dp is missing}}
    %1 = cleave.add %x, %w : tensor<4x8xf32>
    // expected-error @+1 {{input 'x' is split over dp along dimension 0; cleave.softmax in @infer needs all of the dimension that is split over dp, and expects it whole: an all_gather over dp is missing}}
    %2 = cleave.softmax %x, dim = 0 : tensor<4x8xf32>
    // expected-error @+1 {{input 'x' is split over dp along dimension 0; result 0 of @infer is declared whole: an all_gather over dp is missing}}
    return %x : tensor<4x8xf32>
  }
}

// -----
// Only the owner has it; and another rank is asked for it.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @m : tensor<4xf32> {role = #cleave.role<optimizer>, storage = #cleave.sharding<[[]], owner = ["dp"]>, slot = "momentum_buffer",
    segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @update() {
    %w = cleave.read @w : tensor<4xf32>
    %m = cleave.read @m : tensor<4xf32>
    %0 = cleave.sub %w, %m : tensor<4xf32>
    // expected-error @+1 {{has another root than the owner}}
    %1 = shard.broadcast %0 on @mesh grid_axes = [0] root = [1] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<4xf32>) -> tensor<4xf32>
    // expected-error @+1 {{the result of cleave.sub is only on its owner over dp, as is optimizer state 'momentum_buffer' of 'w' (@m); parameter 'w' (@w) is stored whole: a broadcast from the owner over dp is missing}}
    cleave.write %0, @w : tensor<4xf32>
    return
  }
}

// -----
// Random numbers of the wrong part; a coordinate in a state; a state of terms that nobody reduces; an output in parts.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  cleave.state @n : tensor<i64> {role = #cleave.role<scalar>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"n", tensor<i64>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @+1 {{state 'eval' (@eval) is stored partial over dp (sum), and no program reduces it}}
  cleave.state @eval : tensor<f32> {role = #cleave.role<scalar>, storage = #cleave.sharding<[], partial = ["dp"]>,
    segments = [#cleave.segment<"eval", tensor<f32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // expected-error @+1 {{result 0 of @infer is declared split over dp along dimension 0; expected it whole}}
  func.func @infer(%x: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"], []]>},
                   %s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>})
      -> (tensor<4x8xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[["dp"], []]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %three = cleave.constant dense<3> : tensor<i64>
    %zero = cleave.constant dense<0> : tensor<1xi64>
    %0 = cleave.mul %c, %three : tensor<i64>
    %1 = cleave.reshape %0 : tensor<i64> -> tensor<1xi64>
    %2 = cleave.concat %1, %zero dim = 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
    // expected-error @+1 {{takes it for the place of the rank's part, and it is not}}
    %3 = cleave.random_uniform %s, %s origin %2 : tensor<2xi64> {global_shape = array<i64: 8, 8>, site = 0 : i64} : tensor<i64>, tensor<i64> -> tensor<4x8xf32>
    // expected-error @+1 {{another value on each rank of dp; state 'n' (@n) is stored whole: it depends on the rank's coordinate}}
    cleave.write %c, @n : tensor<i64>
    return %x : tensor<4x8xf32>
  }
}

// -----
// Repeated, but not as the samples are split: each row by the batch, where the samples are rows of tables; the rows of a table that does not
// repeat at all; two tables in a batch of three rows.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @w : tensor<2xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"w", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @v : tensor<8xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"v", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @infer(%x: tensor<8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>},
                   %y: tensor<3xf32> {cleave.name = "y", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>}) {
    %w = cleave.read @w : tensor<2xf32>
    %v = cleave.read @v : tensor<8xf32>
    %0 = cleave.broadcast %w, [0] : tensor<2xf32> -> tensor<2x4xf32>
    // expected-error @+1 {{makes of it no part of a whole}}
    %1 = cleave.reshape %0 {cleave.whole = tensor<15xf32>} : tensor<2x4xf32> -> tensor<8xf32>
    %2 = cleave.reshape %0 {cleave.whole = tensor<16xf32>} : tensor<2x4xf32> -> tensor<8xf32>
    // expected-error @+1 {{takes its operands in parts that belong together}}
    %3 = cleave.add %2, %x : tensor<8xf32>
    // expected-error @+1 {{takes its operands in parts that belong together}}
    %4 = cleave.add %v, %x : tensor<8xf32>
    %5 = cleave.broadcast %w, [1] : tensor<2xf32> -> tensor<3x2xf32>
    %6 = cleave.reshape %5 {cleave.whole = tensor<12xf32>} : tensor<3x2xf32> -> tensor<6xf32>
    %7 = cleave.reshape %6 : tensor<6xf32> -> tensor<2x3xf32>
    %8 = cleave.reduce sum %7, [0] : tensor<2x3xf32> -> tensor<3xf32>
    // expected-error @+1 {{takes its operands in parts that belong together}}
    %9 = cleave.add %8, %y : tensor<3xf32>
    // expected-error @+1 {{makes of it no part of a whole}}
    %10 = cleave.reshape %v {cleave.whole = tensor<2x8xf32>} : tensor<8xf32> -> tensor<1x8xf32>
    return
  }
}

// -----
// Of an op of the shard dialect that has no rule nothing is known: neither what it makes nor what is made of it.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[[]]>})
      -> (tensor<4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[[]]>},
          tensor<4xf32> {cleave.name = "z", cleave.sharding = #cleave.sharding<[[]]>}) {
    // expected-error @+1 {{shard.process_linear_index has no rule here; expected a collective that makes one tensor of one}}
    %rank = shard.process_linear_index on @mesh {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : index
    // Its root is told to have no rule already.
    %0 = shard.broadcast %x on @mesh grid_axes = [0] root = [%rank] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : (tensor<4xf32>, index) -> tensor<4xf32>
    // expected-error @+1 {{input 'x' is whole; shard.shift in @infer is a collective without a rule here}}
    %1 = shard.shift %x on @mesh grid_axes = [0] shift_axis = 0 offset = 1 {cleave.instance = 2 : i64, cleave.reason = {made = "m", tensor = "r", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----
// Random numbers whose place is right on the ranks 0, 1, 2, 4 and 7, where c (c - 1) (c - 2) (c - 4) (c - 7) is 0, and wrong on the others.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [8]>} {
  shard.grid @mesh(shape = 8)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %one = cleave.constant dense<1> : tensor<i64>
    %two = cleave.constant dense<2> : tensor<i64>
    %four = cleave.constant dense<4> : tensor<i64>
    %seven = cleave.constant dense<7> : tensor<i64>
    %zero = cleave.constant dense<0> : tensor<1xi64>
    %c1 = cleave.sub %c, %one : tensor<i64>
    %c2 = cleave.sub %c, %two : tensor<i64>
    %c4 = cleave.sub %c, %four : tensor<i64>
    %c7 = cleave.sub %c, %seven : tensor<i64>
    %p1 = cleave.mul %c, %c1 : tensor<i64>
    %p2 = cleave.mul %p1, %c2 : tensor<i64>
    %p4 = cleave.mul %p2, %c4 : tensor<i64>
    %p7 = cleave.mul %p4, %c7 : tensor<i64>
    %0 = cleave.mul %c, %four : tensor<i64>
    %1 = cleave.add %0, %p7 : tensor<i64>
    %2 = cleave.reshape %1 : tensor<i64> -> tensor<1xi64>
    %3 = cleave.concat %2, %zero dim = 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
    // expected-error @+1 {{takes it for the place of the rank's part, and it is not}}
    %4 = cleave.random_uniform %s, %s origin %3 : tensor<2xi64> {global_shape = array<i64: 32, 8>, site = 0 : i64} : tensor<i64>, tensor<i64> -> tensor<4x8xf32>
    return
  }
}

// -----
// Random numbers whose place is right if a number that all ranks share is 3.
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp"], [2]>} {
  shard.grid @mesh(shape = 2)
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>, storage = #cleave.sharding<[]>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}
  func.func @infer(%s: tensor<i64> {cleave.name = "s", cleave.sharding = #cleave.sharding<[]>}) {
    %c = cleave.read @coordinate.dp : tensor<i64>
    %zero = cleave.constant dense<0> : tensor<1xi64>
    %0 = cleave.mul %c, %s : tensor<i64>
    %1 = cleave.reshape %0 : tensor<i64> -> tensor<1xi64>
    %2 = cleave.concat %1, %zero dim = 0 : tensor<1xi64>, tensor<1xi64> -> tensor<2xi64>
    // expected-error @+1 {{takes it for the place of the rank's part, and it is not}}
    %3 = cleave.random_uniform %s, %s origin %2 : tensor<2xi64> {global_shape = array<i64: 6, 8>, site = 0 : i64} : tensor<i64>, tensor<i64> -> tensor<3x8xf32>
    return
  }
}
