// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels))' -split-input-file | FileCheck %s

// A rounded value is stored, and so its widening is not: the kernel behind the product reads the narrow one, as the first does.
// CHECK-LABEL: func.func @widened
// CHECK:       %[[K:.*]]:2 = cleave.kernel ins(%{{.*}} : tensor<64x256xf32>) -> tensor<64x256xbf16>, tensor<64xf32>
// CHECK:       cleave.matmul %[[K]]#0
// CHECK:       cleave.kernel ins(%[[K]]#0, %{{.*}} : tensor<64x256xbf16>, tensor<64x256xbf16>)
// CHECK:       return
func.func @widened(%x: tensor<64x256xf32>, %w: tensor<256x256xbf16>) -> (tensor<64xf32>, tensor<64x256xf32>) {
  %e = cleave.exp %x : tensor<64x256xf32>
  %n = cleave.cast %e : tensor<64x256xf32> -> tensor<64x256xbf16>
  %f = cleave.cast %n : tensor<64x256xbf16> -> tensor<64x256xf32>
  %s = cleave.reduce sum %f, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %m = cleave.matmul %n, %w : tensor<64x256xbf16>, tensor<256x256xbf16> -> tensor<64x256xbf16>
  %g = cleave.cast %m : tensor<64x256xbf16> -> tensor<64x256xf32>
  %y = cleave.add %f, %g : tensor<64x256xf32>
  return %s, %y : tensor<64xf32>, tensor<64x256xf32>
}

// -----

// Nobody stores the rounded value yet: it is stored instead of the wide one.
// CHECK-LABEL: func.func @stored_instead
// CHECK:       %[[K:.*]]:2 = cleave.kernel ins(%{{.*}} : tensor<64x256xf32>) -> tensor<64x256xbf16>, tensor<64xf32>
// CHECK:       cleave.kernel ins(%[[K]]#0 : tensor<64x256xbf16>) -> tensor<256xf32>
func.func @stored_instead(%x: tensor<64x256xf32>) -> (tensor<64xf32>, tensor<256xf32>) {
  %e = cleave.exp %x : tensor<64x256xf32>
  %n = cleave.cast %e : tensor<64x256xf32> -> tensor<64x256xbf16>
  %f = cleave.cast %n : tensor<64x256xbf16> -> tensor<64x256xf32>
  %q = cleave.sqrt %f : tensor<64x256xf32>
  %r = cleave.neg %q : tensor<64x256xf32>
  %rows = cleave.reduce sum %f, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %columns = cleave.reduce sum %r, [0] : tensor<64x256xf32> -> tensor<256xf32>
  return %rows, %columns : tensor<64xf32>, tensor<256xf32>
}

// -----

// A chain of ops: numbers in units of their rows' deviation, of narrow numbers and two numbers a row.
// CHECK-LABEL: func.func @normalized
// CHECK-SAME:  (%[[X:.*]]: tensor<64x256xbf16>, %[[MEAN:[^:]*]]: tensor<64xf32>, %[[RSTD:[^:]*]]: tensor<64xf32>)
// CHECK-DAG:   cleave.kernel ins({{.*}}%[[X]]{{.*}}) -> tensor<64xf32>
// CHECK-DAG:   cleave.kernel ins({{.*}}%[[X]]{{.*}}) -> tensor<256xf32>
// CHECK-NOT:   cleave.kernel
func.func @normalized(%x: tensor<64x256xbf16>, %mean: tensor<64xf32>, %rstd: tensor<64xf32>) -> (tensor<64xf32>, tensor<256xf32>) {
  %f = cleave.cast %x : tensor<64x256xbf16> -> tensor<64x256xf32>
  %m = cleave.broadcast %mean, [0] : tensor<64xf32> -> tensor<64x256xf32>
  %c = cleave.sub %f, %m : tensor<64x256xf32>
  %r = cleave.broadcast %rstd, [0] : tensor<64xf32> -> tensor<64x256xf32>
  %n = cleave.mul %c, %r : tensor<64x256xf32>
  %rows = cleave.reduce sum %n, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %columns = cleave.reduce sum %n, [0] : tensor<64x256xf32> -> tensor<256xf32>
  return %rows, %columns : tensor<64xf32>, tensor<256xf32>
}

