// RUN: cleave-opt %s | cleave-opt | FileCheck %s

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x3x4x8xbf16>, %k: tensor<2x3x5x8xbf16>, %v: tensor<2x3x5x6xbf16>, %mask: tensor<2x1x4x5xi1>, %bias: tensor<1x3x4x5xf32>,
                     %dy: tensor<2x3x4x6xbf16>, %delta: tensor<2x3x4xf32>, %seed: tensor<i64>, %stream: tensor<i64>, %first: tensor<2x3xi64>) {
  // CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.250000e-01 {causal} : (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>) -> (tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 0.125 {causal} :
    (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>) -> (tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  // CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0xFFF0000000000000 : f64}
  %y1, %m1, %l1 = cleave.attention %q, %k, %v mask %mask, scale = 1.0 {fill = 0xFFF0000000000000 : f64} :
    (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>, tensor<2x1x4x5xi1>) -> (tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  // CHECK: cleave.attention_grad %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 : (tensor<2x3x4x8xbf16>, {{.*}}tensor<2x3x4xf32>) -> (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>)
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v mask %bias, %dy, %m, %l, %delta, scale = 1.0 :
    (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>, tensor<1x3x4x5xf32>, tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
    -> (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>)
  // CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} dropout(%[[SEED:.*]], %[[STREAM:.*]], %[[FIRST:.*]]), scale = 1.000000e+00 {causal, rate = 1.000000e-01 : f64} : ({{.*}}, tensor<i64>, tensor<i64>, tensor<2x3xi64>) ->
  %y2, %m2, %l2 = cleave.attention %q, %k, %v dropout(%seed, %stream, %first), scale = 1.0 {causal, rate = 0.1} :
    (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>, tensor<i64>, tensor<i64>, tensor<2x3xi64>)
    -> (tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>)
  // CHECK: cleave.attention_grad %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} dropout(%[[SEED]], %[[STREAM]], %[[FIRST]]), %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {rate = 1.000000e-01 : f64} :
  %dq2, %dk2, %dv2 = cleave.attention_grad %q, %k, %v mask %bias dropout(%seed, %stream, %first), %dy, %m, %l, %delta, scale = 1.0 {rate = 0.1} :
    (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>, tensor<1x3x4x5xf32>, tensor<i64>, tensor<i64>, tensor<2x3xi64>, tensor<2x3x4x6xbf16>, tensor<2x3x4xf32>,
     tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x6xbf16>)
  // CHECK: cleave.random_uniform_at %[[SEED]], %[[STREAM]], %[[FIRST]] : tensor<i64>, tensor<i64>, tensor<2x3xi64> -> tensor<2x3xf32>
  %u = cleave.random_uniform_at %seed, %stream, %first : tensor<i64>, tensor<i64>, tensor<2x3xi64> -> tensor<2x3xf32>
  return
}
