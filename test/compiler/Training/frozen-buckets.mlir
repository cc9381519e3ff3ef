// RUN: cleave-opt %s -training-pipeline="precision=bf16 split-parameters data-ranks=2" -canonicalize -cse -verify-step | FileCheck %s --check-prefix=STEP
// RUN: cleave-opt %s -training-pipeline="precision=bf16 split-parameters data-ranks=2" -canonicalize -cse \
// RUN:   -assign-shardings="fsdp-strategy=full-shard" -partition -verify-sharded | FileCheck %s
// RUN: cleave-opt %s -training-pipeline="precision=bf16 data-ranks=2" -canonicalize -cse | FileCheck %s --check-prefix=WHOLE

// Frozen parameters that are read in bf16 share a bucket of the model's type, which is narrowed before it is cut. Members begin on multiples
// of 128 bytes in both types: w0 has 16 x 8 elements, 512 bytes; @scale begins at element 128, @w1 at 192, not at 160. A frozen parameter that
// is f64 is read as it is stored, and in another bucket.
// STEP: cleave.state @bucket0 : tensor<{{.*}}xbf16>
// STEP: cleave.state @frozen0 : tensor<{{[0-9]+}}xf32> {frozen,
// STEP-SAME: "w0", tensor<16x8xf32>, offset = 0,{{.*}}"scale", tensor<8xf32>, offset = 128,{{.*}}"w1", tensor<8x8xf32>, offset = 192,
// STEP: cleave.state @frozen1 : tensor<{{[0-9]+}}xf64> {frozen, {{.*}}"shift"
// STEP-LABEL: func @c0.bwd
// STEP: %[[READ:.*]] = cleave.read @frozen0 : tensor<[[N:[0-9]+]]xf32>
// STEP: %[[NARROW:.*]] = cleave.cast %[[READ]] : tensor<[[N]]xf32> -> tensor<[[N]]xbf16>
// STEP: cleave.slice %[[NARROW]], [192], [64], [1] : tensor<[[N]]xbf16> -> tensor<64xbf16>

// Split over two ranks: each casts its part, and what is gathered is narrow, in each function.
// CHECK-LABEL: func @c0.fwd
// CHECK: %[[PART:.*]] = cleave.read @frozen0 : tensor<128xf32>
// CHECK: %[[CAST:.*]] = cleave.cast %[[PART]] : tensor<128xf32> -> tensor<128xbf16>
// CHECK: shard.all_gather %[[CAST]] {{.*}} : tensor<128xbf16> -> tensor<256xbf16>
// CHECK-LABEL: func @c0.bwd
// CHECK: %[[PART:.*]] = cleave.read @frozen0 : tensor<128xf32>
// CHECK: %[[CAST:.*]] = cleave.cast %[[PART]] : tensor<128xf32> -> tensor<128xbf16>
// CHECK: shard.all_gather %[[CAST]] {{.*}} : tensor<128xbf16> -> tensor<256xbf16>

// Where they are stored whole there is nothing to pack, and each is cast for itself.
// WHOLE-NOT: @frozen0
// WHOLE-LABEL: func @c0.fwd
// WHOLE: %[[W:.*]] = cleave.read @w0 : tensor<16x8xf32>
// WHOLE: cleave.cast %[[W]] : tensor<16x8xf32> -> tensor<16x8xbf16>
module attributes {cleave.level = "model", cleave.mesh = #cleave.mesh<["fsdp"], [2]>} {
  cleave.state @w0 : tensor<16x8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"w0", tensor<16x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @scale : tensor<8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"scale", tensor<8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @w1 : tensor<8x8xf32> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"w1", tensor<8x8xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @shift : tensor<8xf64> {role = #cleave.role<parameter>, frozen, segments = [#cleave.segment<"shift", tensor<8xf64>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @first : tensor<8x16xf32> {role = #cleave.role<parameter>, segments = [#cleave.segment<"first", tensor<8x16xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @model(%x: tensor<6x8xf32> {cleave.name = "x", cleave.batch_dim = 0 : i64}) -> (tensor<f32> {cleave.name = "loss", cleave.loss}) {
    %f = cleave.read @first : tensor<8x16xf32>
    %w0 = cleave.read @w0 : tensor<16x8xf32>
    %s = cleave.read @scale : tensor<8xf32>
    %w1 = cleave.read @w1 : tensor<8x8xf32>
    %t = cleave.read @shift : tensor<8xf64>
    %0 = cleave.matmul %x, %f : tensor<6x8xf32>, tensor<8x16xf32> -> tensor<6x16xf32>
    %1 = cleave.matmul %0, %w0 : tensor<6x16xf32>, tensor<16x8xf32> -> tensor<6x8xf32>
    %2 = cleave.broadcast %s, [1] : tensor<8xf32> -> tensor<6x8xf32>
    %3 = cleave.mul %1, %2 : tensor<6x8xf32>
    %4 = cleave.matmul %3, %w1 : tensor<6x8xf32>, tensor<8x8xf32> -> tensor<6x8xf32>
    %5 = cleave.cast %4 : tensor<6x8xf32> -> tensor<6x8xf64>
    %6 = cleave.broadcast %t, [1] : tensor<8xf64> -> tensor<6x8xf64>
    %7 = cleave.mul %5, %6 : tensor<6x8xf64>
    %8 = cleave.cast %7 : tensor<6x8xf64> -> tensor<6x8xf32>
    %9 = cleave.reduce sum %8, [0, 1] : tensor<6x8xf32> -> tensor<f32>
    return %9 : tensor<f32>
  }
}
