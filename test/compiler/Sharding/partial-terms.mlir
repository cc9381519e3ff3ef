// RUN: cleave-opt %s --split-input-file --assign-shardings --partition --canonicalize --cse --verify-sharded | FileCheck %s

// A sum over ranks passes every op that is linear in its floating-point operands together, whatever other operands it has, and reaches
// the gradient's state as terms. (Every function's collectives are counted between its label and the next one.)

// An embedding whose rows do not depend on the sample (positions): its updates are summed over the batch first, and so partial; the one
// whose rows do (tokens) has updates that are split. Masks, casts and views lie on the way.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"positions", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"tokens", tensor<8x4xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<64xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"positions", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"tokens", tensor<8x4xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @c0.bwd
  // CHECK-NOT: shard.
  // CHECK: cleave.put_add {{.*}} : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>
  // CHECK-NOT: shard.
  // CHECK: cleave.put_add {{.*}} : tensor<8x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  // CHECK-NOT: shard.
  // CHECK: cleave.write {{.*}}, @g
  func.func @c0.bwd(%dy: tensor<4x3x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}, %tokens: tensor<4x3xi64> {cleave.name = "tokens", cleave.batch_dim = 0 : i64}) {
    %zeros = cleave.constant dense<0.0> : tensor<8x4xf32>
    %places = cleave.iota dim = 0 : tensor<3xi64>
    %two = cleave.constant dense<2> : tensor<3xi64>
    %early = cleave.compare lt %places, %two : tensor<3xi64>
    %mask = cleave.broadcast %early, [0] : tensor<3xi1> -> tensor<3x4xi1>
    %none = cleave.constant dense<0.0> : tensor<3x4xf32>
    %sum = cleave.reduce sum %dy, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %masked = cleave.select %mask, %sum, %none : tensor<3x4xi1>, tensor<3x4xf32>
    %narrow = cleave.cast %masked : tensor<3x4xf32> -> tensor<3x4xbf16>
    %wide = cleave.cast %narrow : tensor<3x4xbf16> -> tensor<3x4xf32>
    %dpositions = cleave.put_add %zeros, %places, %wide, dim = 0 : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>
    %dtokens = cleave.put_add %zeros, %tokens, %dy, dim = 0 : tensor<8x4xf32>, tensor<4x3xi64>, tensor<4x3x4xf32>
    %a = cleave.reshape %dpositions : tensor<8x4xf32> -> tensor<32xf32>
    %b = cleave.reshape %dtokens : tensor<8x4xf32> -> tensor<32xf32>
    %all = cleave.concat %a, %b dim = 0 : tensor<32xf32>, tensor<32xf32> -> tensor<64xf32>
    cleave.write %all, @g : tensor<64xf32>
    return
  }
  // CHECK-LABEL: func @update
  // CHECK: shard.all_reduce
  // CHECK-NOT: shard.all_reduce
  func.func @update() {
    %g = cleave.read @g : tensor<64xf32>
    %square = cleave.mul %g, %g : tensor<64xf32>
    cleave.write %square, @w : tensor<64xf32>
    return
  }
}

// -----
// Updates that ranks have samples of, added to a table that is partial already: the op sums over the samples itself, and each rank adds
// its own part of the table.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  cleave.state @w : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<8x4xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @c0.bwd
  // CHECK-NOT: shard.
  // CHECK: cleave.put_add {{.*}} : tensor<8x4xf32>, tensor<2x3xi64>, tensor<2x3x4xf32>
  // CHECK-NOT: shard.
  // CHECK: cleave.write {{.*}}, @g
  func.func @c0.bwd(%dy: tensor<4x8x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}, %du: tensor<4x3x4xf32> {cleave.name = "du", cleave.batch_dim = 0 : i64},
                    %tokens: tensor<4x3xi64> {cleave.name = "tokens", cleave.batch_dim = 0 : i64}) {
    %table = cleave.reduce sum %dy, [0] : tensor<4x8x4xf32> -> tensor<8x4xf32>
    %sum = cleave.put_add %table, %tokens, %du, dim = 0 : tensor<8x4xf32>, tensor<4x3xi64>, tensor<4x3x4xf32>
    cleave.write %sum, @g : tensor<8x4xf32>
    return
  }
  // CHECK-LABEL: func @update
  func.func @update() {
    %g = cleave.read @g : tensor<8x4xf32>
    %square = cleave.mul %g, %g : tensor<8x4xf32>
    cleave.write %square, @w : tensor<8x4xf32>
    return
  }
}

