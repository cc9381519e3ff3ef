// RUN: cleave-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: func @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: return %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = cleave.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
  %1 = cleave.reshape %0 : tensor<6xf32> -> tensor<2x3xf32>
  %2 = cleave.transpose %1, [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
  %3 = cleave.transpose %2, [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
  %4 = cleave.broadcast %3, [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = cleave.slice %4, [0, 0], [2, 3], [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = cleave.concat %5 dim = 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  return %6 : tensor<2x3xf32>
}

// CHECK-LABEL: func @chains
func.func @chains(%x: tensor<2x3x4xf32>, %y: tensor<16xf32>, %z: tensor<3xf32>)
    -> (tensor<4x2x3xf32>, tensor<2xf32>, tensor<5x2x3xf32>) {
  // CHECK-DAG: cleave.transpose %{{.*}}, [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %0 = cleave.transpose %x, [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  %1 = cleave.transpose %0, [1, 2, 0] : tensor<3x4x2xf32> -> tensor<4x2x3xf32>
  // CHECK-DAG: cleave.slice %{{.*}}, [4], [2], [6] : tensor<16xf32> -> tensor<2xf32>
  %2 = cleave.slice %y, [1], [5], [3] : tensor<16xf32> -> tensor<5xf32>
  %3 = cleave.slice %2, [1], [2], [2] : tensor<5xf32> -> tensor<2xf32>
  // CHECK-DAG: cleave.broadcast %{{.*}}, [2] : tensor<3xf32> -> tensor<5x2x3xf32>
  %4 = cleave.broadcast %z, [1] : tensor<3xf32> -> tensor<2x3xf32>
  %5 = cleave.broadcast %4, [1, 2] : tensor<2x3xf32> -> tensor<5x2x3xf32>
  return %1, %3, %5 : tensor<4x2x3xf32>, tensor<2xf32>, tensor<5x2x3xf32>
}

// A reshape between two broadcasts may add and remove dimensions of size 1.
// CHECK-LABEL: func @broadcasts_around_reshapes
// CHECK-SAME: (%[[X:.*]]: tensor<3x4xf32>, %[[Y:.*]]: tensor<4xf32>, %[[Z:.*]]: tensor<6xf32>)
// CHECK-NEXT: %[[A:.*]] = cleave.broadcast %[[X]], [2, 3] : tensor<3x4xf32> -> tensor<2x5x3x4xf32>
// CHECK-NEXT: %[[B:.*]] = cleave.broadcast %[[Y]], [3] : tensor<4xf32> -> tensor<1x3x2x4xf32>
// CHECK-NEXT: %[[C:.*]] = cleave.broadcast %[[Z]], [1]
// CHECK-NEXT: %[[D:.*]] = cleave.reshape %[[C]] : tensor<2x6xf32> -> tensor<4x3xf32>
// CHECK-NEXT: %[[E:.*]] = cleave.broadcast %[[D]], [1, 2]
// CHECK-NEXT: return %[[A]], %[[B]], %[[E]]
func.func @broadcasts_around_reshapes(%x: tensor<3x4xf32>, %y: tensor<4xf32>, %z: tensor<6xf32>)
    -> (tensor<2x5x3x4xf32>, tensor<1x3x2x4xf32>, tensor<2x4x3xf32>) {
  %0 = cleave.broadcast %x, [2, 3] : tensor<3x4xf32> -> tensor<2x1x3x4xf32>
  %1 = cleave.reshape %0 : tensor<2x1x3x4xf32> -> tensor<2x3x4xf32>
  %2 = cleave.broadcast %1, [0, 2, 3] : tensor<2x3x4xf32> -> tensor<2x5x3x4xf32>
  %3 = cleave.broadcast %y, [1] : tensor<4xf32> -> tensor<2x4xf32>
  %4 = cleave.reshape %3 : tensor<2x4xf32> -> tensor<1x2x1x4xf32>
  %5 = cleave.reshape %4 : tensor<1x2x1x4xf32> -> tensor<1x1x2x4xf32>
  %6 = cleave.reshape %5 : tensor<1x1x2x4xf32> -> tensor<1x2x4xf32>
  %7 = cleave.broadcast %6, [0, 2, 3] : tensor<1x2x4xf32> -> tensor<1x3x2x4xf32>
  %8 = cleave.broadcast %z, [1] : tensor<6xf32> -> tensor<2x6xf32>
  %9 = cleave.reshape %8 : tensor<2x6xf32> -> tensor<4x3xf32>
  %10 = cleave.broadcast %9, [1, 2] : tensor<4x3xf32> -> tensor<2x4x3xf32>
  return %2, %7, %10 : tensor<2x5x3x4xf32>, tensor<1x3x2x4xf32>, tensor<2x4x3xf32>
}

// CHECK-LABEL: func @constants
// CHECK-DAG: dense<[{{\[}}1, 4], [2, 5], [3, 6{{\]}}]> : tensor<3x2xi64>
// CHECK-DAG: dense<[{{\[}}2, 3], [5, 6{{\]}}]> : tensor<2x2xi64>
// CHECK-DAG: dense<[{{\[}}1, 2, 3, 9], [4, 5, 6, 9{{\]}}]> : tensor<2x4xi64>
// CHECK-DAG: dense<9> : tensor<1000000xi64>
func.func @constants() -> (tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x4xi64>, tensor<1000000xi64>) {
  %a = cleave.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>
  %b = cleave.constant dense<9> : tensor<2x1xi64>
  %c = cleave.constant dense<9> : tensor<i64>
  %0 = cleave.transpose %a, [1, 0] : tensor<2x3xi64> -> tensor<3x2xi64>
  %1 = cleave.slice %a, [0, 1], [2, 2], [1, 1] : tensor<2x3xi64> -> tensor<2x2xi64>
  %2 = cleave.concat %a, %b dim = 1 : tensor<2x3xi64>, tensor<2x1xi64> -> tensor<2x4xi64>
  %3 = cleave.broadcast %c, [] : tensor<i64> -> tensor<1000000xi64>
  return %0, %1, %2, %3 : tensor<3x2xi64>, tensor<2x2xi64>, tensor<2x4xi64>, tensor<1000000xi64>
}
