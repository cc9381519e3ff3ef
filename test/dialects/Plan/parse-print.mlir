// RUN: cleave-opt %s | cleave-opt | FileCheck %s
// RUN: cleave-opt %s --mlir-print-op-generic | cleave-opt | FileCheck %s

// CHECK: plan.header target = "host:avx512" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute", "reduce"] {batch = 8 : i64, data_axes = ["dp"], micro_batches = 4 : i64}
plan.header target = "host:avx512" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute", "reduce"] {data_axes = ["dp"], micro_batches = 4 : i64, batch = 8 : i64}
// CHECK: plan.region @persistent persistent bytes = 32768 frames = 1
plan.region @persistent persistent bytes = 32768 frames = 1
// CHECK: plan.region @input input bytes = 4096 frames = 4
plan.region @input input bytes = 4096 frames = 4
// CHECK: plan.region @host.persistent persistent host bytes = 4096 frames = 1
plan.region @host.persistent persistent host bytes = 4096 frames = 1
// CHECK: plan.region @residual residual bytes = 128 frames = 12 counter block
plan.region @residual residual bytes = 128 frames = 12 counter block
// CHECK: plan.event @sent frames = 4
plan.event @sent frames = 4
// CHECK: plan.event @layer_done frames = 1 counter block
plan.event @layer_done frames = 1 counter block
plan.region @output output bytes = 8192 frames = 1
plan.region @transient transient bytes = 128 frames = 1
plan.region @communication communication bytes = 32 frames = 1
// CHECK: plan.group @dp axes = ["dp"]
plan.group @dp axes = ["dp"]
// CHECK: plan.group @second axes = ["dp"] only = {dp = array<i64: 1>}
plan.group @second axes = ["dp"] only = {dp = array<i64: 1>}
// CHECK: plan.state @w : tensor<8192xf32> parameter in "persistent" at 0 segments = [#plan.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = weights>]
plan.state @w : tensor<8192xf32> parameter in "persistent" at 0
  segments = [#plan.segment<"fc.weight", tensor<128x64xf32>, offset = 0, group = 0, init = weights>]
// Of a segment's further parts, each may stand alone.
// CHECK: plan.state @ones : tensor<4xf32> buffer in "persistent" at 0 segments = [#plan.segment<"ones", tensor<2xf32>, offset = 0, group = 0, init = constant, value = 1.000000e+00 : f32>, #plan.segment<"b", tensor<2xf32>, offset = 2, group = 1, init = weights, source = "b", aliases = ["c"]>]
plan.state @ones : tensor<4xf32> buffer in "persistent" at 0
  segments = [#plan.segment<"ones", tensor<2xf32>, offset = 0, group = 0, init = constant, value = 1.0 : f32>,
              #plan.segment<"b", tensor<2xf32>, offset = 2, group = 1, init = weights, source = "b", aliases = ["c"]>]
// CHECK: plan.kernel @matmul_0 library "matmul" params = [0, 0, 1, 1, 1, 8, 16, 4, 0, 0, 0] {flops = 1024 : i64}
plan.kernel @matmul_0 library "matmul" params = [0, 0, 1, 1, 1, 8, 16, 4, 0, 0, 0] {flops = 1024 : i64}
// CHECK: plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
// CHECK: plan.kernel @gelu generated "gelu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>] {extent = 2 : i64}
plan.kernel @gelu generated "gelu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>] {extent = 2 : i64}
// CHECK: plan.program @micro events = 0 {
plan.program @micro events = 0 {
}
// CHECK: plan.program @train_step entry events = 1 {
plan.program @train_step entry events = 1 {
  // CHECK: plan.input "tokens" : tensor<8x64xi64> in "input" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
  plan.input "tokens" : tensor<8x64xi64> in "input" at 0 {batch_dim = 0 : i64, split_axes = ["dp"]}
  // CHECK: plan.input "labels" : tensor<8x64xi64> {batch_dim = 0 : i64, split_axes = ["dp"]}
  plan.input "labels" : tensor<8x64xi64> {batch_dim = 0 : i64, split_axes = ["dp"]}
  // CHECK: plan.output "logits" : tensor<8x256xf32> in "output" at 0
  plan.output "logits" : tensor<8x256xf32> in "output" at 0
  // CHECK: plan.launch @relu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 64, 64, write>] on "compute" {note = "fc1"}
  plan.launch @relu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 64, 64, write>] on "compute" {note = "fc1"}
  // CHECK: plan.launch @gelu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 0, 64, write>] on "compute"
  plan.launch @gelu [#plan.buffer<"transient", 0, 64, read>, #plan.buffer<"transient", 0, 64, write>] on "compute"
  // CHECK: plan.copy <"transient", 64, 64, write>, <"transient", 0, 64, read> on "compute"
  plan.copy #plan.buffer<"transient", 64, 64, write>, #plan.buffer<"transient", 0, 64, read> on "compute"
  // CHECK: plan.fill <"transient", 0, 64, write> pattern = -1 width = 4 on "compute"
  plan.fill #plan.buffer<"transient", 0, 64, write> pattern = -1 width = 4 on "compute"
  // CHECK: plan.record 0 on "compute"
  plan.record 0 on "compute"
  // CHECK: plan.wait 0 on "reduce"
  plan.wait 0 on "reduce"
  // CHECK: plan.record @sent on "compute"
  plan.record @sent on "compute"
  // CHECK: plan.wait @sent[-2] on "reduce" {note = "y"}
  plan.wait @sent[-2] on "reduce" {note = "y"}
  // CHECK: plan.send <"residual"[-1], 0, 64, read> peer "dp" 1 channel 0 dtype f32 count = 16 on "reduce"
  plan.send #plan.buffer<"residual"[-1], 0, 64, read> peer "dp" 1 channel 0 dtype f32 count = 16 on "reduce"
  // CHECK: plan.recv <"residual"[1], 64, 64, write> peer "dp" -1 channel 1 dtype f32 count = 16 on "reduce" {note = "y"}
  plan.recv #plan.buffer<"residual"[1], 64, 64, write> peer "dp" -1 channel 1 dtype f32 count = 16 on "reduce" {note = "y"}
  // CHECK: plan.all_reduce sum <"persistent", 0, 64, read_write> staging <"communication", 0, 32, write> group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
  plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
    group @dp dtype f32 ring count = 16 on "reduce" {note = "bucket 0"}
  // CHECK: plan.reduce_scatter max
  plan.reduce_scatter max #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
    group @dp dtype f32 ring count = 16 on "reduce"
  // CHECK: plan.copy <"transient", 64, 32, write, share of @dp by 32>, <"transient", 0, 32, read> on "compute"
  plan.copy #plan.buffer<"transient", 64, 32, write, share of @dp by 32>, #plan.buffer<"transient", 0, 32, read> on "compute"
  // CHECK: plan.all_gather <"persistent", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "reduce"
  plan.all_gather #plan.buffer<"persistent", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "reduce"
  // CHECK: plan.reduce sum <"persistent", 0, 64, read_write> staging <"communication", 0, 32, write> group @dp dtype f32 ring count = 16 root = 1 on "reduce"
  plan.reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
    group @dp dtype f32 ring count = 16 root = 1 on "reduce"
  // CHECK: plan.broadcast <"persistent", 0, 64, write> group @dp dtype f32 ring count = 16 root = 1 on "reduce"
  plan.broadcast #plan.buffer<"persistent", 0, 64, write> group @dp dtype f32 ring count = 16 root = 1 on "reduce"
  // CHECK: plan.call @micro times = 2 first_frame = 1 on "compute"
  plan.call @micro times = 2 first_frame = 1 on "compute"
  // CHECK: plan.call @micro times = 3 first_frame = 2 skip 1 on "compute"
  plan.call @micro times = 3 first_frame = 2 skip 1 on "compute"
  // CHECK: plan.call @micro times = 12 first_frame = -1 counter block on "compute"
  plan.call @micro times = 12 first_frame = -1 counter block on "compute"
}

// A further kind of ranks is a module of its own.
module @worker {
  // CHECK: plan.header target = "host" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute"] {kind = "worker", where = {dp = array<i64: 1, 2>}}
  plan.header target = "host" threads = 2 axes = ["dp"] sizes = [2] streams = ["compute"] {kind = "worker", where = {dp = array<i64: 1, 2>}}
}
