// RUN: cleave-opt %s -apply-precision="precision=bf16" -canonicalize -cse -find-blocks | FileCheck %s

// A rounded value belongs to the block of what is rounded: of the sum that ends a block the next one reads the narrow form, and blocks begin
// where they begin without a precision, with a layer.
// CHECK: module attributes {cleave.blocks = 2 : i64}
// CHECK: %[[Y:.*]] = cleave.add {{.*}}cleave.block = 0 : i64} : tensor<4x8xf32>
// CHECK-NEXT: %[[N:.*]] = cleave.cast %[[Y]] {cleave.block = 0 : i64} : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK-NEXT: cleave.cast %[[N]] {cleave.block = 0 : i64} : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: cleave.matmul %[[N]], {{.*}}cleave.block = 1 : i64
// CHECK: %[[Z:.*]] = cleave.add {{.*}}cleave.block = 1 : i64} : tensor<4x8xf32>
// CHECK: cleave.cast %[[Z]] {cleave.block = 1 : i64} : tensor<4x8xf32> -> tensor<4x8xbf16>
cleave.state @w0 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v0 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v0", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @w1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"w1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @v1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"v1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @p : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"p", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @q : tensor<4x8xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"q", tensor<4x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @head : tensor<8x4xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"head", tensor<8x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @model(%in: tensor<4x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
  %p = cleave.read @p : tensor<8x8xf32>
  %q = cleave.read @q : tensor<4x8xf32>
  %stem = cleave.matmul %in, %p : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x = cleave.sub %stem, %q : tensor<4x8xf32>
  %w0 = cleave.read @w0 : tensor<8x8xf32>
  %v0 = cleave.read @v0 : tensor<8x8xf32>
  %a0 = cleave.matmul %x, %w0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %g0 = cleave.tanh %a0 : tensor<4x8xf32>
  %c0 = cleave.matmul %g0, %v0 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y0 = cleave.add %x, %c0 : tensor<4x8xf32>
  %w1 = cleave.read @w1 : tensor<8x8xf32>
  %v1 = cleave.read @v1 : tensor<8x8xf32>
  %a1 = cleave.matmul %y0, %w1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %g1 = cleave.tanh %a1 : tensor<4x8xf32>
  %c1 = cleave.matmul %g1, %v1 : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %y1 = cleave.add %y0, %c1 : tensor<4x8xf32>
  %head = cleave.read @head : tensor<8x4xf32>
  %o = cleave.matmul %y1, %head : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
  %loss = cleave.reduce sum %o, [0, 1] : tensor<4x4xf32> -> tensor<f32>
  return %loss : tensor<f32>
}
