// RUN: cleave-opt %s -apply-precision="precision=bf16" -canonicalize -cse -find-blocks | FileCheck %s

// Two blocks of two residual branches each, the first block frozen: its parameters are stored wide and cast, those of the second are stored
// narrow. In what type a weight is stored is no difference between blocks, and the cast is in the block of its weight.
// CHECK: module attributes {cleave.blocks = 2 : i64}
// CHECK: cleave.state @w0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @v0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @u0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @t0 : tensor<8x8xf32> {cleave.block = 0 : i64
// CHECK: cleave.state @w1 : tensor<8x8xbf16> {cleave.block = 1 : i64
// CHECK: cleave.state @v1 : tensor<8x8xbf16> {cleave.block = 1 : i64
// CHECK: cleave.state @u1 : tensor<8x8xbf16> {cleave.block = 1 : i64
// CHECK: cleave.state @t1 : tensor<8x8xbf16> {cleave.block = 1 : i64
// CHECK: cleave.read @w0 {cleave.block = 0
// CHECK-NEXT: cleave.cast {{.*}}cleave.block = 0
// CHECK: return
cleave.state @w0 : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"w0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v0 : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"v0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @u0 : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"u0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @t0 : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"t0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @u1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"u1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @t1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"t1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @stem : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"stem", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @head : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"head", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%in: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
  %stem = cleave.read @stem : tensor<8x8xf32>
  %x = cleave.matmul %in, %stem : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %w0 = cleave.read @w0 : tensor<8x8xf32>
  %v0 = cleave.read @v0 : tensor<8x8xf32>
  %u0 = cleave.read @u0 : tensor<8x8xf32>
  %t0 = cleave.read @t0 : tensor<8x8xf32>
  %a0 = cleave.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %g0 = cleave.tanh %a0 : tensor<4x8xf32>
  %c0 = cleave.matmul %g0, %v0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y0 = cleave.add %x, %c0 : tensor<4x8xf32>
  %d0 = cleave.matmul %y0, %u0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e0 = cleave.exp %d0 : tensor<4x8xf32>
  %f0 = cleave.matmul %e0, %t0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %z0 = cleave.add %y0, %f0 : tensor<4x8xf32>
  %w1 = cleave.read @w1 : tensor<8x8xf32>
  %v1 = cleave.read @v1 : tensor<8x8xf32>
  %u1 = cleave.read @u1 : tensor<8x8xf32>
  %t1 = cleave.read @t1 : tensor<8x8xf32>
  %a1 = cleave.matmul %z0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %g1 = cleave.tanh %a1 : tensor<4x8xf32>
  %c1 = cleave.matmul %g1, %v1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y1 = cleave.add %z0, %c1 : tensor<4x8xf32>
  %d1 = cleave.matmul %y1, %u1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %e1 = cleave.exp %d1 : tensor<4x8xf32>
  %f1 = cleave.matmul %e1, %t1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %z1 = cleave.add %y1, %f1 : tensor<4x8xf32>
  %head = cleave.read @head : tensor<8x4xf32>
  %o = cleave.matmul %z1, %head : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %loss = cleave.reduce sum %o, [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
