// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=full-shard" --partition --verify-sharded | FileCheck %s --check-prefixes=FULL
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=zero-2" --partition --verify-sharded | FileCheck %s --check-prefixes=ZERO2
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=zero-1" --partition --verify-sharded | FileCheck %s --check-prefixes=ZERO1
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=no-shard" --partition --verify-sharded | FileCheck %s --check-prefixes=NONE
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=full-shard grad-sync=last" --partition --verify-sharded | FileCheck %s --check-prefixes=LAST
// RUN: cleave-opt %s --assign-shardings="fsdp-strategy=no-shard grad-sync=every" --partition --verify-sharded | FileCheck %s --check-prefixes=EVERY
// RUN: not cleave-opt %s --assign-shardings="fsdp-strategy=zero-4" 2>&1 | FileCheck %s --check-prefix=BAD
// RUN: cleave-opt %s --assign-shardings="dp-sync=parameter-server data-axes=dp" --partition --verify-sharded | FileCheck %s --check-prefixes=SERVER
// RUN: not cleave-opt %s --assign-shardings="dp-sync=gossip" 2>&1 | FileCheck %s --check-prefix=BADSYNC
// RUN: not cleave-opt %s --assign-shardings="grad-sync=never" 2>&1 | FileCheck %s --check-prefix=SYNC

// One training step over dp=2 x fsdp=2, stored by each strategy (StateStorage.h): what is gathered, scattered and
// reduced is the difference of stored and used, and nothing else.
// BAD: expected full-shard, shard-grad-op, zero-1, zero-2, zero-3 or no-shard; got: zero-4
// SYNC: expected every or last; got: never
// BADSYNC: expected all-reduce or parameter-server; got: gossip

// Parameters are gathered in each function, gradients scattered where they are added; in @update only the parts' sums
// over dp cross ranks.
// FULL: cleave.state @p {{.*}}storage = #cleave.sharding<{{\[\["fsdp"\]\]}}>
// FULL: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\["fsdp"\]\]}}, partial = ["dp"]>
// FULL: cleave.state @p.m {{.*}}storage = #cleave.sharding<{{\[\["fsdp"\]\]}}>
// FULL-LABEL: func @c0.fwd(
// FULL: shard.all_gather {{.*}}grid_axes = [1] gather_axis = 0{{.*}}tensor<32xf32> -> tensor<64xf32>
// FULL-LABEL: func @c0.bwd(
// FULL: shard.all_gather {{.*}}tensor<32xf32> -> tensor<64xf32>
// FULL: shard.reduce_scatter {{.*}}grid_axes = [1] scatter_axis = 0{{.*}}tensor<64xf32> -> tensor<32xf32>
// FULL: cleave.add {{.*}} : tensor<32xf32>
// FULL: cleave.write {{.*}}@p.grad : tensor<32xf32>
// FULL-LABEL: func @update
// FULL-NEXT: %[[G:.*]] = cleave.read @p.grad : tensor<32xf32>
// FULL: shard.all_reduce %[[G]] {{.*}}grid_axes = [0]{{.*}}tensor<32xf32> -> tensor<32xf32>
// FULL-NOT: shard.
// FULL: cleave.write {{.*}}@p : tensor<32xf32>

// Whole parameters: the updated part is gathered once.
// ZERO2: cleave.state @p {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}>
// ZERO2: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\["fsdp"\]\]}}, partial = ["dp"]>
// ZERO2: cleave.state @p.m {{.*}}storage = #cleave.sharding<{{\[\["fsdp"\]\]}}>
// ZERO2-LABEL: func @c0.fwd(
// ZERO2-NOT: shard.
// ZERO2-LABEL: func @c0.bwd(
// ZERO2: shard.reduce_scatter
// ZERO2-LABEL: func @update
// ZERO2: shard.all_reduce {{.*}}tensor<32xf32> -> tensor<32xf32>
// ZERO2: shard.all_slice {{.*}}tensor<64xf32> -> tensor<32xf32>
// ZERO2: %[[P:.*]] = shard.all_gather {{.*}}tensor<32xf32> -> tensor<64xf32>
// ZERO2: cleave.write %[[P]], @p : tensor<64xf32>

// Each rank's own gradient sum, scattered once.
// ZERO1: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}, partial = ["dp", "fsdp"]>
// ZERO1-LABEL: func @c0.bwd(
// ZERO1-NOT: shard.
// ZERO1-LABEL: func @update
// ZERO1: shard.reduce_scatter {{.*}}tensor<64xf32> -> tensor<32xf32>
// ZERO1: shard.all_reduce {{.*}}tensor<32xf32> -> tensor<32xf32>
// ZERO1: shard.all_gather

