// RUN: cleave-opt %s --form-attention -split-input-file | FileCheck %s

// As torch.onnx.export(dynamo=False) has it: keys are transposed, the scale is split, masks are added.
// CHECK-LABEL: func @split_scale
// CHECK-SAME: (%[[Q:.*]]: tensor<2x4x8x16xf32>, %[[K:.*]]: tensor<2x8x4x16xf32>, %[[V:.*]]: tensor<2x4x8x16xf32>, %[[M:.*]]: tensor<2x8xf32>)
// CHECK: %[[KEY:.*]] = cleave.transpose %[[K]], [0, 2, 1, 3]
// CHECK: %[[MASK:.*]] = cleave.reshape %[[M]] : tensor<2x8xf32> -> tensor<2x1x1x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = cleave.attention %[[Q]], %[[KEY]], %[[V]] mask %[[MASK]], scale = 2.500000e-01 :
// CHECK-NEXT: return %[[Y]]
func.func @split_scale(%q: tensor<2x4x8x16xf32>, %k: tensor<2x8x4x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x8xf32>) -> tensor<2x4x8x16xf32> {
  %half = cleave.constant dense<0.5> : tensor<2x4x8x16xf32>
  %halves = cleave.constant dense<0.5> : tensor<2x4x16x8xf32>
  %sq = cleave.mul %q, %half : tensor<2x4x8x16xf32>
  %kt = cleave.transpose %k, [0, 2, 3, 1] : tensor<2x8x4x16xf32> -> tensor<2x4x16x8xf32>
  %sk = cleave.mul %kt, %halves : tensor<2x4x16x8xf32>
  %s = cleave.matmul %sq, %sk : tensor<2x4x8x16xf32>, tensor<2x4x16x8xf32> -> tensor<2x4x8x8xf32>
  %b = cleave.broadcast %m, [0, 3] : tensor<2x8xf32> -> tensor<2x4x8x8xf32>
  %a = cleave.add %b, %s : tensor<2x4x8x8xf32>
  %p = cleave.softmax %a, dim = 3 : tensor<2x4x8x8xf32>
  %y = cleave.matmul %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> -> tensor<2x4x8x16xf32>
  return %y : tensor<2x4x8x16xf32>
}

// -----

// In half precision: scores and probabilities are cast, and the causal mask is a comparison of indices. The order of masks does not matter.
// CHECK-LABEL: func @half
// CHECK-SAME: (%[[Q:.*]]: tensor<6x8x16xbf16>, %[[K:.*]]: tensor<6x8x16xbf16>, %[[V:.*]]: tensor<6x8x16xbf16>, %[[M:.*]]: tensor<6x8xf32>)
// CHECK-DAG: %[[Q4:.*]] = cleave.reshape %[[Q]] : tensor<6x8x16xbf16> -> tensor<6x1x8x16xbf16>
// CHECK-DAG: %[[K4:.*]] = cleave.reshape %[[K]]
// CHECK-DAG: %[[V4:.*]] = cleave.reshape %[[V]]
// CHECK-DAG: %[[MASK:.*]] = cleave.reshape %[[M]] : tensor<6x8xf32> -> tensor<6x1x1x8xf32>
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = cleave.attention %[[Q4]], %[[K4]], %[[V4]] mask %[[MASK]], scale = 5.000000e-01 {causal} :
// CHECK: cleave.reshape %[[Y]] : tensor<6x1x8x16xbf16> -> tensor<6x8x16xbf16>
func.func @half(%q: tensor<6x8x16xbf16>, %k: tensor<6x8x16xbf16>, %v: tensor<6x8x16xbf16>, %m: tensor<6x8xf32>) -> tensor<6x8x16xbf16> {
  %two = cleave.constant dense<2.0> : tensor<6x8x8xf32>
  %least = cleave.constant dense<0xFF800000> : tensor<6x8x8xf32>
  %row = cleave.iota dim = 0 : tensor<8x8xi64>
  %column = cleave.iota dim = 1 : tensor<8x8xi64>
  %after = cleave.compare lt %row, %column : tensor<8x8xi64>
  %afters = cleave.broadcast %after, [1, 2] : tensor<8x8xi1> -> tensor<6x8x8xi1>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<6x8x16xbf16>, tensor<6x8x16xbf16> -> tensor<6x8x8xbf16>
  %w = cleave.cast %s : tensor<6x8x8xbf16> -> tensor<6x8x8xf32>
  %d = cleave.div %w, %two : tensor<6x8x8xf32>
  %b = cleave.broadcast %m, [0, 2] : tensor<6x8xf32> -> tensor<6x8x8xf32>
  %a = cleave.add %d, %b : tensor<6x8x8xf32>
  %c = cleave.select %afters, %least, %a : tensor<6x8x8xi1>, tensor<6x8x8xf32>
  %p = cleave.softmax %c, dim = 2 : tensor<6x8x8xf32>
  %n = cleave.cast %p : tensor<6x8x8xf32> -> tensor<6x8x8xbf16>
  %y = cleave.matmul %n, %v : tensor<6x8x8xbf16>, tensor<6x8x16xbf16> -> tensor<6x8x16xbf16>
  return %y : tensor<6x8x16xbf16>
}

