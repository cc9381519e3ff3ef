// RUN: cleave-opt %s --assign-shardings --split-input-file --verify-diagnostics

// An op that works across samples is told of, once for all functions of a step and with the bytes of all micro-batches: here one forward and
// one backward, 2 * 6 * 4 bytes of each of the other three ranks. The transposed weights, parameters stored split and sums are not.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [4]>, cleave.micro_batches = 1 : i64} {
  func.func @c0.fwd(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<8x6xf32>, tensor<6xf32> {cleave.name = "sum"}) {
    // expected-remark @+1 {{cleave.slice needs all samples: 'tensor<8x6xf32>' is gathered over dp, 144 bytes sent by a rank a step}}
    %0 = cleave.slice %x, [1, 0], [7, 6], [1, 1] : tensor<8x6xf32> -> tensor<7x6xf32>
    %1 = cleave.reduce sum %0, [0] : tensor<7x6xf32> -> tensor<6xf32>
    return %x, %1 : tensor<8x6xf32>, tensor<6xf32>
  }
  func.func @c0.bwd(%x: tensor<8x6xf32> {cleave.residual = 0 : i64}) -> (tensor<6xf32> {cleave.name = "max"}) attributes {cleave.backward_of = @c0.fwd} {
    // expected-remark @+1 {{cleave.slice needs all samples: 'tensor<8x6xf32>' is gathered over dp, 144 bytes}}
    %0 = cleave.slice %x, [0, 0], [2, 6], [1, 1] : tensor<8x6xf32> -> tensor<2x6xf32>
    // The same form is made once.
    %1 = cleave.slice %x, [1, 0], [2, 6], [1, 1] : tensor<8x6xf32> -> tensor<2x6xf32>
    %2 = cleave.add %0, %1 : tensor<2x6xf32>
    %3 = cleave.reduce max %2, [0] : tensor<2x6xf32> -> tensor<6xf32>
    return %3 : tensor<6xf32>
  }
  func.func @evaluate(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<7x6xf32> {cleave.name = "y"}) {
    %0 = cleave.slice %x, [1, 0], [7, 6], [1, 1] : tensor<8x6xf32> -> tensor<7x6xf32>
    return %0 : tensor<7x6xf32>
  }
}

// -----
// With micro-batches each function counts as often as it runs.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["dp"], [2]>, cleave.micro_batches = 4 : i64} {
  func.func @c0.fwd.first(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<7x6xf32> {cleave.name = "y"}) {
    // expected-remark @+1 {{cleave.slice needs all samples: 'tensor<8x6xf32>' is gathered over dp, 96 bytes}}
    %0 = cleave.slice %x, [1, 0], [7, 6], [1, 1] : tensor<8x6xf32> -> tensor<7x6xf32>
    return %0 : tensor<7x6xf32>
  }
  func.func @c0.fwd(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<7x6xf32> {cleave.name = "y"}) {
    // expected-remark @+1 {{cleave.slice needs all samples: 'tensor<8x6xf32>' is gathered over dp, 288 bytes}}
    %0 = cleave.slice %x, [1, 0], [7, 6], [1, 1] : tensor<8x6xf32> -> tensor<7x6xf32>
    return %0 : tensor<7x6xf32>
  }
}

// -----
// A parameter that is stored split, read by a function of samples, is no activation.
module attributes {cleave.level = "step", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  cleave.state @w : tensor<6x6xf32> {role = #cleave.role<parameter>,
    segments = [#cleave.segment<"w", tensor<6x6xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
  func.func @infer(%x: tensor<8x6xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<6xf32> {cleave.name = "y"}) {
    %w = cleave.read @w : tensor<6x6xf32>
    %0 = cleave.matmul %x, %w : tensor<8x6xf32>, tensor<6x6xf32> -> tensor<8x6xf32>
    %1 = cleave.reduce sum %0, [0] : tensor<8x6xf32> -> tensor<6xf32>
    return %1 : tensor<6xf32>
  }
}
