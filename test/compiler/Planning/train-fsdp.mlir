// RUN: cleave-opt %s --flatten-programs --build-plan --verify-plan | FileCheck %s
// RUN: cleave-opt %s --flatten-programs --build-plan="forward-prefetch=false backward-prefetch=none" --verify-plan | FileCheck %s --check-prefix=USE
// RUN: cleave-opt %s --flatten-programs --build-plan="backward-prefetch=post" --verify-plan | FileCheck %s --check-prefix=POST
// RUN: cleave-opt %s --flatten-programs --build-plan="gathers-in-flight=3" --verify-plan | FileCheck %s --check-prefix=THREE
// RUN: cleave-opt %s -pass-pipeline="builtin.module(flatten-programs,func.func(share-gathers),build-plan,verify-plan)" | FileCheck %s --check-prefix=KEPT
// RUN: not cleave-opt %s --flatten-programs --build-plan="gathers-in-flight=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: sed -e 's/\[2, 2\]>, cleave.micro/[512, 2]>, cleave.micro/' -e 's/shape = 2x2/shape = 512x2/' %s | cleave-opt --planning-pipeline | grep -c "plan[.]" > %t.many
// RUN: cleave-opt %s --planning-pipeline | grep -c "plan[.]" | diff - %t.many

// Gathers are pure in the shard dialect; their instances keep canonicalize and CSE from merging them. The plan is the same to the
// last instruction, and so is its peak.
// RUN: cleave-opt %s --flatten-programs --build-plan > %t.plain
// RUN: cleave-opt %s --flatten-programs --canonicalize --cse --build-plan > %t.cleaned
// RUN: diff %t.plain %t.cleaned

// Three layers over dp = 2 x fsdp = 2, each a unit. Forward gathers a unit, computes, and frees it; backward gathers it again (not the
// first one, whose input needs no gradient), and scatters its gradient, whose parts the update sums over dp.