// -----

// A triangle is causal as a constant, too; added, and where it keeps. What it gives instead may be a large number.
// CHECK-LABEL: func @constants
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// No triangle, and a number that is not large enough:
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0xFFF0000000000000 : f64} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = -1.000000e+04 : f64} :
func.func @constants(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x2x4xf32>, %v: tensor<1x1x2x4xf32>)
    -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) {
  %added = cleave.constant dense<[[[[0.0, -3.4028234e38], [0.0, 0.0]]]]> : tensor<1x1x2x2xf32>
  %kept = cleave.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1>
  %other = cleave.constant dense<[[[[true, true], [false, true]]]]> : tensor<1x1x2x2xi1>
  %least = cleave.constant dense<0xFF800000> : tensor<1x1x2x2xf32>
  %low = cleave.constant dense<-1.0e4> : tensor<1x1x2x2xf32>
  %s0 = cleave.matmul %q, %k {transpose_rhs} : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %s1 = cleave.matmul %k, %q {transpose_rhs} : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %s2 = cleave.matmul %q, %v {transpose_rhs} : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %s3 = cleave.matmul %v, %q {transpose_rhs} : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %a0 = cleave.add %s0, %added : tensor<1x1x2x2xf32>
  %a1 = cleave.select %kept, %s1, %least : tensor<1x1x2x2xi1>, tensor<1x1x2x2xf32>
  %a2 = cleave.select %other, %s2, %least : tensor<1x1x2x2xi1>, tensor<1x1x2x2xf32>
  %a3 = cleave.select %kept, %s3, %low : tensor<1x1x2x2xi1>, tensor<1x1x2x2xf32>
  %p0 = cleave.softmax %a0, dim = 3 : tensor<1x1x2x2xf32>
  %p1 = cleave.softmax %a1, dim = 3 : tensor<1x1x2x2xf32>
  %p2 = cleave.softmax %a2, dim = 3 : tensor<1x1x2x2xf32>
  %p3 = cleave.softmax %a3, dim = 3 : tensor<1x1x2x2xf32>
  %y0 = cleave.matmul %p0, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  %y1 = cleave.matmul %p1, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  %y2 = cleave.matmul %p2, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  %y3 = cleave.matmul %p3, %v : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  return %y0, %y1, %y2, %y3 : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>
}

// -----

