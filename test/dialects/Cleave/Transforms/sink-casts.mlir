// RUN: cleave-opt %s --pass-pipeline='builtin.module(func.func(sink-casts))' | FileCheck %s

cleave.state @table : tensor<16x8xf32> {role = #cleave.role<parameter>, frozen, segments = [
  #cleave.segment<"table", tensor<16x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// Six rows are taken as they are stored, and then narrowed.
// CHECK-LABEL: func @rows
// CHECK: %[[T:.*]] = cleave.read @table : tensor<16x8xf32>
// CHECK-NOT: cleave.cast %[[T]]
// CHECK: %[[R:.*]] = cleave.take %[[T]], %{{.*}}, dim = 0 : tensor<16x8xf32>, tensor<6xi64> -> tensor<6x8xf32>
// CHECK: %[[N:.*]] = cleave.cast %[[R]] : tensor<6x8xf32> -> tensor<6x8xbf16>
// CHECK: return %[[N]]
func.func @rows(%i: tensor<6xi64>) -> tensor<6x8xbf16> {
  %t = cleave.read @table : tensor<16x8xf32>
  %n = cleave.cast %t : tensor<16x8xf32> -> tensor<16x8xbf16>
  %r = cleave.take %n, %i, dim = 0 : tensor<16x8xbf16>, tensor<6xi64> -> tensor<6x8xbf16>
  return %r : tensor<6x8xbf16>
}

// A product wants all of the narrow table (a tied head), and there is no use in narrowing more rows than it has.
// CHECK-LABEL: func @tied
// CHECK: cleave.cast %{{.*}} : tensor<16x8xf32> -> tensor<16x8xbf16>
// CHECK: cleave.take {{.*}} -> tensor<6x8xbf16>
// CHECK-LABEL: func @many
// CHECK: cleave.cast %{{.*}} : tensor<16x8xf32> -> tensor<16x8xbf16>
// CHECK: cleave.take {{.*}} -> tensor<20x8xbf16>
func.func @tied(%i: tensor<6xi64>) -> tensor<6x16xbf16> {
  %t = cleave.read @table : tensor<16x8xf32>
  %n = cleave.cast %t : tensor<16x8xf32> -> tensor<16x8xbf16>
  %r = cleave.take %n, %i, dim = 0 : tensor<16x8xbf16>, tensor<6xi64> -> tensor<6x8xbf16>
  %y = cleave.matmul %r, %n {transpose_rhs} : tensor<6x8xbf16>, tensor<16x8xbf16> -> tensor<6x16xbf16>
  return %y : tensor<6x16xbf16>
}
func.func @many(%i: tensor<20xi64>) -> tensor<20x8xbf16> {
  %t = cleave.read @table : tensor<16x8xf32>
  %n = cleave.cast %t : tensor<16x8xf32> -> tensor<16x8xbf16>
  %r = cleave.take %n, %i, dim = 0 : tensor<16x8xbf16>, tensor<20xi64> -> tensor<20x8xbf16>
  return %r : tensor<20x8xbf16>
}

// What is gathered is narrow before it.
// CHECK-LABEL: func @gathered
// CHECK: %[[N:.*]] = cleave.cast %{{.*}} : tensor<16x8xf32> -> tensor<16x8xbf16>
// CHECK: shard.all_gather %[[N]]
shard.grid @mesh(shape = 2)
func.func @gathered(%i: tensor<6xi64>) -> tensor<6x8xbf16> {
  %t = cleave.read @table : tensor<16x8xf32>
  %n = cleave.cast %t : tensor<16x8xf32> -> tensor<16x8xbf16>
  %g = shard.all_gather %n on @mesh grid_axes = [0] gather_axis = 0 {cleave.instance = 0 : i64} : tensor<16x8xbf16> -> tensor<32x8xbf16>
  %r = cleave.take %g, %i, dim = 0 : tensor<32x8xbf16>, tensor<6xi64> -> tensor<6x8xbf16>
  return %r : tensor<6x8xbf16>
}
