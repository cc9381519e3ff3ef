// RUN: cleave-opt %s --planning-pipeline | FileCheck %s
// RUN: sed 's/cleave.write %alike, @seen/cleave.write %y, @seen/' %s > %t.mlir && not cleave-opt %t.mlir --planning-pipeline 2>&1 | FileCheck %s --check-prefix=DIFFERENT

// What all data ranks hold alike crosses to the next stage beside what each has of its own, on one channel. A state that all of them have takes
// the one, and not the other.

// CHECK: plan.recv {{.*}}channel 0
// CHECK: plan.recv {{.*}}channel 0
// DIFFERENT: replica: kind 'stage1': state 'seen' is the same on all ranks of axis 'dp', but
module attributes {cleave.level = "sharded", cleave.mesh = #cleave.mesh<["dp", "pp"], [2, 2]>, cleave.micro_batches = 1 : i64,
                   cleave.pipeline = {axis = "pp", schedule = "1f1b"}} {
  shard.grid @mesh(shape = 2x2)
  cleave.state @w0 : tensor<16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  cleave.state @g0 : tensor<16xf32> {role = #cleave.role<gradient>, segments = [#cleave.segment<"w0", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>], storage = #cleave.sharding<[[]], partial = ["dp"]>}
  cleave.state @seen : tensor<16xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"seen", tensor<16xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @c0.fwd(%x: tensor<16xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64, cleave.sharding = #cleave.sharding<[["dp"]]>})
      -> (tensor<16xf32> {cleave.edge = "c0:0"}, tensor<16xf32> {cleave.edge = "c0:1"}) {
    %w = cleave.read @w0 : tensor<16xf32>
    %y = cleave.kernel ins(%x, %w : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul0"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.mul %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    %alike = shard.all_reduce %y on @mesh grid_axes = [0] {cleave.instance = 0 : i64} : tensor<16xf32> -> tensor<16xf32>
    return %y, %alike : tensor<16xf32>, tensor<16xf32>
  }
  func.func @c0.bwd(%dy: tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c0.fwd} {
    cleave.write %dy, @g0 : tensor<16xf32>
    return
  }
  func.func @c1.fwd(%y: tensor<16xf32> {cleave.edge = "c0:0"}, %alike: tensor<16xf32> {cleave.edge = "c0:1"}) -> (tensor<16xf32>) {
    cleave.write %alike, @seen : tensor<16xf32>
    return %y : tensor<16xf32>
  }
  func.func @c1.bwd(%dy: tensor<16xf32> {cleave.residual = 0 : i64}) -> (tensor<16xf32> {cleave.edge = "c0:0.grad.c1"}) attributes {cleave.backward_of = @c1.fwd} {
    %dx = cleave.kernel ins(%dy : tensor<16xf32>) -> tensor<16xf32> attributes {label = "mul1"} {
    ^bb0(%p: tensor<16xf32>):
      %s = cleave.mul %p, %p : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    return %dx : tensor<16xf32>
  }
  func.func @update() {
    %g = cleave.read @g0 : tensor<16xf32>
    %r = shard.all_reduce %g on @mesh grid_axes = [0] {cleave.instance = 1 : i64} : tensor<16xf32> -> tensor<16xf32>
    %w = cleave.read @w0 : tensor<16xf32>
    %new = cleave.kernel ins(%w, %r : tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> attributes {label = "sub2"} {
    ^bb0(%p: tensor<16xf32>, %q: tensor<16xf32>):
      %s = cleave.sub %p, %q : tensor<16xf32>
      cleave.yield %s : tensor<16xf32>
    }
    cleave.write %new, @w0 : tensor<16xf32>
    return
  }
}
