// Stages take about the same time, in which counts what training does for a layer: no gradient of what comes before the first trained
// parameter, none at all for frozen layers, and a part of the update, which is less the more micro-batches a step has.
// RUN: cleave-opt %s -split-loss -cut-model="stages=2 micro-batches=1" -split-input-file | FileCheck %s --check-prefix=ONE
// RUN: cleave-opt %s -split-loss -cut-model="stages=2 micro-batches=64" -split-input-file | FileCheck %s --check-prefix=MANY

// The large layer's update is half of its time, where it is done for each micro-batch.
// ONE-LABEL: func.func @c0
// ONE: cleave.read @w5
// ONE-LABEL: func.func @c1
// ONE: cleave.read @big
// MANY-LABEL: func.func @c0
// MANY: cleave.read @w3
// MANY-NOT: cleave.read @w4
// MANY-LABEL: func.func @c1
// MANY: cleave.read @w4
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  cleave.state @w0 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w0", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w2 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w2", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w3 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w3", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w4 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w4", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w5 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w5", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @big : tensor<16384x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"big", tensor<16384x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x0: tensor<1024x256xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
    %w0 = cleave.read @w0 : tensor<256x256xf32>
    %y0 = cleave.matmul %x0, %w0 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x1 = cleave.tanh %y0 : tensor<1024x256xf32>
    %w1 = cleave.read @w1 : tensor<256x256xf32>
    %y1 = cleave.matmul %x1, %w1 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x2 = cleave.tanh %y1 : tensor<1024x256xf32>
    %w2 = cleave.read @w2 : tensor<256x256xf32>
    %y2 = cleave.matmul %x2, %w2 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x3 = cleave.tanh %y2 : tensor<1024x256xf32>
    %w3 = cleave.read @w3 : tensor<256x256xf32>
    %y3 = cleave.matmul %x3, %w3 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x4 = cleave.tanh %y3 : tensor<1024x256xf32>
    %w4 = cleave.read @w4 : tensor<256x256xf32>
    %y4 = cleave.matmul %x4, %w4 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x5 = cleave.tanh %y4 : tensor<1024x256xf32>
    %w5 = cleave.read @w5 : tensor<256x256xf32>
    %y5 = cleave.matmul %x5, %w5 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x6 = cleave.tanh %y5 : tensor<1024x256xf32>
    %n = cleave.constant dense<1024.0> : tensor<f32>
    %big = cleave.read @big : tensor<16384x256xf32>
    %few = cleave.slice %x6, [0, 0], [8, 256], [1, 1] : tensor<1024x256xf32> -> tensor<8x256xf32>
    %z = cleave.matmul %few, %big {transpose_rhs} : tensor<8x256xf32>, tensor<16384x256xf32> -> tensor<8x16384xf32>
    %l = cleave.reduce sum %z, [0, 1] : tensor<8x16384xf32> -> tensor<f32>
    %loss = cleave.div %l, %n : tensor<f32>
    return %loss : tensor<f32>
  }
}

// -----

// The frozen layers have no backward pass.
// ONE-LABEL: func.func @c0
// ONE: cleave.read @w2
// ONE-NOT: cleave.read @w3
// ONE-LABEL: func.func @c1
// ONE: cleave.read @w3
// MANY-LABEL: func.func @c0
// MANY: cleave.read @w2
// MANY-NOT: cleave.read @w3
// MANY-LABEL: func.func @c1
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["dp"], [1]>} {
  cleave.state @w0 : tensor<256x256xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"w0", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<256x256xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"w1", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w2 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w2", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w3 : tensor<256x256xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w3", tensor<256x256xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x0: tensor<1024x256xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.loss}) {
    %w0 = cleave.read @w0 : tensor<256x256xf32>
    %y0 = cleave.matmul %x0, %w0 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x1 = cleave.tanh %y0 : tensor<1024x256xf32>
    %w1 = cleave.read @w1 : tensor<256x256xf32>
    %y1 = cleave.matmul %x1, %w1 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x2 = cleave.tanh %y1 : tensor<1024x256xf32>
    %w2 = cleave.read @w2 : tensor<256x256xf32>
    %y2 = cleave.matmul %x2, %w2 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x3 = cleave.tanh %y2 : tensor<1024x256xf32>
    %w3 = cleave.read @w3 : tensor<256x256xf32>
    %y3 = cleave.matmul %x3, %w3 {transpose_rhs} : tensor<1024x256xf32>, tensor<256x256xf32> -> tensor<1024x256xf32>
    %x4 = cleave.tanh %y3 : tensor<1024x256xf32>
    %n = cleave.constant dense<1024.0> : tensor<f32>
    %l = cleave.reduce sum %x4, [0, 1] : tensor<1024x256xf32> -> tensor<f32>
    %loss = cleave.div %l, %n : tensor<f32>
    return %loss : tensor<f32>
  }
}
