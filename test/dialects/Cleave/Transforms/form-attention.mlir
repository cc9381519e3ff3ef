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

// CHECK-LABEL: func @weighted
// CHECK-NOT: cleave.attention
func.func @weighted(%q: tensor<1x1x3x8xf32>, %u: tensor<1x1x3x3xf32>) -> tensor<1x1x3x8xf32> {
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

// A softmax in f64 is more exact than the op; one in f32 of narrower products is what the op computes.
// CHECK-LABEL: func @precise
// CHECK-NOT: cleave.attention
func.func @precise(%q: tensor<1x1x3x8xf32>) -> tensor<1x1x3x8xf32> {
  %s = cleave.matmul %q, %q {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %w = cleave.cast %s : tensor<1x1x3x3xf32> -> tensor<1x1x3x3xf64>
  %p = cleave.softmax %w, dim = 3 : tensor<1x1x3x3xf64>
  %n = cleave.cast %p : tensor<1x1x3x3xf64> -> tensor<1x1x3x3xf32>
  %y = cleave.matmul %n, %q : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
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

// The triangle is computed: torch.tril of ones by indices, whose zeros are then made large (torch.onnx of PyTorch 2.15), or 1 - m
// times a large number. A large number on the side of the row's own column takes no other key away.
// CHECK-LABEL: func.func @computed
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}}, scale = 1.000000e+00 {causal} :
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 :
func.func @computed(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %zero = cleave.constant dense<0.0> : tensor<4x4xf32>
  %one = cleave.constant dense<1.0> : tensor<4x4xf32>
  %least = cleave.constant dense<0xFF7FFFFF> : tensor<4x4xf32>
  %r = cleave.iota dim = 0 : tensor<4x4xi64>
  %c = cleave.iota dim = 1 : tensor<4x4xi64>
  %below = cleave.compare le %c, %r : tensor<4x4xi64>
  %ones = cleave.select %below, %one, %zero : tensor<4x4xi1>, tensor<4x4xf32>
  %hidden = cleave.compare eq %ones, %zero : tensor<4x4xf32>
  %a0 = cleave.select %hidden, %least, %zero : tensor<4x4xi1>, tensor<4x4xf32>
  %m0 = cleave.broadcast %a0, [2, 3] : tensor<4x4xf32> -> tensor<1x2x4x4xf32>
  %s0 = cleave.matmul %q, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %t0 = cleave.add %s0, %m0 : tensor<1x2x4x4xf32>
  %p0 = cleave.softmax %t0, dim = 3 : tensor<1x2x4x4xf32>
  %y0 = cleave.matmul %p0, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  %number = cleave.cast %below : tensor<4x4xi1> -> tensor<4x4xf32>
  %rest = cleave.sub %one, %number : tensor<4x4xf32>
  %a1 = cleave.mul %rest, %least : tensor<4x4xf32>
  %m1 = cleave.broadcast %a1, [2, 3] : tensor<4x4xf32> -> tensor<1x2x4x4xf32>
  %s1 = cleave.matmul %y0, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %t1 = cleave.add %s1, %m1 : tensor<1x2x4x4xf32>
  %p1 = cleave.softmax %t1, dim = 3 : tensor<1x2x4x4xf32>
  %y1 = cleave.matmul %p1, %q : tensor<1x2x4x4xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x8xf32>
  %a2 = cleave.mul %number, %least : tensor<4x4xf32>
  %m2 = cleave.broadcast %a2, [2, 3] : tensor<4x4xf32> -> tensor<1x2x4x4xf32>
  %s2 = cleave.matmul %y1, %q {transpose_rhs} : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32> -> tensor<1x2x4x4xf32>
  %t2 = cleave.add %s2, %m2 : tensor<1x2x4x4xf32>
  %p2 = cleave.softmax %t2, dim = 3 : tensor<1x2x4x4xf32>
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

// -----

// Dropout: the heads' first elements are those of the numbers' own row-major order. The site is in the stream's upper half: 5 * 2^32.
// CHECK-LABEL: func @dropout
// CHECK-SAME: %[[SEED:[a-z0-9]*]]: tensor<i64>, %[[STEP:[a-z0-9]*]]: tensor<i64>
// CHECK: %[[SAMPLE:.*]] = cleave.iota dim = 0 : tensor<2x4xi64>
// CHECK: %[[OFSAMPLE:.*]] = cleave.constant dense<60> : tensor<2x4xi64>
// CHECK: cleave.mul %[[SAMPLE]], %[[OFSAMPLE]]
// CHECK: %[[HEAD:.*]] = cleave.iota dim = 1 : tensor<2x4xi64>
// CHECK: %[[OFHEAD:.*]] = cleave.constant dense<15> : tensor<2x4xi64>
// CHECK: %[[HEADS:.*]] = cleave.mul %[[HEAD]], %[[OFHEAD]]
// CHECK: %[[FIRST:.*]] = cleave.add %{{.*}}, %[[HEADS]]
// CHECK: %[[LOW:.*]] = cleave.constant dense<4294967295> : tensor<i64>
// CHECK: %[[WORD:.*]] = cleave.and %[[STEP]], %[[LOW]]
// CHECK: %[[SITE:.*]] = cleave.constant dense<21474836480> : tensor<i64>
// CHECK: %[[STREAM:.*]] = cleave.or %[[WORD]], %[[SITE]]
// CHECK: cleave.attention %{{.*}}, %{{.*}}, %{{.*}} dropout(%[[SEED]], %[[STREAM]], %[[FIRST]]), scale = 1.000000e+00 {rate = 0.20000000298023224 : f64}
// CHECK-NOT: cleave.random_uniform
func.func @dropout(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x5x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<2x4x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<2x4x3x5xf32>
  %factor = cleave.constant dense<1.25> : tensor<2x4x3x5xf32>
  %zero = cleave.constant dense<0.0> : tensor<2x4x3x5xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<2x4x3x8xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x3x5xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<2x4x3x5xf32>
  %u = cleave.random_uniform %seed, %step {site = 5 : i64, global_shape = array<i64: 2, 4, 3, 5>} : tensor<i64>, tensor<i64> -> tensor<2x4x3x5xf32>
  %c = cleave.compare ge %u, %rate : tensor<2x4x3x5xf32>
  %m = cleave.mul %p, %factor : tensor<2x4x3x5xf32>
  %d = cleave.select %c, %m, %zero : tensor<2x4x3x5xi1>, tensor<2x4x3x5xf32>
  %y = cleave.matmul %d, %k : tensor<2x4x3x5xf32>, tensor<2x4x5x8xf32> -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}

// -----

// Of two ranks' samples and three micro-batches (shift-random-origins): the origin counts once, in the strides of the whole tensor.
// CHECK-LABEL: func @micro_batches
// CHECK: cleave.constant dense<360> : tensor<2x2x4xi64>
// CHECK: cleave.constant dense<60> : tensor<2x2x4xi64>
// CHECK: cleave.constant dense<15> : tensor<2x2x4xi64>
// CHECK: %[[STRIDES:.*]] = cleave.constant dense<[360, 60, 15, 5, 1]> : tensor<5xi64>
// CHECK: cleave.mul %{{.*}}, %[[STRIDES]]
// CHECK: cleave.reduce sum
// CHECK: cleave.reshape %{{.*}} : tensor<2x2x4xi64> -> tensor<4x4xi64>
// CHECK: cleave.attention {{.*}} dropout(
func.func @micro_batches(%q: tensor<4x4x3x8xf32>, %k: tensor<4x4x5x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %o: tensor<5xi64>) -> tensor<4x4x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<4x4x3x5xf32>
  %factor = cleave.constant dense<1.25> : tensor<4x4x3x5xf32>
  %zero = cleave.constant dense<0.0> : tensor<4x4x3x5xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<4x4x3x8xf32>, tensor<4x4x5x8xf32> -> tensor<4x4x3x5xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<4x4x3x5xf32>
  %n = cleave.random_uniform %seed, %step origin %o : tensor<5xi64> {site = 5 : i64, global_shape = array<i64: 2, 6, 4, 3, 5>} : tensor<i64>, tensor<i64> -> tensor<2x2x4x3x5xf32>
  %u = cleave.reshape %n : tensor<2x2x4x3x5xf32> -> tensor<4x4x3x5xf32>
  %c = cleave.compare ge %u, %rate : tensor<4x4x3x5xf32>
  %m = cleave.mul %p, %factor : tensor<4x4x3x5xf32>
  %d = cleave.select %c, %m, %zero : tensor<4x4x3x5xi1>, tensor<4x4x3x5xf32>
  %y = cleave.matmul %d, %k : tensor<4x4x3x5xf32>, tensor<4x4x5x8xf32> -> tensor<4x4x3x8xf32>
  return %y : tensor<4x4x3x8xf32>
}

// -----

// Batch and heads are one dimension, and micro-batches follow one another in it.
// CHECK-LABEL: func @heads_in_batch
// CHECK: cleave.reshape %{{.*}} : tensor<8xi64> -> tensor<8x1xi64>
// CHECK: cleave.attention {{.*}} dropout(
func.func @heads_in_batch(%q: tensor<8x3x8xf32>, %k: tensor<8x5x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %o: tensor<3xi64>) -> tensor<8x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<8x3x5xf32>
  %factor = cleave.constant dense<1.25> : tensor<8x3x5xf32>
  %zero = cleave.constant dense<0.0> : tensor<8x3x5xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<8x3x8xf32>, tensor<8x5x8xf32> -> tensor<8x3x5xf32>
  %p = cleave.softmax %s, dim = 2 : tensor<8x3x5xf32>
  %u = cleave.random_uniform %seed, %step origin %o : tensor<3xi64> {site = 5 : i64, global_shape = array<i64: 24, 3, 5>} : tensor<i64>, tensor<i64> -> tensor<8x3x5xf32>
  %c = cleave.compare ge %u, %rate : tensor<8x3x5xf32>
  %m = cleave.mul %p, %factor : tensor<8x3x5xf32>
  %d = cleave.select %c, %m, %zero : tensor<8x3x5xi1>, tensor<8x3x5xf32>
  %y = cleave.matmul %d, %k : tensor<8x3x5xf32>, tensor<8x5x8xf32> -> tensor<8x3x8xf32>
  return %y : tensor<8x3x8xf32>
}