// -----
// Not linear together: a table that all ranks have would be added once a rank, and terms of one update may not go where other ranks'
// indices say. The updates are reduced first.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  // CHECK-LABEL: func @whole_table
  // CHECK: %[[SUM:.*]] = shard.all_reduce {{.*}}tensor<3x4xf32>
  // CHECK: cleave.put_add {{.*}}, %[[SUM]], dim = 0
  // CHECK-NOT: shard.
  func.func @whole_table(%dy: tensor<4x3x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}, %table: tensor<8x4xf32> {cleave.name = "table"},
                         %places: tensor<3xi64> {cleave.name = "places"}) -> (tensor<8x4xf32> {cleave.name = "y"}) {
    %sum = cleave.reduce sum %dy, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %0 = cleave.put_add %table, %places, %sum, dim = 0 : tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>
    return %0 : tensor<8x4xf32>
  }

  // CHECK-LABEL: func @split_indices
  // CHECK: %[[PART:.*]] = shard.reduce_scatter {{.*}}tensor<4x4xf32> -> tensor<2x4xf32>
  // CHECK: cleave.put_add {{.*}}, %[[PART]], dim = 0
  // CHECK: shard.all_reduce {{.*}}tensor<8x4xf32>
  func.func @split_indices(%dy: tensor<6x4x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}, %places: tensor<4xi64> {cleave.name = "places", cleave.batch_dim = 0 : i64})
      -> (tensor<8x4xf32> {cleave.name = "y"}) {
    %zeros = cleave.constant dense<0.0> : tensor<8x4xf32>
    %sum = cleave.reduce sum %dy, [0] : tensor<6x4x4xf32> -> tensor<4x4xf32>
    %0 = cleave.put_add %zeros, %places, %sum, dim = 0 : tensor<8x4xf32>, tensor<4xi64>, tensor<4x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----
// Terms that an op makes more of lie in the bucket with others, and all of it is reduced in any case: rows that the model takes of a table
// (pad), and a parameter of which it takes the sum (broadcast). An earlier micro-batch's sum comes to them as it is stored.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 2 : i64} {
  cleave.state @w : tensor<96xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"shift", tensor<32xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"bias", tensor<4xf32>, offset = 64, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<96xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"shift", tensor<32xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>,
    #cleave.segment<"bias", tensor<4xf32>, offset = 64, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @c0.bwd
  // CHECK-NOT: shard.
  // CHECK: cleave.write {{.*}}, @g
  func.func @c0.bwd(%dy: tensor<4x3x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}) {
    %old = cleave.read @g : tensor<96xf32>
    %rows = cleave.reduce sum %dy, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %dtable = cleave.pad %rows, [1, 0], [4, 0], [0, 0], value = 0.0 : tensor<3x4xf32> -> tensor<8x4xf32>
    %sum = cleave.reduce sum %dy, [0, 1, 2] : tensor<4x3x4xf32> -> tensor<f32>
    %dshift = cleave.broadcast %sum, [] : tensor<f32> -> tensor<32xf32>
    %dbias = cleave.reduce sum %dy, [0, 1] : tensor<4x3x4xf32> -> tensor<4xf32>
    %a = cleave.reshape %dtable : tensor<8x4xf32> -> tensor<32xf32>
    %gap = cleave.constant dense<0.0> : tensor<28xf32>
    %all = cleave.concat %a, %dshift, %dbias, %gap dim = 0 : tensor<32xf32>, tensor<32xf32>, tensor<4xf32>, tensor<28xf32> -> tensor<96xf32>
    %new = cleave.add %old, %all : tensor<96xf32>
    cleave.write %new, @g : tensor<96xf32>
    return
  }
  // CHECK-LABEL: func @update
  // CHECK: shard.all_reduce {{.*}}tensor<96xf32>
  // CHECK-NOT: shard.all_reduce
  func.func @update() {
    %g = cleave.read @g : tensor<96xf32>
    %square = cleave.mul %g, %g : tensor<96xf32>
    cleave.write %square, @w : tensor<96xf32>
    return
  }
}