// Several masks of one kind become one, no larger than both need.
// CHECK-LABEL: func @joined
// CHECK: %[[MASK:.*]] = cleave.add %{{.*}}, %{{.*}} : tensor<2x1x3x3xf32>
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[MASK]], scale = 1.000000e+00 :
func.func @joined(%q: tensor<2x4x3x8xf32>, %m: tensor<2x3xf32>, %n: tensor<3x3xf32>) -> tensor<2x4x3x8xf32> {
  %ms = cleave.broadcast %m, [0, 3] : tensor<2x3xf32> -> tensor<2x4x3x3xf32>
  %ns = cleave.broadcast %n, [2, 3] : tensor<3x3xf32> -> tensor<2x4x3x3xf32>
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x3xf32>
  %a = cleave.add %s, %ms : tensor<2x4x3x3xf32>
  %b = cleave.add %a, %ns : tensor<2x4x3x3xf32>
  %p = cleave.softmax %b, dim = 3 : tensor<2x4x3x3xf32>
  %y = cleave.matmul %p, %q : tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// -----

// What is left alone.
// CHECK-LABEL: func @scores_used
// CHECK-NOT: cleave.attention
func.func @scores_used(%q: tensor<1x1x3x8xf32>) -> (tensor<1x1x3x8xf32>, tensor<1x1x3x3xf32>) {
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y, %s : tensor<1x1x3x8xf32>, tensor<1x1x3x3xf32>
}

// CHECK-LABEL: func @probabilities_used
// CHECK-NOT: cleave.attention
func.func @probabilities_used(%q: tensor<1x1x3x8xf32>) -> (tensor<1x1x3x8xf32>, tensor<1x1x3x3xf32>) {
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y, %p : tensor<1x1x3x8xf32>, tensor<1x1x3x3xf32>
}

// CHECK-LABEL: func @dropout
// CHECK-NOT: cleave.attention
func.func @dropout(%q: tensor<1x1x3x8xf32>, %u: tensor<1x1x3x3xf32>) -> tensor<1x1x3x8xf32> {
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %d = cleave.mul %p, %u : tensor<1x1x3x3xf32>
  %y = cleave.matmul %d, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// CHECK-LABEL: func @mask_under_scale
// CHECK-NOT: cleave.attention
func.func @mask_under_scale(%q: tensor<1x1x3x8xf32>, %m: tensor<1x1x3x3xf32>) -> tensor<1x1x3x8xf32> {
  %two = cleave.constant dense<2.0> : tensor<1x1x3x3xf32>
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %a = cleave.add %s, %m : tensor<1x1x3x3xf32>
  %b = cleave.mul %a, %two : tensor<1x1x3x3xf32>
  %p = cleave.softmax %b, dim = 3 : tensor<1x1x3x3xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// CHECK-LABEL: func @other_dimension
// CHECK-NOT: cleave.attention
func.func @other_dimension(%q: tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32> {
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 2 : tensor<1x1x3x3xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// -----

// A mask that is learned needs the gradient of all scores.
// CHECK-LABEL: func @learned
// CHECK-NOT: cleave.attention
cleave.state @bias : tensor<4x4xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"bias", tensor<4x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @learned(%q: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  %b = cleave.read @bias : tensor<4x4xf32>
  %m = cleave.broadcast %b, [2, 3] : tensor<4x4xf32> -> tensor<1x1x4x4xf32>
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32> -> tensor<1x1x4x4xf32>
  %a = cleave.add %s, %m : tensor<1x1x4x4xf32>
  %p = cleave.softmax %a, dim = 3 : tensor<1x1x4x4xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x4x4xf32>, tensor<1x1x4x8xf32> -> tensor<1x1x4x8xf32>
  return %y : tensor<1x1x4x8xf32>
}

// -----

// A constant that is a triangle, as the importer marks it. Nobody reads it any more.
// CHECK-LABEL: func @marked
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0xFFF0000000000000 : f64} :
// CHECK-NOT: @below
cleave.state @below : tensor<1x1x4x4xi1> {role = #cleave.role<constant>, cleave.triangle = true, segments = [#cleave.segment<"below", tensor<1x1x4x4xi1>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @above : tensor<4x4xi1> {role = #cleave.role<constant>, cleave.triangle = false, segments = [#cleave.segment<"above", tensor<4x4xi1>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @marked(%q: tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) {
  %least = cleave.constant dense<0xFF800000> : tensor<1x2x4x4xf32>
  %b = cleave.read @below : tensor<1x1x4x4xi1>
  %r = cleave.reshape %b : tensor<1x1x4x4xi1> -> tensor<4x4xi1>
  %m = cleave.broadcast %r, [2, 3] : tensor<4x4xi1> -> tensor<1x2x4x4xi1>
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %a = cleave.select %m, %s, %least : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
  %p = cleave.softmax %a, dim = 3 : tensor<1x2x4x4xf32>
  %y = cleave.matmul %p, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  %c = cleave.read @above : tensor<4x4xi1>
  %n = cleave.broadcast %c, [2, 3] : tensor<4x4xi1> -> tensor<1x2x4x4xi1>
  %t = cleave.matmul %q, %y {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %d = cleave.select %n, %t, %least : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
  %e = cleave.softmax %d, dim = 3 : tensor<1x2x4x4xf32>
  %z = cleave.matmul %e, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  return %y, %z : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>
}

// -----

// Numbers below and above the diagonal that are compared with a third one: torch.tril of ones is 0 where a row does not look. A
// comparison that holds on both sides, or on the wrong one, makes no causal mask.
// CHECK-LABEL: func.func @compared
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0xFFF0000000000000 : f64} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0xFFF0000000000000 : f64} :
cleave.state @ones : tensor<4x4xf32> {role = #cleave.role<constant>, cleave.triangle = array<f64: 1.0, 0.0>, segments = [#cleave.segment<"ones", tensor<4x4xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
func.func @compared(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %least = cleave.constant dense<0xFF800000> : tensor<1x2x4x4xf32>
  %zero = cleave.constant dense<0.0> : tensor<4x4xf32>
  %two = cleave.constant dense<2.0> : tensor<4x4xf32>
  %b = cleave.read @ones : tensor<4x4xf32>
  %c0 = cleave.compare eq %b, %zero : tensor<4x4xf32>
  %m0 = cleave.broadcast %c0, [2, 3] : tensor<4x4xi1> -> tensor<1x2x4x4xi1>
  %s0 = cleave.matmul %q, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %a0 = cleave.select %m0, %least, %s0 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
  %p0 = cleave.softmax %a0, dim = 3 : tensor<1x2x4x4xf32>
  %y0 = cleave.matmul %p0, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  %c1 = cleave.compare lt %b, %two : tensor<4x4xf32>
  %m1 = cleave.broadcast %c1, [2, 3] : tensor<4x4xi1> -> tensor<1x2x4x4xi1>
  %s1 = cleave.matmul %y0, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %a1 = cleave.select %m1, %s1, %least : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
  %p1 = cleave.softmax %a1, dim = 3 : tensor<1x2x4x4xf32>
  %y1 = cleave.matmul %p1, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  %c2 = cleave.compare ne %b, %zero : tensor<4x4xf32>
  %m2 = cleave.broadcast %c2, [2, 3] : tensor<4x4xi1> -> tensor<1x2x4x4xi1>
  %s2 = cleave.matmul %y1, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %a2 = cleave.select %m2, %least, %s2 : tensor<1x2x4x4xi1>, tensor<1x2x4x4xf32>
  %p2 = cleave.softmax %a2, dim = 3 : tensor<1x2x4x4xf32>
  %y2 = cleave.matmul %p2, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  return %y2 : tensor<1x2x4x8xf32>
}

// -----

// A triangle that puts +inf in the place of a score takes no key away.
// CHECK-LABEL: func @other_infinity
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 {fill = 0x7FF0000000000000 : f64} :
func.func @other_infinity(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %kept = cleave.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1>
  %most = cleave.constant dense<0x7F800000> : tensor<1x1x2x2xf32>
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x2xf32>
  %a = cleave.select %kept, %s, %most : tensor<1x1x2x2xi1>, tensor<1x1x2x2xf32>
  %p = cleave.softmax %a, dim = 3 : tensor<1x1x2x2xf32>
  %y = cleave.matmul %p, %q : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32> -> tensor<1x1x2x4xf32>
  return %y : tensor<1x1x2x4xf32>
}
