// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(combine-reductions))' | FileCheck %s
// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(combine-reductions{small-bytes=48}))' | FileCheck %s --check-prefix=SMALL
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @mean : tensor<4xf32> {role = #cleave.role<buffer>, storage = #cleave.sharding<[[]]>,
    segments = [#cleave.segment<"mean", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @other : tensor<2x10xf32> {role = #cleave.role<buffer>, storage = #cleave.sharding<[[], []]>,
    segments = [#cleave.segment<"other", tensor<2x10xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

  // Two running statistics: 4 numbers, 12 zeros up to the next 64 bytes, 20 numbers and 12 zeros. The write of the first one, which
  // stood before the second one's reduction, stands behind both.
  // CHECK-LABEL: func @statistics
  // CHECK-NOT: shard.all_reduce
  // CHECK: %[[ALL:.*]] = cleave.concat {{.*}} dim = 0 : tensor<4xf32>, tensor<12xf32>, tensor<20xf32>, tensor<12xf32> -> tensor<48xf32>
  // CHECK: %[[SUM:.*]] = shard.all_reduce %[[ALL]] on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "a and 1 more", used = "u"}} : tensor<48xf32> -> tensor<48xf32>
  // CHECK: cleave.slice %[[SUM]], [16], [20], [1]
  // CHECK: cleave.slice %[[SUM]], [0], [4], [1]
  // CHECK: cleave.write {{.*}}, @mean
  // CHECK: cleave.write {{.*}}, @other
  // CHECK-NOT: shard.

  // The second one is larger than what is combined.
  // SMALL-LABEL: func @statistics
  // SMALL: shard.all_reduce {{.*}} : tensor<4xf32>
  // SMALL: shard.all_reduce {{.*}} : tensor<2x10xf32>
  // SMALL-LABEL: func @chained
  func.func @statistics(%x: tensor<8x4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[["dp"], []]>},
                        %y: tensor<8x2x10xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[["dp"], [], []]>}) {
    %0 = cleave.reduce sum %x, [0] : tensor<8x4xf32> -> tensor<4xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %c = cleave.add %a, %a : tensor<4xf32>
    cleave.write %c, @mean : tensor<4xf32>
    %1 = cleave.reduce sum %y, [0] : tensor<8x2x10xf32> -> tensor<2x10xf32>
    %b = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<2x10xf32> -> tensor<2x10xf32>
    cleave.write %b, @other : tensor<2x10xf32>
    return
  }

  // Each waits for the one before.
  // CHECK-LABEL: func @chained
  // CHECK: shard.all_reduce {{.*}}tensor = "a"
  // CHECK: shard.all_reduce {{.*}}tensor = "b"
  func.func @chained(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[[]]>}) -> tensor<4xf32> {
    %0 = cleave.exp %x : tensor<4xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %1 = cleave.exp %a : tensor<4xf32>
    %b = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %b : tensor<4xf32>
  }

  // Over other ranks, or by another kind.
  // CHECK-LABEL: func @unequal
  // CHECK-COUNT-3: shard.all_reduce {{.*}} : tensor<4xf32>
  // CHECK-NOT: shard.
  func.func @unequal(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = cleave.exp %x : tensor<4xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %b = shard.all_reduce %0 on @mesh grid_axes = [1] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %c = shard.all_reduce %0 on @mesh grid_axes = [0] reduction = max {cleave.instance = 2 : i64, cleave.reason = {made = "m", tensor = "c", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }

  // What a state holds, and what is laid end to end, are buckets already.
  // CHECK-LABEL: func @buckets
  // CHECK-COUNT-2: shard.all_reduce
  func.func @buckets(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = cleave.read @mean : tensor<4xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %1 = cleave.concat %x, %x dim = 0 : tensor<4xf32>, tensor<4xf32> -> tensor<8xf32>
    %b = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<8xf32> -> tensor<8xf32>
    return %a, %b : tensor<4xf32>, tensor<8xf32>
  }

  // So is what is computed of them element by element: a rank's own parts of two sums, added.
  // CHECK-LABEL: func @sums_of_states
  // CHECK-COUNT-2: shard.all_reduce {{.*}} : tensor<4xf32>
  // CHECK-NOT: cleave.concat
  func.func @sums_of_states() -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = cleave.read @mean : tensor<4xf32>
    %1 = cleave.add %0, %0 : tensor<4xf32>
    %a = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    %2 = cleave.neg %1 : tensor<4xf32>
    %b = shard.all_reduce %2 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %a, %b : tensor<4xf32>, tensor<4xf32>
  }

  // Parts stay alone: [2] and [4] of two wholes, end to end, are no part of the wholes end to end.
  // CHECK-LABEL: func @parts
  // CHECK: shard.all_reduce {{.*}} : tensor<2xf32>
  // CHECK: shard.all_reduce {{.*}} : tensor<4xf32>
  // CHECK-NOT: cleave.concat
  func.func @parts(%x: tensor<2xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[["fsdp"]]>},
                   %y: tensor<4xf32> {cleave.name = "y", cleave.sharding = #cleave.sharding<[["fsdp"]]>}) -> (tensor<2xf32>, tensor<4xf32>) {
    %0 = cleave.exp %x : tensor<2xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.part, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<2xf32> -> tensor<2xf32>
    %1 = cleave.exp %y : tensor<4xf32>
    %b = shard.all_reduce %1 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.part, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %a, %b : tensor<2xf32>, tensor<4xf32>
  }

  // A read between must see what was written.
  // CHECK-LABEL: func @read_between
  // CHECK: shard.all_reduce {{.*}}tensor = "a"
  // CHECK: cleave.write {{.*}}, @mean
  // CHECK: cleave.read @mean
  // CHECK: shard.all_reduce {{.*}}tensor = "b"
  func.func @read_between(%x: tensor<4xf32> {cleave.name = "x", cleave.sharding = #cleave.sharding<[[]]>}) -> (tensor<4xf32>, tensor<4xf32>) {
    %0 = cleave.exp %x : tensor<4xf32>
    %a = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 0 : i64, cleave.reason = {made = "m", tensor = "a", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    cleave.write %a, @mean : tensor<4xf32>
    %1 = cleave.read @mean : tensor<4xf32>
    %b = shard.all_reduce %0 on @mesh grid_axes = [0] {cleave.instance = 1 : i64, cleave.reason = {made = "m", tensor = "b", used = "u"}} : tensor<4xf32> -> tensor<4xf32>
    return %1, %b : tensor<4xf32>, tensor<4xf32>
  }
}