// A parameter server: the owner has the momentum, gradients are reduced to it, and the new parameters, whole everywhere,
// come from it.
// SERVER: module attributes {cleave.kinds = [{name = "server", where = {dp = array<i64: 0, 1>}}, {name = "worker", where = {dp = array<i64: 1, 2>}}]
// SERVER: cleave.state @p {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}>
// SERVER: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}, partial = ["dp"]>
// SERVER: cleave.state @p.m {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}, owner = ["dp"]>
// SERVER-LABEL: func @c0.bwd(
// SERVER-NOT: shard.
// SERVER-LABEL: func @update
// SERVER: %[[G:.*]] = shard.reduce %{{.*}} on @mesh grid_axes = [0] root = [0]
// SERVER: %[[M:.*]] = cleave.add %{{.*}}, %[[G]]
// SERVER: %[[P:.*]] = cleave.sub %{{.*}}, %[[M]]
// SERVER: %[[ALL:.*]] = shard.broadcast %[[P]] on @mesh grid_axes = [0] root = [0]
// SERVER-NOT: shard.
// SERVER-DAG: cleave.write %[[ALL]], @p
// SERVER-DAG: cleave.write %[[M]], @p.m

// DDP over both axes.
// NONE: cleave.state @p.m {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}>
// NONE-LABEL: func @c0.bwd(
// NONE-NOT: shard.
// NONE-LABEL: func @update
// NONE: shard.all_reduce {{.*}}grid_axes = [0, 1]{{.*}}tensor<64xf32> -> tensor<64xf32>
// NONE-NOT: shard.

// no_sync: gradients wait, whole, for the last micro-batch.
// LAST: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}, partial = ["dp", "fsdp"]>
// LAST-LABEL: func @c0.bwd(
// LAST-NOT: shard.reduce_scatter
// LAST-LABEL: func @update
// LAST: shard.reduce_scatter

// EVERY: cleave.state @p.grad {{.*}}storage = #cleave.sharding<{{\[\[\]\]}}>
// EVERY-LABEL: func @c0.bwd(
// EVERY: shard.all_reduce {{.*}}tensor<64xf32> -> tensor<64xf32>
// EVERY-LABEL: func @update
// EVERY-NOT: shard.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>, cleave.micro_batches = 2 : i64} {
  cleave.state @p : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<weights, source = "w">>]}
  cleave.state @p.grad : tensor<64xf32> {role = #cleave.role<gradient>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @p.m : tensor<64xf32> {role = #cleave.role<optimizer>, segments = [
    #cleave.segment<"w", tensor<4x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], slot = "momentum_buffer"}
  func.func @c0.fwd(%x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> tensor<8x6xf32> {
    %p = cleave.read @p : tensor<64xf32>
    %ws = cleave.slice %p, [0], [24], [1] : tensor<64xf32> -> tensor<24xf32>
    %w = cleave.reshape %ws : tensor<24xf32> -> tensor<4x6xf32>
    %0 = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    %1 = cleave.exp %0 : tensor<8x6xf32>
    return %1 : tensor<8x6xf32>
  }
  func.func @c0.bwd(%g: tensor<8x6xf32> {cleave.residual = 0 : i64}, %x: tensor<8x4xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %p = cleave.read @p : tensor<64xf32>
    %ws = cleave.slice %p, [0], [24], [1] : tensor<64xf32> -> tensor<24xf32>
    %w = cleave.reshape %ws : tensor<24xf32> -> tensor<4x6xf32>
    %h = cleave.matmul %x, %w : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
    %e = cleave.mul %g, %h : tensor<8x6xf32>
    %xt = cleave.transpose %x, [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
    %dw = cleave.matmul %xt, %e : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
    %flat = cleave.reshape %dw : tensor<4x6xf32> -> tensor<24xf32>
    %end = cleave.constant dense<0.0> : tensor<40xf32>
    %all = cleave.concat %flat, %end dim = 0 : tensor<24xf32>, tensor<40xf32> -> tensor<64xf32>
    %before = cleave.read @p.grad : tensor<64xf32>
    %after = cleave.add %before, %all : tensor<64xf32>
    cleave.write %after, @p.grad : tensor<64xf32>
    return
  }
  func.func @update() {
    %g = cleave.read @p.grad : tensor<64xf32>
    %m = cleave.read @p.m : tensor<64xf32>
    %p = cleave.read @p : tensor<64xf32>
    %m1 = cleave.add %m, %g : tensor<64xf32>
    %p1 = cleave.sub %p, %m1 : tensor<64xf32>
    cleave.write %p1, @p : tensor<64xf32>
    cleave.write %m1, @p.m : tensor<64xf32>
    return
  }
}
