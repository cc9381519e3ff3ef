// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK: module attributes {cleave.mesh = #cleave.mesh<["dp", "tp"], [2, 4]>}
module attributes {cleave.mesh = #cleave.mesh<["dp", "tp"], [2, 4]>} {
  // CHECK: cleave.state @w : tensor<128x64xf32>
  cleave.state @w : tensor<128x64xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>],
    storage = #cleave.sharding<[["dp"], []]>}
  // CHECK: cleave.state @bucket : tensor<1216xf32>
  cleave.state @bucket : tensor<1216xf32> {role = #cleave.role<optimizer>, slot = "exp_avg", segments = [
    #cleave.segment<"h.0.weight", tensor<32x32xf32>, offset = 0, group = 0, init = #cleave.init<weights, source = "h.0.weight">>,
    #cleave.segment<"h.0.bias", tensor<32xf32>, offset = 1024, group = 1, init = #cleave.init<constant, value = 1.0>, aliases = ["tied"]>]}
  cleave.state @coordinate.dp : tensor<i64> {role = #cleave.role<coordinate>,
    segments = [#cleave.segment<"coordinate.dp", tensor<i64>, offset = 0, group = 0, init = #cleave.init<coordinate, source = "dp">>]}

  // CHECK: storage = #cleave.sharding<{{\[\[}}]], partial = ["tp"], kind = max, owner = ["dp"]>
  cleave.state @m : tensor<8xf32> {role = #cleave.role<optimizer>, slot = "m",
    segments = [#cleave.segment<"m", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>],
    storage = #cleave.sharding<[[]], partial = ["tp"], kind = max, owner = ["dp"]>}
  // CHECK: storage = #cleave.sharding<{{\[\[}}]], owner = ["dp", "tp"]>
  cleave.state @v : tensor<8xf32> {role = #cleave.role<optimizer>, slot = "v",
    segments = [#cleave.segment<"v", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>],
    storage = #cleave.sharding<[[]], owner = ["dp", "tp"]>}

  // CHECK-LABEL: func @accesses
  func.func @accesses() {
    // CHECK: cleave.read @w : tensor<64x64xf32>
    %w = cleave.read @w : tensor<64x64xf32>
    %b = cleave.read @bucket : tensor<1216xf32>
    // CHECK: cleave.write %{{.*}}, @bucket : tensor<1216xf32>
    cleave.write %b, @bucket : tensor<1216xf32>
    return
  }

  // CHECK-LABEL: func @kernel
  func.func @kernel(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK: cleave.kernel ins(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = cleave.kernel ins(%a, %b : tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> attributes {label = "add_4", tied = array<i64: 0>} {
    ^bb0(%x: tensor<4xf32>, %z: tensor<4xf32>):
      %0 = cleave.add %x, %z : tensor<4xf32>
      // CHECK: cleave.yield %{{.*}} : tensor<4xf32>
      cleave.yield %0 : tensor<4xf32>
    }
    return %y : tensor<4xf32>
  }

  // One rank has no axes.
  // CHECK: module @one_rank attributes {cleave.mesh = #cleave.mesh<[], []>}
  module @one_rank attributes {cleave.mesh = #cleave.mesh<[], []>} {
  }
}