// -----
// Alone in its accumulator the sum of fewer rows is sent, unless each of many micro-batches would send it (@often).
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 2 : i64} {
  cleave.state @w : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<8x4xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @often : tensor<8x4xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"often", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @c0.bwd
  // CHECK: %[[SUM:.*]] = shard.all_reduce {{.*}}tensor<3x4xf32>
  // CHECK: cleave.pad %[[SUM]]
  // CHECK-NOT: shard.
  // CHECK: cleave.write {{.*}}, @often
  func.func @c0.bwd(%dy: tensor<4x3x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64},
                    %dz: tensor<4x5x4xf32> {cleave.name = "dz", cleave.batch_dim = 0 : i64}) {
    %rows = cleave.reduce sum %dy, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %dtable = cleave.pad %rows, [0, 0], [5, 0], [0, 0], value = 0.0 : tensor<3x4xf32> -> tensor<8x4xf32>
    cleave.write %dtable, @g : tensor<8x4xf32>
    %more = cleave.reduce sum %dz, [0] : tensor<4x5x4xf32> -> tensor<5x4xf32>
    %doften = cleave.pad %more, [0, 0], [3, 0], [0, 0], value = 0.0 : tensor<5x4xf32> -> tensor<8x4xf32>
    cleave.write %doften, @often : tensor<8x4xf32>
    return
  }
  // CHECK-LABEL: func @update
  // CHECK: shard.all_reduce {{.*}}tensor<8x4xf32>
  // CHECK-NOT: shard.all_reduce
  func.func @update() {
    %g = cleave.read @g : tensor<8x4xf32>
    %o = cleave.read @often : tensor<8x4xf32>
    %product = cleave.mul %g, %o : tensor<8x4xf32>
    cleave.write %product, @w : tensor<8x4xf32>
    return
  }
}

// -----
// What is no gradient's way has no bucket: the sum is made before it is padded. So it is where terms meet what all ranks have.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 1 : i64} {
  cleave.state @w : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g : tensor<8x4xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"table", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  // CHECK-LABEL: func @activation
  // CHECK: shard.all_reduce {{.*}}tensor<3x4xf32>
  // CHECK: cleave.pad
  // CHECK-NOT: shard.
  func.func @activation(%x: tensor<4x3x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<8x4xf32> {cleave.name = "y"}) {
    %sum = cleave.reduce sum %x, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %y = cleave.pad %sum, [0, 0], [5, 0], [0, 0], value = 0.0 : tensor<3x4xf32> -> tensor<8x4xf32>
    return %y : tensor<8x4xf32>
  }
  // CHECK-LABEL: func @c0.bwd
  // CHECK: shard.all_reduce {{.*}}tensor<3x4xf32>
  // CHECK: cleave.pad
  // CHECK-NOT: shard.
  func.func @c0.bwd(%dy: tensor<4x3x4xf32> {cleave.name = "dy", cleave.batch_dim = 0 : i64}, %decay: tensor<8x4xf32> {cleave.name = "decay"}) {
    %rows = cleave.reduce sum %dy, [0] : tensor<4x3x4xf32> -> tensor<3x4xf32>
    %dtable = cleave.pad %rows, [0, 0], [5, 0], [0, 0], value = 0.0 : tensor<3x4xf32> -> tensor<8x4xf32>
    %sum = cleave.add %dtable, %decay : tensor<8x4xf32>
    cleave.write %sum, @g : tensor<8x4xf32>
    return
  }
  // CHECK-LABEL: func @update
  // CHECK-NOT: shard.
  func.func @update() {
    %g = cleave.read @g : tensor<8x4xf32>
    %square = cleave.mul %g, %g : tensor<8x4xf32>
    cleave.write %square, @w : tensor<8x4xf32>
    return
  }
}
