// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(share-gathers))' | FileCheck %s
// CSE alone keeps both: each gather is an instance of its own.
// RUN: cleave-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CSE

// Forward and backward of one step gather the same unit; shard-grad-op keeps it.
module attributes {cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
shard.grid @mesh(shape = 2)
cleave.state @w : tensor<8xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[["fsdp"]]>,
  segments = [#cleave.segment<"w", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
// CHECK-LABEL: func.func @same
// CHECK: %[[G:.*]] = shard.all_gather
// CHECK-NOT: shard.all_gather
// CHECK: return %[[G]], %[[G]]
// CSE-LABEL: func.func @same
// CSE-COUNT-2: shard.all_gather
func.func @same() -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = shard.all_gather %0 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<4xf32> -> tensor<8xf32>
  %2 = cleave.read @w : tensor<4xf32>
  %3 = shard.all_gather %2 on @mesh grid_axes = [0] gather_axis = 0 {cleave.backward, cleave.instance = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// A write between them: the second gather sees other values.
// CHECK-LABEL: func.func @written
// CHECK-COUNT-2: shard.all_gather
func.func @written(%x: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = shard.all_gather %0 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<4xf32> -> tensor<8xf32>
  cleave.write %x, @w : tensor<4xf32>
  %2 = cleave.read @w : tensor<4xf32>
  %3 = shard.all_gather %2 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<4xf32> -> tensor<8xf32>
  return %1, %3 : tensor<8xf32>, tensor<8xf32>
}

// The same cast of the same part, and another one.
// CHECK-LABEL: func.func @cast
// CHECK-COUNT-2: shard.all_gather
// CHECK-NOT: shard.all_gather
// CHECK: return
func.func @cast() -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>) {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = cleave.cast %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = shard.all_gather %1 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %3 = cleave.read @w : tensor<4xf32>
  %4 = cleave.cast %3 : tensor<4xf32> -> tensor<4xbf16>
  %5 = shard.all_gather %4 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %6 = cleave.neg %3 : tensor<4xf32>
  %7 = cleave.cast %6 : tensor<4xf32> -> tensor<4xbf16>
  %8 = shard.all_gather %7 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  return %2, %5, %8 : tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>
}

// Kernels do the same where their labels are equal. The second one's is not run for nothing.
// CHECK-LABEL: func.func @kernels
// CHECK-COUNT-2: cleave.kernel
// CHECK-NOT: cleave.kernel
// CHECK: return
func.func @kernels() -> (tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>) {
  %0 = cleave.read @w : tensor<4xf32>
  %1 = cleave.kernel ins(%0 : tensor<4xf32>) -> tensor<4xbf16> attributes {label = "k0"} {
  ^bb0(%v: tensor<4xf32>):
    %n = cleave.cast %v : tensor<4xf32> -> tensor<4xbf16>
    cleave.yield %n : tensor<4xbf16>
  }
  %2 = shard.all_gather %1 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %3 = cleave.read @w : tensor<4xf32>
  %4 = cleave.kernel ins(%3 : tensor<4xf32>) -> tensor<4xbf16> attributes {label = "k0"} {
  ^bb0(%v: tensor<4xf32>):
    %n = cleave.cast %v : tensor<4xf32> -> tensor<4xbf16>
    cleave.yield %n : tensor<4xbf16>
  }
  %5 = shard.all_gather %4 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 1 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  %6 = cleave.kernel ins(%3 : tensor<4xf32>) -> tensor<4xbf16> attributes {label = "k1"} {
  ^bb0(%v: tensor<4xf32>):
    %n = cleave.neg %v : tensor<4xf32>
    %m = cleave.cast %n : tensor<4xf32> -> tensor<4xbf16>
    cleave.yield %m : tensor<4xbf16>
  }
  %7 = shard.all_gather %6 on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 2 : i64} : tensor<4xbf16> -> tensor<8xbf16>
  return %2, %5, %7 : tensor<8xbf16>, tensor<8xbf16>, tensor<8xbf16>
}
}