// -----

// Left alone: what is kept is not divided by 1 - rate.
// CHECK-LABEL: func @other_factor
// CHECK-NOT: cleave.attention
func.func @other_factor(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x3x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<1x1x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<1x1x3x3xf32>
  %factor = cleave.constant dense<1.2> : tensor<1x1x3x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<1x1x3x3xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %u = cleave.random_uniform %seed, %step {site = 5 : i64, global_shape = array<i64: 1, 1, 3, 3>} : tensor<i64>, tensor<i64> -> tensor<1x1x3x3xf32>
  %c = cleave.compare ge %u, %rate : tensor<1x1x3x3xf32>
  %m = cleave.mul %p, %factor : tensor<1x1x3x3xf32>
  %d = cleave.select %c, %m, %zero : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
  %y = cleave.matmul %d, %k : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// -----

// What is dropped is not 0.
// CHECK-LABEL: func @other_fill
// CHECK-NOT: cleave.attention
func.func @other_fill(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x3x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<1x1x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<1x1x3x3xf32>
  %factor = cleave.constant dense<1.25> : tensor<1x1x3x3xf32>
  %zero = cleave.constant dense<1.0> : tensor<1x1x3x3xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %u = cleave.random_uniform %seed, %step {site = 5 : i64, global_shape = array<i64: 1, 1, 3, 3>} : tensor<i64>, tensor<i64> -> tensor<1x1x3x3xf32>
  %c = cleave.compare ge %u, %rate : tensor<1x1x3x3xf32>
  %m = cleave.mul %p, %factor : tensor<1x1x3x3xf32>
  %d = cleave.select %c, %m, %zero : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
  %y = cleave.matmul %d, %k : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// -----

// What is kept is below the rate.
// CHECK-LABEL: func @other_side
// CHECK-NOT: cleave.attention
func.func @other_side(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x3x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<1x1x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<1x1x3x3xf32>
  %factor = cleave.constant dense<1.25> : tensor<1x1x3x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<1x1x3x3xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %u = cleave.random_uniform %seed, %step {site = 5 : i64, global_shape = array<i64: 1, 1, 3, 3>} : tensor<i64>, tensor<i64> -> tensor<1x1x3x3xf32>
  %c = cleave.compare lt %u, %rate : tensor<1x1x3x3xf32>
  %m = cleave.mul %p, %factor : tensor<1x1x3x3xf32>
  %d = cleave.select %c, %m, %zero : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
  %y = cleave.matmul %d, %k : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// -----

// The numbers are others than those of f32.
// CHECK-LABEL: func @other_numbers
// CHECK-NOT: cleave.attention
func.func @other_numbers(%q: tensor<1x1x3x8xf32>, %k: tensor<1x1x3x8xf32>, %seed: tensor<i64>, %step: tensor<i64>) -> tensor<1x1x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<1x1x3x3xf16>
  %factor = cleave.constant dense<1.25> : tensor<1x1x3x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<1x1x3x3xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<1x1x3x8xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<1x1x3x3xf32>
  %u = cleave.random_uniform %seed, %step {site = 5 : i64, global_shape = array<i64: 1, 1, 3, 3>} : tensor<i64>, tensor<i64> -> tensor<1x1x3x3xf16>
  %c = cleave.compare ge %u, %rate : tensor<1x1x3x3xf16>
  %m = cleave.mul %p, %factor : tensor<1x1x3x3xf32>
  %d = cleave.select %c, %m, %zero : tensor<1x1x3x3xi1>, tensor<1x1x3x3xf32>
  %y = cleave.matmul %d, %k : tensor<1x1x3x3xf32>, tensor<1x1x3x8xf32> -> tensor<1x1x3x8xf32>
  return %y : tensor<1x1x3x8xf32>
}

// -----

// Rows of the whole tensor are longer.
// CHECK-LABEL: func @other_order
// CHECK-NOT: cleave.attention
func.func @other_order(%q: tensor<2x4x3x8xf32>, %k: tensor<2x4x3x8xf32>, %seed: tensor<i64>, %step: tensor<i64>, %o: tensor<4xi64>) -> tensor<2x4x3x8xf32> {
  %rate = cleave.constant dense<0.2> : tensor<2x4x3x3xf32>
  %factor = cleave.constant dense<1.25> : tensor<2x4x3x3xf32>
  %zero = cleave.constant dense<0.0> : tensor<2x4x3x3xf32>
  %s = cleave.matmul %q, %k {transpose_rhs} : tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x3xf32>
  %p = cleave.softmax %s, dim = 3 : tensor<2x4x3x3xf32>
  %u = cleave.random_uniform %seed, %step origin %o : tensor<4xi64> {site = 5 : i64, global_shape = array<i64: 2, 4, 3, 9>} : tensor<i64>, tensor<i64> -> tensor<2x4x3x3xf32>
  %c = cleave.compare ge %u, %rate : tensor<2x4x3x3xf32>
  %m = cleave.mul %p, %factor : tensor<2x4x3x3xf32>
  %d = cleave.select %c, %m, %zero : tensor<2x4x3x3xi1>, tensor<2x4x3x3xf32>
  %y = cleave.matmul %d, %k : tensor<2x4x3x3xf32>, tensor<2x4x3x8xf32> -> tensor<2x4x3x8xf32>
  return %y : tensor<2x4x3x8xf32>
}
