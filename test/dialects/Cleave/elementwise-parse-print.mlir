// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func @unary
func.func @unary(%x: tensor<4xf32>, %b: tensor<4xi1>) -> (tensor<4xf32>, tensor<4xi1>) {
  // CHECK: cleave.neg %{{.*}} : tensor<4xf32>
  %0 = cleave.neg %x : tensor<4xf32>
  // CHECK: cleave.abs %{{.*}} : tensor<4xf32>
  %1 = cleave.abs %0 : tensor<4xf32>
  // CHECK: cleave.sign %{{.*}} : tensor<4xf32>
  %2 = cleave.sign %1 : tensor<4xf32>
  // CHECK: cleave.exp %{{.*}} : tensor<4xf32>
  %3 = cleave.exp %2 : tensor<4xf32>
  // CHECK: cleave.log %{{.*}} : tensor<4xf32>
  %4 = cleave.log %3 : tensor<4xf32>
  // CHECK: cleave.sqrt %{{.*}} : tensor<4xf32>
  %5 = cleave.sqrt %4 : tensor<4xf32>
  // CHECK: cleave.rsqrt %{{.*}} : tensor<4xf32>
  %6 = cleave.rsqrt %5 : tensor<4xf32>
  // CHECK: cleave.tanh %{{.*}} : tensor<4xf32>
  %7 = cleave.tanh %6 : tensor<4xf32>
  // CHECK: cleave.erf %{{.*}} : tensor<4xf32>
  %8 = cleave.erf %7 : tensor<4xf32>
  // CHECK: cleave.sigmoid %{{.*}} : tensor<4xf32>
  %9 = cleave.sigmoid %8 : tensor<4xf32>
  // CHECK: cleave.sin %{{.*}} : tensor<4xf32>
  %10 = cleave.sin %9 : tensor<4xf32>
  // CHECK: cleave.cos %{{.*}} : tensor<4xf32>
  %11 = cleave.cos %10 : tensor<4xf32>
  // CHECK: cleave.floor %{{.*}} : tensor<4xf32>
  %12 = cleave.floor %11 : tensor<4xf32>
  // CHECK: cleave.ceil %{{.*}} : tensor<4xf32>
  %13 = cleave.ceil %12 : tensor<4xf32>
  // CHECK: cleave.round %{{.*}} : tensor<4xf32>
  %14 = cleave.round %13 : tensor<4xf32>
  // CHECK: cleave.relu %{{.*}} : tensor<4xf32>
  %15 = cleave.relu %14 : tensor<4xf32>
  // CHECK: cleave.expm1 %{{.*}} : tensor<4xf32>
  %17 = cleave.expm1 %15 : tensor<4xf32>
  // CHECK: cleave.log1p %{{.*}} : tensor<4xf32>
  %18 = cleave.log1p %17 : tensor<4xf32>
  // CHECK: cleave.asin %{{.*}} : tensor<4xf32>
  %19 = cleave.asin %18 : tensor<4xf32>
  // CHECK: cleave.acos %{{.*}} : tensor<4xf32>
  %20 = cleave.acos %19 : tensor<4xf32>
  // CHECK: cleave.atan %{{.*}} : tensor<4xf32>
  %21 = cleave.atan %20 : tensor<4xf32>
  // CHECK: cleave.not %{{.*}} : tensor<4xi1>
  %16 = cleave.not %b : tensor<4xi1>
  return %21, %16 : tensor<4xf32>, tensor<4xi1>
}

// CHECK-LABEL: func @binary
func.func @binary(%a: tensor<4xf32>, %b: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xf32>, tensor<4xi64>) {
  // CHECK: cleave.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = cleave.add %a, %b : tensor<4xf32>
  // CHECK: cleave.sub %{{.*}}, %{{.*}} : tensor<4xf32>
  %1 = cleave.sub %0, %b : tensor<4xf32>
  // CHECK: cleave.mul %{{.*}}, %{{.*}} : tensor<4xf32>
  %2 = cleave.mul %1, %b : tensor<4xf32>
  // CHECK: cleave.div %{{.*}}, %{{.*}} : tensor<4xf32>
  %3 = cleave.div %2, %b : tensor<4xf32>
  // CHECK: cleave.pow %{{.*}}, %{{.*}} : tensor<4xf32>
  %4 = cleave.pow %3, %b : tensor<4xf32>
  // CHECK: cleave.max %{{.*}}, %{{.*}} : tensor<4xf32>
  %5 = cleave.max %4, %b : tensor<4xf32>
  // CHECK: cleave.min %{{.*}}, %{{.*}} : tensor<4xf32>
  %6 = cleave.min %5, %b : tensor<4xf32>
  // CHECK: cleave.rem %{{.*}}, %{{.*}} : tensor<4xf32>
  %7 = cleave.rem %6, %b : tensor<4xf32>
  // CHECK: cleave.and %{{.*}}, %{{.*}} : tensor<4xi64>
  %8 = cleave.and %i, %i : tensor<4xi64>
  // CHECK: cleave.or %{{.*}}, %{{.*}} : tensor<4xi64>
  %9 = cleave.or %8, %i : tensor<4xi64>
  // CHECK: cleave.xor %{{.*}}, %{{.*}} : tensor<4xi64>
  %10 = cleave.xor %9, %i : tensor<4xi64>
  return %7, %10 : tensor<4xf32>, tensor<4xi64>
}

// CHECK-LABEL: func @others
func.func @others(%a: tensor<4xf32>, %b: tensor<4xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<4xf32> {
  // CHECK: cleave.compare lt %{{.*}}, %{{.*}} : tensor<4xf32>
  %0 = cleave.compare lt %a, %b : tensor<4xf32>
  // CHECK: cleave.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf32>
  %1 = cleave.select %0, %a, %b : tensor<4xi1>, tensor<4xf32>
  // CHECK: cleave.cast %{{.*}} : tensor<4xf32> -> tensor<4xi64>
  %2 = cleave.cast %1 : tensor<4xf32> -> tensor<4xi64>
  %3 = cleave.cast %2 : tensor<4xi64> -> tensor<4xf32>
  // CHECK: cleave.random_uniform %{{.*}}, %{{.*}} {global_shape = array<i64: 8, 4>, site = 3 : i64} : tensor<i64>, tensor<i64> -> tensor<8x4xf32>
  %u = cleave.random_uniform %seed, %step {site = 3 : i64, global_shape = array<i64: 8, 4>} : tensor<i64>, tensor<i64> -> tensor<8x4xf32>
  // CHECK: cleave.constant dense<[4, 0]> : tensor<2xi64>
  %origin = cleave.constant dense<[4, 0]> : tensor<2xi64>
  // CHECK: cleave.random_uniform %{{.*}}, %{{.*}} origin %{{.*}} : tensor<2xi64>
  %v = cleave.random_uniform %seed, %step origin %origin : tensor<2xi64> {site = 3 : i64, global_shape = array<i64: 8, 4>} : tensor<i64>, tensor<i64> -> tensor<4x4xf32>
  return %3 : tensor<4xf32>
}