// -----

// A sum of three matrices is stored, as the three would have to be read again.
// CHECK-LABEL: func.func @three_for_one
// CHECK:       %[[K:.*]]:2 = cleave.kernel {{.*}} -> tensor<64x256xf32>, tensor<64xf32>
// CHECK:       cleave.kernel ins(%[[K]]#0 : tensor<64x256xf32>) -> tensor<256xf32>
func.func @three_for_one(%a: tensor<64x256xbf16>, %b: tensor<64x256xbf16>, %c: tensor<64x256xbf16>) -> (tensor<64xf32>, tensor<256xf32>) {
  %fa = cleave.cast %a : tensor<64x256xbf16> -> tensor<64x256xf32>
  %fb = cleave.cast %b : tensor<64x256xbf16> -> tensor<64x256xf32>
  %fc = cleave.cast %c : tensor<64x256xbf16> -> tensor<64x256xf32>
  %ab = cleave.add %fa, %fb : tensor<64x256xf32>
  %abc = cleave.add %ab, %fc : tensor<64x256xf32>
  %rows = cleave.reduce sum %abc, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %columns = cleave.reduce sum %abc, [0] : tensor<64x256xf32> -> tensor<256xf32>
  return %rows, %columns : tensor<64xf32>, tensor<256xf32>
}

// -----

// A product reads the value: it is stored in any case, and read.
// CHECK-LABEL: func.func @needed
// CHECK:       %[[K:.*]]:2 = cleave.kernel ins(%{{.*}} : tensor<64x256xf32>) -> tensor<64x256xf32>, tensor<64xf32>
// CHECK:       cleave.matmul %[[K]]#0
// CHECK:       cleave.kernel ins(%[[K]]#0 : tensor<64x256xf32>) -> tensor<256xf32>
func.func @needed(%x: tensor<64x256xf32>, %w: tensor<256x4xf32>) -> (tensor<64xf32>, tensor<256xf32>, tensor<64x4xf32>) {
  %e = cleave.exp %x : tensor<64x256xf32>
  %rows = cleave.reduce sum %e, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %m = cleave.matmul %e, %w : tensor<64x256xf32>, tensor<256x4xf32> -> tensor<64x4xf32>
  %columns = cleave.reduce sum %e, [0] : tensor<64x256xf32> -> tensor<256xf32>
  return %rows, %columns, %m : tensor<64xf32>, tensor<256xf32>, tensor<64x4xf32>
}

// -----

// Sums are not made twice: another kernel might add in another order. They are stored, and the rest is made again.
// CHECK-LABEL: func.func @sums_once
// CHECK:       %[[K:.*]]:2 = cleave.kernel ins(%[[X:.*]] : tensor<64x256xbf16>) -> tensor<64xf32>, tensor<64xf32>
// CHECK:       cleave.kernel ins({{.*}}) -> tensor<256xf32>
// CHECK-NOT:   sum {{.*}}, [1]
// CHECK:       return
func.func @sums_once(%x: tensor<64x256xbf16>) -> (tensor<64xf32>, tensor<256xf32>) {
  %f = cleave.cast %x : tensor<64x256xbf16> -> tensor<64x256xf32>
  %s = cleave.reduce sum %f, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %b = cleave.broadcast %s, [0] : tensor<64xf32> -> tensor<64x256xf32>
  %c = cleave.sub %f, %b : tensor<64x256xf32>
  %q = cleave.mul %c, %c : tensor<64x256xf32>
  %rows = cleave.reduce sum %q, [1] : tensor<64x256xf32> -> tensor<64xf32>
  %columns = cleave.reduce sum %c, [0] : tensor<64x256xf32> -> tensor<256xf32>
  return %rows, %columns : tensor<64xf32>, tensor<256xf32>
}
