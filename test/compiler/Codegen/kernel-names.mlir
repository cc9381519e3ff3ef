// A kernel is called after the node whose work it does. A cheap op that several nodes read (here the broadcast of a bias that they share; the import
// merges equal ops, and keeps the first one's place) is copied into each kernel, and the copy is called as its reader is.
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels))' -mlir-print-debuginfo | FileCheck %s
// RUN: cleave-opt %s -pass-pipeline='builtin.module(func.func(form-kernels))' -mlir-print-debuginfo | FileCheck %s --check-prefix=ONE

// CHECK-LABEL: func.func @layers
// CHECK:       cleave.kernel ins
// CHECK:       } loc(#[[NORM:.*]])
// CHECK:       cleave.kernel ins
// CHECK:       } loc(#[[QUERY:.*]])
// CHECK:       cleave.kernel ins
// CHECK:       } loc(#[[KEY:.*]])
// CHECK-DAG:   #[[NORM]] = loc("norm")
// CHECK-DAG:   #[[QUERY]] = loc("query")
// CHECK-DAG:   #[[KEY]] = loc("key")
// A chain of cheap ops is its last reader's as a whole: no name but the readers' is left.
// ONE-NOT:     loc("broadcast")
// ONE-NOT:     loc("scale")
func.func @layers(%x: tensor<8x4xf32>, %y: tensor<4x4xf32>, %b: tensor<4xf32>) -> tensor<8x4xf32> {
  %half = cleave.constant dense<0.5> : tensor<8x4xf32> loc("scale")
  %shared = cleave.broadcast %b, [1] : tensor<4xf32> -> tensor<8x4xf32> loc("broadcast")
  %scaled = cleave.mul %shared, %half : tensor<8x4xf32> loc("broadcast")
  %0 = cleave.add %x, %scaled : tensor<8x4xf32> loc("norm")
  %1 = cleave.matmul %0, %y : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32> loc("product")
  %2 = cleave.add %1, %scaled : tensor<8x4xf32> loc("query")
  %3 = cleave.matmul %2, %y : tensor<8x4xf32>, tensor<4x4xf32> -> tensor<8x4xf32> loc("product")
  %4 = cleave.add %3, %scaled : tensor<8x4xf32> loc("key")
  return %4 : tensor<8x4xf32>
}
