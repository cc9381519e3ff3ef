// RUN: cleave-opt %s -apply-precision="precision=param=bf16,buffer=fp16" -canonicalize -cse | FileCheck %s
// RUN: cleave-opt %s -apply-precision="precision=buffer=bf16" -canonicalize -cse | FileCheck %s --check-prefix=BUFFER
// RUN: cleave-opt %s -apply-precision="precision=f32" -canonicalize -cse | FileCheck %s --check-prefix=SAME
// RUN: not cleave-opt %s -apply-precision="precision=int8" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: unknown type 'int8'; expected f32, bf16 or fp16

// Parameters and buffers change their types, constants and scalars do not.
// CHECK: cleave.state @w1 : tensor<8x8xbf16> {{.*}}"w1", tensor<8x8xbf16>
// CHECK: cleave.state @running : tensor<8xf16>
// CHECK: cleave.state @mask : tensor<6x8xf32>
// BUFFER: cleave.state @w1 : tensor<8x8xf32>
// BUFFER: cleave.state @running : tensor<8xbf16>
// BUFFER-LABEL: func @chain
// BUFFER-NOT: cleave.cast
// BUFFER: cleave.matmul {{.*}} -> tensor<6x8xf32>
// SAME-LABEL: func @model
// SAME-NOT: cleave.cast
// SAME: return
cleave.state @w1 : tensor<8x8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"w1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @table : tensor<10x8xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"table", tensor<10x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @running : tensor<8xf32> {role = #cleave.role<buffer>, segments = [#cleave.segment<"running", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
cleave.state @mask : tensor<6x8xf32> {role = #cleave.role<constant>, segments = [#cleave.segment<"mask", tensor<6x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// A product takes and gives bf16; the chain to the next one is f32, rounded at its end. What moves, moves in bf16.
// CHECK-LABEL: func @chain
// CHECK-SAME: (%[[X:.*]]: tensor<6x8xf32>) -> (tensor<8x6xf32>, tensor<6x8xf32>)
// CHECK: %[[W:.*]] = cleave.read @w1 : tensor<8x8xbf16>
// CHECK: %[[N:.*]] = cleave.cast %[[X]] : tensor<6x8xf32> -> tensor<6x8xbf16>
// CHECK: %[[Y:.*]] = cleave.matmul %[[N]], %[[W]] : tensor<6x8xbf16>, tensor<8x8xbf16> -> tensor<6x8xbf16>
// CHECK-DAG: cleave.transpose %[[Y]], [1, 0] : tensor<6x8xbf16> -> tensor<8x6xbf16>
// CHECK-DAG: %[[F:.*]] = cleave.cast %[[Y]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK: %[[TANH:.*]] = cleave.tanh %[[F]] : tensor<6x8xf32>
// CHECK: %[[EXP:.*]] = cleave.exp %[[TANH]] : tensor<6x8xf32>
// CHECK: %[[R:.*]] = cleave.cast %[[EXP]] : tensor<6x8xf32> -> tensor<6x8xbf16>
// CHECK: %[[Z:.*]] = cleave.matmul %[[R]], %[[W]]
// CHECK: %[[TAIL:.*]] = cleave.cast %[[Z]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK: cleave.softmax %[[TAIL]], dim = 1 : tensor<6x8xf32>
func.func @chain(%x: tensor<6x8xf32>) -> (tensor<8x6xf32>, tensor<6x8xf32>) {
  %w = cleave.read @w1 : tensor<8x8xf32>
  %y = cleave.matmul %x, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %t = cleave.transpose %y, [1, 0] : tensor<6x8xf32> -> tensor<8x6xf32>
  %a = cleave.tanh %y : tensor<6x8xf32>
  %b = cleave.exp %a : tensor<6x8xf32>
  %z = cleave.matmul %b, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %s = cleave.softmax %z, dim = 1 : tensor<6x8xf32>
  return %t, %s : tensor<8x6xf32>, tensor<6x8xf32>
}

// A bias is of its product: added in f32, before the result is rounded. That of the last product is of the tail, which is f32.
// CHECK-LABEL: func @biased
// CHECK: %[[Y:.*]] = cleave.matmul %{{.*}}, %{{.*}} bias %{{.*}} : tensor<6x8xbf16>, tensor<8x8xbf16>, tensor<8xbf16> -> tensor<6x8xbf16>
// CHECK: cleave.cast %[[Y]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK: %[[Z:.*]] = cleave.matmul %{{[^ ]*}}, %{{[^ ]*}} : tensor<6x8xbf16>, tensor<8x8xbf16> -> tensor<6x8xbf16>
// CHECK: %[[F:.*]] = cleave.cast %[[Z]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK: %[[B:.*]] = cleave.broadcast %{{.*}}, [1] : tensor<8xf32> -> tensor<6x8xf32>
// CHECK: %[[S:.*]] = cleave.add %[[F]], %[[B]] : tensor<6x8xf32>
// CHECK: return %[[S]]
func.func @biased(%x: tensor<6x8xf32>, %b: tensor<8xf32>) -> tensor<6x8xf32> {
  %w = cleave.read @w1 : tensor<8x8xf32>
  %y = cleave.matmul %x, %w bias %b : tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<6x8xf32>
  %a = cleave.tanh %y : tensor<6x8xf32>
  %z = cleave.matmul %a, %w bias %b : tensor<6x8xf32>, tensor<8x8xf32>, tensor<8xf32> -> tensor<6x8xf32>
  return %z : tensor<6x8xf32>
}

// A value with two users before a product is kept, and so rounded: the residual connection. Its statistic is not.
// CHECK-LABEL: func @residual
// CHECK: %[[ROWS:.*]] = cleave.take {{.*}} -> tensor<6x8xbf16>
// CHECK: %[[H:.*]] = cleave.tanh
// CHECK: %[[HN:.*]] = cleave.cast %[[H]] : tensor<6x8xf32> -> tensor<6x8xbf16>
// CHECK: %[[HW:.*]] = cleave.cast %[[HN]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK: %[[SUM:.*]] = cleave.reduce sum %[[HW]], [1] : tensor<6x8xf32> -> tensor<6xf32>
// CHECK-NOT: bf16
// CHECK: %[[SCALED:.*]] = cleave.mul %[[SUM]]
// CHECK-NOT: bf16
// CHECK: cleave.sub %[[HW]],
// CHECK: cleave.matmul {{.*}} -> tensor<6x8xbf16>
func.func @residual(%i: tensor<6xi64>) -> tensor<6x8xf32> {
  %table = cleave.read @table : tensor<10x8xf32>
  %w = cleave.read @w1 : tensor<8x8xf32>
  %rows = cleave.take %table, %i, dim = 0 : tensor<10x8xf32>, tensor<6xi64> -> tensor<6x8xf32>
  %h = cleave.tanh %rows : tensor<6x8xf32>
  %sum = cleave.reduce sum %h, [1] : tensor<6x8xf32> -> tensor<6xf32>
  %eighth = cleave.constant dense<0.125> : tensor<6xf32>
  %mean = cleave.mul %sum, %eighth : tensor<6xf32>
  %spread = cleave.broadcast %mean, [0] : tensor<6xf32> -> tensor<6x8xf32>
  %again = cleave.broadcast %mean, [0] : tensor<6xf32> -> tensor<6x8xf32>
  %c = cleave.sub %h, %spread : tensor<6x8xf32>
  %d = cleave.add %c, %again : tensor<6x8xf32>
  %y = cleave.matmul %d, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}

// Inside of an operator (cleave.inner) nothing is rounded: |x| has two users, and so has the result. The marks are gone.
// CHECK-LABEL: func @operator
// CHECK: %[[Y:.*]] = cleave.matmul {{.*}} -> tensor<6x8xbf16>
// CHECK: %[[F:.*]] = cleave.cast %[[Y]] : tensor<6x8xbf16> -> tensor<6x8xf32>
// CHECK-NEXT: %[[SIZE:.*]] = cleave.abs %[[F]] : tensor<6x8xf32>
// CHECK-NEXT: %[[ROOT:.*]] = cleave.sqrt %[[SIZE]] : tensor<6x8xf32>
// CHECK-NEXT: %[[RESULT:.*]] = cleave.mul %[[SIZE]], %[[ROOT]] : tensor<6x8xf32>
// CHECK-NEXT: %[[ROUNDED:.*]] = cleave.cast %[[RESULT]] : tensor<6x8xf32> -> tensor<6x8xbf16>
// CHECK-NOT: cleave.inner
// CHECK: cleave.matmul %[[ROUNDED]],
func.func @operator(%x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %w = cleave.read @w1 : tensor<8x8xf32>
  %y = cleave.matmul %x, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %a = cleave.abs %y {cleave.inner} : tensor<6x8xf32>
  %s = cleave.sqrt %a {cleave.inner} : tensor<6x8xf32>
  %r = cleave.mul %a, %s : tensor<6x8xf32>
  %z = cleave.matmul %r, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  return %z, %r : tensor<6x8xf32>, tensor<6x8xf32>
}

// A mask that no parameter reaches keeps f32's range, and a product of it its type. Buffers are read and written in their own.
// CHECK-LABEL: func @model
// CHECK-DAG: %[[MASK:.*]] = cleave.read @mask : tensor<6x8xf32>
// CHECK-DAG: %[[OLD:.*]] = cleave.read @running : tensor<8xf16>
// CHECK: cleave.matmul {{.*}} -> tensor<6x6xf32>
// CHECK: cleave.matmul {{.*}} -> tensor<6x8xbf16>
// CHECK: cleave.add %{{.*}}, %[[MASK]] : tensor<6x8xf32>
// CHECK: %[[NEW:.*]] = cleave.cast %{{.*}} : tensor<8xf32> -> tensor<8xf16>
// CHECK: cleave.write %[[NEW]], @running : tensor<8xf16>
func.func @model(%x: tensor<6x8xf32>) -> (tensor<6x8xf32>, tensor<6x6xf32>) {
  %mask = cleave.read @mask : tensor<6x8xf32>
  %old = cleave.read @running : tensor<8xf32>
  %w = cleave.read @w1 : tensor<8x8xf32>
  %p = cleave.matmul %mask, %mask {transpose_rhs} : tensor<6x8xf32>, tensor<6x8xf32> -> tensor<6x6xf32>
  %y = cleave.matmul %x, %w : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
  %m = cleave.add %y, %mask : tensor<6x8xf32>
  %new = cleave.add %old, %old : tensor<8xf32>
  cleave.write %new, @running : tensor<8xf32>
  return %m, %p : tensor<6x8xf32>, tensor<6x6xf32>
}