#split = #cleave.sharding<[["fsdp"]]>
#summed = #cleave.sharding<[["fsdp"]], partial = ["dp"]>
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "fsdp"], [2, 2]>, cleave.micro_batches = 1 : i64} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @w0 : tensor<4096xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w0", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g0 : tensor<4096xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #summed,
    segments = [#cleave.segment<"w0", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w1 : tensor<4096xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w1", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g1 : tensor<4096xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #summed,
    segments = [#cleave.segment<"w1", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @w2 : tensor<4096xf32> {role = #cleave.role<parameter>, storage = #split,
    segments = [#cleave.segment<"w2", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @g2 : tensor<4096xf32> {role = #cleave.role<gradient>, slot = "grad", storage = #summed,
    segments = [#cleave.segment<"w2", tensor<64x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%a0: tensor<8x64xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>) {
    %r0 = cleave.read @w0 : tensor<2048xf32>
    %f0 = shard.all_gather %r0 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<2048xf32> -> tensor<4096xf32>
    %w0 = cleave.reshape %f0 : tensor<4096xf32> -> tensor<64x64xf32>
    %a1 = cleave.matmul %a0, %w0 : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %r1 = cleave.read @w1 : tensor<2048xf32>
    %f1 = shard.all_gather %r1 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<2048xf32> -> tensor<4096xf32>
    %w1 = cleave.reshape %f1 : tensor<4096xf32> -> tensor<64x64xf32>
    %a2 = cleave.matmul %a1, %w1 : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %r2 = cleave.read @w2 : tensor<2048xf32>
    %f2 = shard.all_gather %r2 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<2048xf32> -> tensor<4096xf32>
    %w2 = cleave.reshape %f2 : tensor<4096xf32> -> tensor<64x64xf32>
    %a3 = cleave.matmul %a2, %w2 : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    return %a1, %a2, %a3 : tensor<8x64xf32>, tensor<8x64xf32>, tensor<8x64xf32>
  }

  func.func @c0.bwd(%a1: tensor<8x64xf32> {cleave.residual = 0 : i64}, %a2: tensor<8x64xf32> {cleave.residual = 1 : i64}, %a3: tensor<8x64xf32> {cleave.residual = 2 : i64},
                    %a0: tensor<8x64xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) attributes {cleave.backward_of = @c0.fwd} {
    %m2 = cleave.matmul %a2, %a3 {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %b2 = cleave.reshape %m2 : tensor<64x64xf32> -> tensor<4096xf32>
    %s2 = shard.reduce_scatter %b2 on @mesh grid_axes = [1] scatter_axis = 0 {cleave.instance = 3 : i64} : tensor<4096xf32> -> tensor<2048xf32>
    cleave.write %s2, @g2 : tensor<2048xf32>
    %r12 = cleave.read @w2 : tensor<2048xf32>
    %f12 = shard.all_gather %r12 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 4 : i64} : tensor<2048xf32> -> tensor<4096xf32>
    %w12 = cleave.reshape %f12 : tensor<4096xf32> -> tensor<64x64xf32>
    %d2 = cleave.matmul %a3, %w12 {transpose_rhs} : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %m1 = cleave.matmul %a1, %d2 {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %b1 = cleave.reshape %m1 : tensor<64x64xf32> -> tensor<4096xf32>
    %s1 = shard.reduce_scatter %b1 on @mesh grid_axes = [1] scatter_axis = 0 {cleave.instance = 5 : i64} : tensor<4096xf32> -> tensor<2048xf32>
    cleave.write %s1, @g1 : tensor<2048xf32>
    %r11 = cleave.read @w1 : tensor<2048xf32>
    %f11 = shard.all_gather %r11 on @mesh grid_axes = [1] gather_axis = 0 {cleave.instance = 6 : i64} : tensor<2048xf32> -> tensor<4096xf32>
    %w11 = cleave.reshape %f11 : tensor<4096xf32> -> tensor<64x64xf32>
    %d1 = cleave.matmul %d2, %w11 {transpose_rhs} : tensor<8x64xf32>, tensor<64x64xf32> -> tensor<8x64xf32>
    %m0 = cleave.matmul %a0, %d1 {transpose_lhs} : tensor<8x64xf32>, tensor<8x64xf32> -> tensor<64x64xf32>
    %b0 = cleave.reshape %m0 : tensor<64x64xf32> -> tensor<4096xf32>
    %s0 = shard.reduce_scatter %b0 on @mesh grid_axes = [1] scatter_axis = 0 {cleave.instance = 7 : i64} : tensor<4096xf32> -> tensor<2048xf32>
    cleave.write %s0, @g0 : tensor<2048xf32>
    return
  }

  func.func @update() {
    %w0 = cleave.read @w0 : tensor<2048xf32>
    %g0 = cleave.read @g0 : tensor<2048xf32>
    %h0 = shard.all_reduce %g0 on @mesh grid_axes = [0] {cleave.instance = 8 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n0 = cleave.kernel ins(%w0, %h0 : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<2048xf32>, %g: tensor<2048xf32>):
      %n = cleave.sub %w, %g : tensor<2048xf32>
      cleave.yield %n : tensor<2048xf32>
    }
    cleave.write %n0, @w0 : tensor<2048xf32>
    %w1 = cleave.read @w1 : tensor<2048xf32>
    %g1 = cleave.read @g1 : tensor<2048xf32>
    %h1 = shard.all_reduce %g1 on @mesh grid_axes = [0] {cleave.instance = 9 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n1 = cleave.kernel ins(%w1, %h1 : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<2048xf32>, %g: tensor<2048xf32>):
      %n = cleave.sub %w, %g : tensor<2048xf32>
      cleave.yield %n : tensor<2048xf32>
    }
    cleave.write %n1, @w1 : tensor<2048xf32>
    %w2 = cleave.read @w2 : tensor<2048xf32>
    %g2 = cleave.read @g2 : tensor<2048xf32>
    %h2 = shard.all_reduce %g2 on @mesh grid_axes = [0] {cleave.instance = 10 : i64} : tensor<2048xf32> -> tensor<2048xf32>
    %n2 = cleave.kernel ins(%w2, %h2 : tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32> attributes {label = "sgd", tied = array<i64: 0>} {
    ^bb0(%w: tensor<2048xf32>, %g: tensor<2048xf32>):
      %n = cleave.sub %w, %g : tensor<2048xf32>
      cleave.yield %n : tensor<2048xf32>
    }
    cleave.write %n2, @w2 : tensor<2048xf32>
    return
  }
}

// CHECK: plan.header {{.*}} streams = ["compute", "reduce", "gather"]
// CHECK: plan.program @train_step entry {{.*}}gathered = 32768 : i64, unreduced = 32768 : i64
//      The first two units. The own part is put at its place, which the coordinate on fsdp decides.
// CHECK: plan.copy <"transient", 0, 8192, write, share of @group.fsdp by 8192>, <"persistent", 0, 8192, read> on "gather"
// CHECK-NEXT: plan.all_gather <"transient", 0, 16384, read_write> group @group.fsdp dtype f32 ring count = 4096 on "gather"
// CHECK-NEXT: plan.record [[U0:[0-9]+]] on "gather"
// CHECK-NEXT: plan.copy <"transient", 16384, 8192, write, share of @group.fsdp by 8192>, <"persistent", 16384, 8192, read> on "gather"
// CHECK-NEXT: plan.all_gather <"transient", 16384, 16384, read_write>
// CHECK: plan.wait [[U0]] on "compute"
// CHECK-NEXT: plan.launch @matmul.0
//      The third unit takes the first one's bytes, when that has computed and before the second one does.
// CHECK-NEXT: plan.record [[C0:[0-9]+]] on "compute"
// CHECK-NEXT: plan.wait [[C0]] on "gather"
// CHECK-NEXT: plan.copy <"transient", 0, 8192, write, share of @group.fsdp by 8192>
// CHECK-NEXT: plan.all_gather <"transient", 0, 16384, read_write>
// CHECK: plan.launch @matmul.0
//      A gradient's bucket is scattered in place; the rank's share goes to the state, and the bucket is free.
// CHECK: plan.launch @matmul.1 {{.*}}#plan.buffer<"transient", [[B:[0-9]+]], 16384, write>
// CHECK: plan.reduce_scatter sum <"transient", [[B]], 16384, read_write> staging <"communication", 0, 8192, write> group @group.fsdp dtype f32 ring count = 4096 on "reduce"
// CHECK-NEXT: plan.copy <"persistent", 40960, 8192, write>, <"transient", [[B]], 8192, read, share of @group.fsdp by 8192> on "reduce"
// CHECK-NEXT: plan.record [[R:[0-9]+]] on "reduce"
// CHECK-NEXT: plan.all_reduce sum <"persistent", 40960, 8192, read_write> staging <"communication", 0, 4096, write> group @group.dp
//      The third bucket is begun when the first is scattered: two unreduced at a time.
// CHECK: plan.reduce_scatter
// CHECK: plan.wait [[R]] on "compute"
// CHECK-NEXT: plan.launch @matmul.1
// CHECK: plan.reduce_scatter
// CHECK: plan.launch @sgd [#plan.buffer<"persistent", 0, 8192, read>, #plan.buffer<"persistent", 8192, 8192, read>, #plan.buffer<"persistent", 0, 8192, write>]

// Without prefetch each gather waits for the compute before its use, and one unit is held.
// USE: gathered = 16384 : i64
// USE: plan.all_gather
// USE-NOT: plan.all_gather
// USE: plan.launch @matmul.0
// USE: plan.record [[C:[0-9]+]] on "compute"
// USE-NEXT: plan.wait [[C]] on "gather"
// USE: plan.all_gather
// USE-NOT: plan.all_gather
// USE: plan.launch @matmul.0

// Behind the unit before: its input's gradient is computed, its parameters' is not.
// POST: plan.launch @matmul.2
// POST-NEXT: plan.record [[C:[0-9]+]] on "compute"
// POST: plan.wait [[C]] on "gather"
// POST: plan.all_gather
// POST: plan.launch @matmul.1

// THREE: gathered = 49152 : i64
// THREE-COUNT-3: plan.all_gather
// THREE: plan.launch @matmul.0

// Gathered once: three gathers instead of five, those of backward held from forward on.
// KEPT: gathered = 32768 : i64
// KEPT-COUNT-3: plan.all_gather
// KEPT-NOT: plan.all_gather

// ZERO: expected at least one gather in flight; got: 0
