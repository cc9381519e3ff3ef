// RUN: cleave-opt %s --split-input-file --verify-diagnostics

// constraint: plan.header: there are as many
// expected-error @+1 {{expected as many sizes as axes; got: 2 for 1}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2, 2] streams = ["compute"]

// -----

// constraint: plan.header: sizes are from
// expected-error @+1 {{expected positive sizes below 2^32; got: 0}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [0] streams = ["compute"]

// -----

// constraint: plan.header: `threads` is from
// expected-error @+1 {{expected a number of threads below 2^32; got: -1}}
plan.header target = "host" threads = -1 axes = ["dp"] sizes = [2] streams = ["compute"]

// -----

// constraint: plan.header: there is at least one
// expected-error @+1 {{expected at least one stream}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = []

// -----

// constraint: plan.header: `micro_batches`
// expected-error @+1 {{expected a positive number of micro-batches below 2^32; got: 0}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {micro_batches = 0 : i64}

// -----

// constraint: plan.header: every data axis
// expected-error @+1 {{expected data axes to be axes; got: "tp"}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {data_axes = ["tp"]}

// -----

// constraint: plan.region: bytes is not negative
// expected-error @+1 {{frames from 1 to 2^32 - 1; got: 8 bytes, 0 frames}}
plan.region @r transient bytes = 8 frames = 0

// -----

// constraint: plan.group: every axis is
// expected-error @+1 {{expected axes of the header; got: ["tp"]}}
plan.group @g axes = ["tp"]

// -----

// constraint: plan.state: the type has one
// expected-error @+1 {{expected a flat type; got: 'tensor<4x4xf32>'}}
plan.state @w : tensor<4x4xf32> parameter in "persistent" at 0 segments = []

// -----

// constraint: plan.state: the region exists
// expected-error @+1 {{expected a region; got: "persistent"}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = []

// -----

plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: the region exists
// expected-error @+1 {{expected to lie inside of region "persistent" of 64 bytes; got: 64 bytes at 64}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 64 segments = []

// -----

plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: every segment
// expected-error @+1 {{expected segments inside of the state}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [#plan.segment<"w", tensor<4x4xf32>, offset = 1, group = 0, init = zeros>]

// -----

// constraint: plan.kernel: the extent
// expected-error @+1 {{expected a positive extent; got: 0}}
plan.kernel @k generated "k" params = [] {extent = 0 : i64}

// -----

// constraint: plan.kernel: generated kernels have no
// expected-error @+1 {{expected no parameters for a generated kernel; got: 1}}
plan.kernel @k generated "k" params = [1]

// -----

plan.program @p events = 1 {
  // constraint: plan.program at plan.record: the number of every own
  // expected-error @+1 {{expected an event below 1; got: 1}}
  plan.record 1 on "compute"
}

// -----

plan.program @p events = 1 {
  // expected-note @+1 {{recorded here before}}
  plan.record 0 on "compute"
  // constraint: plan.program at plan.record: the number of every own
  // expected-error @+1 {{expected to record an event once; got: 0}}
  plan.record 0 on "compute"
}

// -----

plan.program @p events = 1 {
  // constraint: plan.program at plan.wait: the number of every own
  // expected-error @+1 {{expected an event that is recorded before; got: 0}}
  plan.wait 0 on "compute"
}

// -----

plan.region @input input bytes = 64 frames = 1
plan.program @p events = 1 {
  plan.record 0 on "compute"
  // constraint: plan.program at plan.input: ports come before
  // expected-error @+1 {{expected ports before instructions}}
  plan.input "x" : tensor<4xf32> in "input" at 0
}

// -----

plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
plan.program @p events = 1 {
  // constraint: plan.program at plan.record: streams are
  // expected-error @+1 {{expected a stream of the header; got: "copy"}}
  plan.record 0 on "copy"
}

// -----

plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: `batch_dim` is
  // expected-error @+1 {{expected a dimension or -1 as batch_dim; got: 1}}
  plan.input "x" : tensor<4xf32> in "input" at 0 {batch_dim = 1 : i64}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.launch: the kernel exists
  // expected-error @+1 {{expected a kernel; got: @k}}
  plan.launch @k [] on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.copy: the target is written
  // expected-error @+1 {{expected target to be write; got: read}}
  plan.copy #plan.buffer<"t", 0, 64, read>, #plan.buffer<"t", 64, 64, read> on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.copy: both have
  // expected-error @+1 {{expected equally many bytes; got: 64 and 32}}
  plan.copy #plan.buffer<"t", 0, 64, write>, #plan.buffer<"t", 64, 32, read> on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.copy: they do not
  // expected-error @+1 {{expected target and source not to overlap}}
  plan.copy #plan.buffer<"t", 0, 64, write>, #plan.buffer<"t", 32, 64, read> on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.fill: the width is
  // expected-error @+1 {{expected a width of 1, 2, 4 or 8 that divides the bytes; got: 3 for 64 bytes}}
  plan.fill #plan.buffer<"t", 0, 64, write> pattern = 0 width = 3 on "compute"
}

// -----

plan.program @q entry events = 0 { // expected-note {{declared as entry here}}
}
plan.program @p events = 0 {
  // constraint: plan.call: the program exists
  // expected-error @+1 {{expected a program that is not an entry; got: @q}}
  plan.call @q times = 1 first_frame = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [3] streams = ["compute"]
// constraint: plan.group: `only` has axes
// expected-error @+1 {{expected coordinates of the group's axes, ascending; got: "pp" = array<i64: 2, 1>}}
plan.group @g axes = ["pp"] only = {pp = array<i64: 2, 1>}

// -----

plan.header target = "host" threads = 1 axes = ["pp", "dp"] sizes = [3, 2] streams = ["compute"]
// constraint: plan.group: `only` has axes
// expected-error @+1 {{expected coordinates of the group's axes, ascending; got: "dp" = array<i64: 1>}}
plan.group @g axes = ["pp"] only = {dp = array<i64: 1>}

// -----

// constraint: plan.event: frames is from
// expected-error @+1 {{expected frames from 1 to 2^32 - 1; got: 0}}
plan.event @e frames = 0

// -----

plan.event @e frames = 2
plan.program @p events = 0 {
  plan.record @e on "compute"
  // constraint: plan.wait: an event of the plan
  // expected-error @+1 {{expected a shared event; got: @f}}
  plan.wait @f[-1] on "compute"
}

// -----

plan.program @p events = 1 {
  // constraint: plan.record: the number of the program's
  // expected-error @+1 {{expected no frame of an event of the program's own; got: 1}}
  "plan.record"() {event = 0 : i64, frame = 1 : i64, stream = "compute"} : () -> ()
}

// -----

plan.program @p events = 0 {
  // constraint: #plan.buffer: the frame fits
  // expected-error @+1 {{expected a frame near the running program's; got: 40000}}
  plan.fill #plan.buffer<"transient"[40000], 0, 64, write> pattern = 0 width = 4 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.send: the axis is an axis
  // expected-error @+1 {{expected another one of the 2 ranks on axis "pp"; got: the rank 2 further on}}
  plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 2 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.send: the axis is an axis
  // expected-error @+1 {{expected an axis of the header; got: "dp"}}
  plan.send #plan.buffer<"residual", 0, 64, read> peer "dp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.recv: the channel is
  // expected-error @+1 {{expected a channel that is not negative; got: -1}}
  plan.recv #plan.buffer<"residual", 0, 64, write> peer "pp" 1 channel -1 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.recv: a source is read
  // expected-error @+1 {{expected target to be write; got: read}}
  plan.recv #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: the buffer has
  // expected-error @+1 {{expected data of `count` elements; got: 60 bytes for 16}}
  plan.send #plan.buffer<"residual", 0, 60, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.call: times and skip
  // expected-error @+1 {{expected times that are not negative; got: -1}}
  plan.call @p times = -1 first_frame = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.call: times and skip
  // expected-error @+1 {{expected frames to leave out that are not negative; got: -1}}
  plan.call @p times = 2 first_frame = 0 skip -1 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [3] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.all_gather: data has `count`
  // expected-error @+1 {{expected a count that is a multiple of the group's 3 ranks; got: 16}}
  plan.all_gather #plan.buffer<"t", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.all_reduce: staging has at least
  // expected-error @+1 {{expected staging of at least 32 bytes; got: 16}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 16, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce: the root is
  // expected-error @+1 {{expected a root below the group's 2 ranks; got: 2}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = 2 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.broadcast: data is read or
  // expected-error @+1 {{expected data to be read, by the root, or written; got: read_write}}
  plan.broadcast #plan.buffer<"t", 0, 64, read_write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

// constraint: plan.header: `where` has ranges
// expected-error @+1 {{expected a kind's ranges to lie on axes, [begin, end); got: "dp" = array<i64: 1, 3>}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {kind = "worker", where = {dp = array<i64: 1, 3>}}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: data has `count`
  // expected-error @+1 {{expected data of `count` elements; got: 64 bytes for 8}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 16, write> group @dp dtype f32 ring count = 8 on "compute"
}

// -----

// constraint: #plan.buffer: offset and bytes
// expected-error @+1 {{expected an offset and bytes that are not negative; got: 64 bytes at -1}}
"plan.fill"() {target = #plan.buffer<"t", -1, 64, write>} : () -> ()

// -----

plan.region @output output bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.output: `batch_dim` is
  // expected-error @+1 {{expected a dimension or -1 as batch_dim; got: 1}}
  plan.output "y" : tensor<4xf32> in "output" at 0 {batch_dim = 1 : i64}
}

// -----

// constraint: #plan.buffer: the shares of two
// expected-error @+1 {{expected shares that do not overlap; got: 64 bytes every 32}}
"plan.fill"() {target = #plan.buffer<"t", 0, 64, write, share of @dp by 32>} : () -> ()

// -----

plan.program @p events = 0 {
  // constraint: plan.copy: they do not
  // expected-error @+1 {{expected target and source not to overlap}}
  plan.copy #plan.buffer<"t", 0, 64, write, share of @dp by 64>, #plan.buffer<"t", 32, 64, read, share of @dp by 64> on "compute"
}

// -----

// constraint: plan.kernel: only generated kernels
// expected-error @+1 {{expected depends of a generated kernel only; got: library}}
plan.kernel @k library "matmul" params = [] {depends = array<i64: 1>}

// -----

// constraint: plan.kernel: only generated kernels
// expected-error @+1 {{expected code of a generated kernel only; got: library}}
plan.kernel @k library "matmul" params = [] {code = 7 : i64}

// -----

// constraint: plan.kernel: only generated kernels
// expected-error @+1 {{expected operands of a generated kernel only; got: builtin}}
plan.kernel @k builtin "argmax" params = [] operands = [#plan.operand<f32, 4, read>]

// -----

// constraint: #plan.operand: bytes is not negative
// expected-error @+1 {{expected bytes that are not negative; got: -4}}
"plan.kernel"() {operands = [#plan.operand<f32, -4, read>]} : () -> ()

// -----

// constraint: plan.kernel: an operand that is over
// expected-error @+1 {{expected an operand to be written over one of equally many bytes that is read; got: #plan.operand<f32, 8, write over 0>}}
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 4, read>, #plan.operand<f32, 8, write over 0>]

// -----

// constraint: plan.kernel: an operand that is over
// expected-error @+1 {{written over one of equally many bytes that is read; got: #plan.operand<f32, 4, write over 2>}}
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 4, read>, #plan.operand<f32, 4, write over 2>]

// -----

plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.program @p events = 0 {
  // constraint: plan.launch: a generated kernel gets
  // expected-error @+1 {{expected 2 buffers for kernel @k; got: 1}}
  plan.launch @k [#plan.buffer<"t", 0, 64, read>] on "compute"
}

// -----

plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.program @p events = 0 {
  // constraint: plan.launch: a generated kernel gets
  // expected-error @+1 {{expected buffer 1 of kernel @k to be write; got: read}}
  plan.launch @k [#plan.buffer<"t", 0, 64, read>, #plan.buffer<"t", 64, 64, read>] on "compute"
}

// -----

plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.program @p events = 0 {
  // constraint: plan.launch: a generated kernel gets
  // expected-error @+1 {{expected 64 bytes for buffer 1 of kernel @k; got: 60}}
  plan.launch @k [#plan.buffer<"t", 0, 64, read>, #plan.buffer<"t", 64, 60, write>] on "compute"
}

// -----

plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.program @p events = 0 {
  // constraint: plan.launch: an operand that is written
  // expected-error @+1 {{expected buffers 0 and 1 of kernel @k not to overlap; got: #plan.buffer<"t", 0, 64, read> and #plan.buffer<"t", 0, 64, write>}}
  plan.launch @k [#plan.buffer<"t", 0, 64, read>, #plan.buffer<"t", 0, 64, write>] on "compute"
}

// -----

plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>]
plan.program @p events = 0 {
  // constraint: plan.launch: an operand that is written
  // expected-error @+1 {{expected buffers 0 and 1 to be one, for kernel @k works in place; got: #plan.buffer<"t", 0, 64, read> and #plan.buffer<"t", 64, 64, write>}}
  plan.launch @k [#plan.buffer<"t", 0, 64, read>, #plan.buffer<"t", 64, 64, write>] on "compute"
}

// -----

// constraint: plan.event: frames is from
// expected-error @below {{expected frames from 1 to 2^32 - 1; got: -3}}
plan.event @e frames = -3

// -----

// expected-error @below {{requires attribute 'frames'}}
"plan.event"() {sym_name = "e"} : () -> ()

// -----

// expected-error @below {{attribute 'frames' failed to satisfy constraint: 64-bit signed integer}}
"plan.event"() {sym_name = "e", frames = 1.0 : f64} : () -> ()

// -----

// expected-note @below {{see existing symbol definition here}}
plan.event @e frames = 1
// expected-error @below {{redefinition of symbol named 'e'}}
plan.event @e frames = 2

// -----

// constraint: plan.region: bytes is not negative
// expected-error @below {{expected bytes that are not negative, and frames from 1 to 2^32 - 1; got: -8 bytes, 1 frames}}
plan.region @r transient bytes = -8 frames = 1

// -----

// expected-error @below {{custom op 'plan.region' expected ::cleave::plan::RegionKind to be one of: persistent, input, output, residual, transient, communication, workspace, snapshot}}
// expected-error @below {{custom op 'plan.region' failed to parse Plan_RegionKindAttr parameter 'value' which is to be a `::cleave::plan::RegionKind`}}
plan.region @r nowhere bytes = 8 frames = 1

// -----

// expected-error @below {{requires attribute 'bytes'}}
"plan.region"() {sym_name = "r", kind = #plan<region_kind transient>, frames = 1 : i64} : () -> ()

// -----

// expected-note @below {{see existing symbol definition here}}
plan.region @r transient bytes = 8 frames = 1
// expected-error @below {{redefinition of symbol named 'r'}}
plan.region @r transient bytes = 8 frames = 1

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [3] streams = ["compute"]
// constraint: plan.group: `only` has axes
// expected-error @below {{expected coordinates of the group's axes, ascending; got: "pp" = array<i64: 3>}}
plan.group @g axes = ["pp"] only = {pp = array<i64: 3>}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [3] streams = ["compute"]
// constraint: plan.group: `only` has axes
// expected-error @below {{expected coordinates of the group's axes, ascending; got: "pp" = array<i64>}}
plan.group @g axes = ["pp"] only = {pp = array<i64>}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [3] streams = ["compute"]
// constraint: plan.group: every axis is
// expected-error @below {{expected axes of the header; got: ["pp", "dp"]}}
plan.group @g axes = ["pp", "dp"]

// -----

// constraint: plan.program: `events` is from
// expected-error @below {{expected a number of events from 0 to 2^32 - 1; got: -1}}
plan.program @p events = -1 {
}

// -----

plan.program @p events = 0 {
  // constraint: plan.program at cleave.constant: ports come before
  // expected-error @below {{expected only ports and instructions in a program}}
  %0 = cleave.constant dense<1.0> : tensor<4xf32>
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{expects parent op 'plan.program'}}
  plan.record 0 on "compute"
  return
}

// -----

// expected-note @below {{see existing symbol definition here}}
plan.program @p events = 0 {
}
// expected-error @below {{redefinition of symbol named 'p'}}
plan.program @p events = 0 {
}

// -----

plan.program @p events = 1 {
  // constraint: plan.record: the number of the program's
  // expected-error @below {{expected an event that is not negative; got: -1}}
  plan.record -1 on "compute"
}

// -----

plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: the region exists
  // expected-error @below {{expected to lie inside of region "input" of 64 bytes; got: 16 bytes at 56}}
  plan.input "x" : tensor<4xf32> in "input" at 56
}

// -----

plan.program @p events = 0 {
  // constraint: plan.input: the region exists
  // expected-error @below {{expected a region; got: "input"}}
  plan.input "x" : tensor<4xf32> in "input" at 0
}

// -----

plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: `batch_dim` is
  // expected-error @below {{expected a dimension or -1 as batch_dim; got: -2}}
  plan.input "x" : tensor<4xf32> in "input" at 0 {batch_dim = -2 : i64}
}

// -----

plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: the region exists
  // expected-error @below {{expected to lie inside of region "input" of 64 bytes; got: 16 bytes at -16}}
  plan.input "x" : tensor<4xf32> in "input" at -16
}

// -----

plan.region @output output bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.output: the region exists
  // expected-error @below {{expected to lie inside of region "output" of 64 bytes; got: 16 bytes at 56}}
  plan.output "y" : tensor<4xf32> in "output" at 56
}

// -----

plan.program @p events = 0 {
  // constraint: plan.output: the region exists
  // expected-error @below {{expected a region; got: "output"}}
  plan.output "y" : tensor<4xf32> in "output" at 0
}

// -----

plan.region @output output bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.output: the region exists
  // expected-error @below {{expected to lie inside of region "output" of 64 bytes; got: 16 bytes at -16}}
  plan.output "y" : tensor<4xf32> in "output" at -16
}

// -----

plan.region @output output bytes = 64 frames = 1
plan.program @p events = 1 {
  plan.record 0 on "compute"
  // constraint: plan.program at plan.output: ports come before
  // expected-error @below {{expected ports before instructions}}
  plan.output "y" : tensor<4xf32> in "output" at 0
}

// -----

plan.program @p events = 0 {
  // constraint: plan.call: the program exists
  // expected-error @below {{expected a program; got: @nowhere}}
  plan.call @nowhere times = 1 first_frame = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
plan.program @q events = 0 {
}
plan.program @p events = 0 {
  // constraint: plan.program at plan.call: streams are
  // expected-error @below {{expected a stream of the header; got: "copy"}}
  plan.call @q times = 1 first_frame = 0 on "copy"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.copy: the target is written
  // expected-error @below {{expected source to be read; got: write}}
  plan.copy #plan.buffer<"t", 0, 64, write>, #plan.buffer<"t", 64, 64, write> on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.program at plan.copy: streams are
  // expected-error @below {{expected a stream of the header; got: "copy"}}
  plan.copy #plan.buffer<"t", 0, 64, write>, #plan.buffer<"t", 64, 64, read> on "copy"
}

// -----

plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
plan.program @p events = 1 {
  plan.record 0 on "compute"
  // constraint: plan.program at plan.wait: streams are
  // expected-error @below {{expected a stream of the header; got: "copy"}}
  plan.wait 0 on "copy"
}

// -----

plan.program @p events = 1 {
  // constraint: plan.program at plan.wait: the number of every own
  // expected-error @below {{expected an event that is recorded before; got: 3}}
  plan.wait 3 on "compute"
}

// -----

plan.program @p events = 1 {
  plan.record 0 on "compute"
  // constraint: plan.wait: the number of the program's
  // expected-error @below {{expected no frame of an event of the program's own; got: -1}}
  "plan.wait"() {event = 0 : i64, frame = -1 : i64, stream = "compute"} : () -> ()
}

// -----

plan.program @p events = 1 {
  // constraint: plan.wait: the number of the program's
  // expected-error @below {{expected an event that is not negative; got: -1}}
  plan.wait -1 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.send: the axis is an axis
  // expected-error @below {{expected another one of the 2 ranks on axis "pp"; got: the rank 0 further on}}
  plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 0 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: the channel is
  // expected-error @below {{expected a channel that is not negative; got: -2}}
  plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel -2 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: a source is read
  // expected-error @below {{expected source to be read; got: write}}
  plan.send #plan.buffer<"residual", 0, 64, write> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel 0 dtype index count = 8 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.recv: the axis is an axis
  // expected-error @below {{expected another one of the 2 ranks on axis "pp"; got: the rank -2 further on}}
  plan.recv #plan.buffer<"residual", 0, 64, write> peer "pp" -2 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.recv: the buffer has
  // expected-error @below {{expected data of `count` elements; got: 32 bytes for 16}}
  plan.recv #plan.buffer<"residual", 0, 32, write> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.recv: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.recv #plan.buffer<"residual", 0, 64, write> peer "pp" 1 channel 0 dtype index count = 8 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_gather: the group exists
  // expected-error @below {{expected a group; got: @dp}}
  plan.all_gather #plan.buffer<"t", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_gather: data is read and written
  // expected-error @below {{expected data to be read_write; got: read}}
  plan.all_gather #plan.buffer<"t", 0, 64, read> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_gather: data has `count`
  // expected-error @below {{expected data of `count` elements; got: 60 bytes for 16}}
  plan.all_gather #plan.buffer<"t", 0, 60, read_write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: the group exists
  // expected-error @below {{expected a group; got: @dp}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 64, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: data is read and written
  // expected-error @below {{expected data to be read_write; got: write}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, write> staging #plan.buffer<"t", 64, 64, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: data is read and written
  // expected-error @below {{expected staging to be write; got: read}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 64, read> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: data has `count`
  // expected-error @below {{expected data of `count` elements; got: 60 bytes for 16}}
  plan.all_reduce sum #plan.buffer<"t", 0, 60, read_write> staging #plan.buffer<"t", 64, 64, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: data is read and written
  // expected-error @below {{expected data to be read_write; got: read}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read> staging #plan.buffer<"t", 64, 16, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: data is read and written
  // expected-error @below {{expected staging to be write; got: read}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, read> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: the group exists
  // expected-error @below {{expected a group; got: @dp}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: staging has at least
  // expected-error @below {{expected staging of at least 32 bytes; got: 16}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 16, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [3] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: data has `count`
  // expected-error @below {{expected a count that is a multiple of the group's 3 ranks; got: 16}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: data is read and written
  // expected-error @below {{expected data to be read_write; got: read}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: the group exists
  // expected-error @below {{expected a group; got: @dp}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce: the root is
  // expected-error @below {{expected a root below the group's 2 ranks; got: -1}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = -1 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce: staging has at least
  // expected-error @below {{expected staging of at least 32 bytes; got: 8}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 8, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.broadcast: data has `count`
  // expected-error @below {{expected data of `count` elements; got: 60 bytes for 16}}
  plan.broadcast #plan.buffer<"t", 0, 60, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.broadcast: the group exists
  // expected-error @below {{expected a group; got: @dp}}
  plan.broadcast #plan.buffer<"t", 0, 64, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.broadcast: the group exists
  // expected-error @below {{expected a root below the group's 2 ranks; got: 2}}
  plan.broadcast #plan.buffer<"t", 0, 64, write> group @dp dtype f32 ring count = 16 root = 2 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [3] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.broadcast: data has `count`
  // expected-error @below {{expected a count that is a multiple of the group's 3 ranks; got: 16}}
  plan.broadcast #plan.buffer<"t", 0, 64, read> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["fsdp"] sizes = [3] streams = ["compute"]
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: `split_axes` are axes
// expected-error @below {{expected axes of the header that cut the state evenly; got: ["fsdp"]}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [] {split_axes = ["fsdp"]}

// -----

// constraint: plan.kernel: generated kernels have no
// expected-error @below {{expected scratch of a library kernel only, and not negative; got: 8}}
plan.kernel @k generated "k" params = [] {scratch = 8 : i64}

// -----

plan.program @p events = 0 {
  // constraint: plan.fill: the target is
  // expected-error @below {{expected target to be write; got: read}}
  plan.fill #plan.buffer<"t", 0, 64, read> pattern = 0 width = 4 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.fill: the width is
  // expected-error @below {{expected a width of 1, 2, 4 or 8 that divides the bytes; got: 4 for 6 bytes}}
  plan.fill #plan.buffer<"t", 0, 6, write> pattern = 0 width = 4 on "compute"
}

// -----

// expected-error @below {{requires attribute 'sym_name'}}
"plan.program"() ({
}) {events = 0 : i64} : () -> ()

// -----

// expected-error @below {{requires attribute 'events'}}
"plan.program"() ({
^bb0:
}) {sym_name = "p"} : () -> ()

// -----

// expected-error @below {{region #0 ('body') failed to verify constraint: region with 1 blocks}}
"plan.program"() ({
}) {sym_name = "p", events = 0 : i64} : () -> ()

// -----

// expected-error @below {{requires one region}}
"plan.program"() ({
^bb0:
  "plan.fill"() : () -> ()
}, {
}) {sym_name = "p", events = 0 : i64} : () -> ()

// -----

// The header stands after what names its axes, and is wrong itself.
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: `split_axes` are axes
// expected-error @below {{expected axes of the header that cut the state evenly; got: ["fsdp"]}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [] {split_axes = ["fsdp"]}
plan.header target = "host" threads = 1 axes = ["fsdp"] sizes = [0] streams = ["compute"]

// -----

// constraint: plan.group: every axis is
// expected-error @below {{expected axes of the header; got: ["dp", "fsdp"]}}
plan.group @both axes = ["dp", "fsdp"]
plan.header target = "host" threads = 1 axes = ["dp", "fsdp"] sizes = [2] streams = ["compute"]

// -----

// 2^64 ranks.
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: `split_axes` are axes
// expected-error @below {{expected axes of the header that cut the state evenly}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [] {split_axes = ["a", "b", "c"]}
plan.header target = "host" threads = 1 axes = ["a", "b", "c"] sizes = [4294967295, 4294967295, 16] streams = ["compute"]

// -----

// The plan's file would have 1 micro-batch.
// constraint: plan.header: `micro_batches`
// expected-error @below {{expected a positive number of micro-batches below 2^32; got: 4294967297}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {micro_batches = 4294967297 : i64}

// -----

// constraint: plan.event: frames is from
// expected-error @below {{expected frames from 1 to 2^32 - 1; got: 4294967297}}
plan.event @sent frames = 4294967297

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: `partial_axes` are
// expected-error @below {{expected partial_axes to be axes of the header; got: ["fsdp"]}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [] {partial_axes = ["fsdp"]}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: the `group` of
// expected-error @below {{expected a parameter group from 0 to 2^32 - 1}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [#plan.segment<"w", tensor<16xf32>, offset = 0, group = 4294967296, init = zeros>]

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: the `axis` of
// expected-error @below {{expected a coordinate's axis to be one of the header}}
plan.state @w : tensor<1xi64> coordinate in "persistent" at 0 segments = [#plan.segment<"w", tensor<1xi64>, offset = 0, group = 0, init = coordinate, axis = "fsdp">]

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: `split_axes` are axes
  // expected-error @below {{expected split_axes to be axes of the header; got: ["fsdp"]}}
  plan.input "x" : tensor<16xf32> in "input" at 0 {split_axes = ["fsdp"]}
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: the port, if
  // expected-error @below {{expected at most 2^63 - 1 elements; got: 'tensor<4294967296x4294967296xf32>'}}
  plan.input "x" : tensor<4294967296x4294967296xf32> in "input" at 0
}

// -----

plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: every segment
// expected-error @below {{expected segments inside of the state}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [#plan.segment<"w", tensor<?xf32>, offset = 0, group = 0, init = zeros>]

// -----

// Instructions are verified before the program that asks them for their stream and event.
plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
plan.program @p events = 1 {
  // expected-error @below {{'plan.record' op requires attribute 'event'}}
  "plan.record"() {} : () -> ()
}

// -----

// constraint: plan.header: `where` has ranges
// expected-error @below {{expected a kind's ranges to lie on axes, [begin, end); got: "dp" = array<i64: 1, 1>}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {kind = "worker", where = {dp = array<i64: 1, 1>}}

// -----

// constraint: plan.header: `where` has ranges
// expected-error @below {{expected a kind's ranges to lie on axes, [begin, end); got: "tp" = array<i64: 0, 1>}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"] {kind = "worker", where = {tp = array<i64: 0, 1>}}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @persistent persistent bytes = 31 frames = 1
// constraint: plan.state: the region exists
// expected-error @below {{expected to lie inside of region "persistent" of 31 bytes; got: 32 bytes at 0}}
plan.state @w : tensor<16xf32> parameter in "persistent" at 0 segments = [] {split_axes = ["dp"]}

// -----

// constraint: plan.kernel: an operand that is over
// expected-error @below {{expected an operand to be written over one of equally many bytes that is read; got: #plan.operand<f32, 4, read over 0>}}
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 4, read>, #plan.operand<f32, 4, read over 0>]

// -----

// constraint: plan.kernel: an operand that is over
// expected-error @below {{expected an operand to be written over one of equally many bytes that is read; got: #plan.operand<f32, 4, write over 0>}}
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 4, write>, #plan.operand<f32, 4, write over 0>]

// -----

// constraint: #plan.buffer: offset and bytes
// expected-error @below {{expected an offset and bytes that are not negative; got: -64 bytes at 0}}
"plan.fill"() {target = #plan.buffer<"t", 0, -64, write>} : () -> ()

// -----

// constraint: #plan.buffer: the frame fits
// expected-error @below {{expected a frame near the running program's; got: -32769}}
"plan.fill"() {target = #plan.buffer<"t"[-32769], 0, 64, write>} : () -> ()

// -----

plan.program @p events = 0 {
  // constraint: plan.record: an event of the plan
  // expected-error @below {{expected a shared event; got: @sent}}
  plan.record @sent on "compute"
}

// -----

plan.region @sent transient bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.wait: an event of the plan
  // expected-error @below {{expected a shared event; got: @sent}}
  plan.wait @sent on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [3] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.all_reduce: data has `count`
  // expected-error @below {{expected a count that is a multiple of the group's 3 ranks; got: 16}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 64, write> group @dp dtype f32 ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: data is read and written
  // expected-error @below {{expected staging to be write; got: read_write}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, read_write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: data has `count`
  // expected-error @below {{expected data of `count` elements; got: 64 bytes for 8}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 8 root = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [3] streams = ["compute"]
plan.group @dp axes = ["dp"]
plan.program @p events = 0 {
  // constraint: plan.reduce: data has `count`
  // expected-error @below {{expected a count that is a multiple of the group's 3 ranks; got: 16}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = 0 on "compute"
}

// -----

plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute"]
plan.program @p events = 0 {
  // constraint: plan.recv: the axis is an axis
  // expected-error @below {{expected an axis of the header; got: "dp"}}
  plan.recv #plan.buffer<"residual", 0, 64, write> peer "dp" 1 channel 0 dtype f32 count = 16 on "compute"
}

// -----

// constraint: #plan.buffer: the last byte is
// expected-error @+1 {{expected an end of at most 2^63 - 1; got: 64 bytes at 9223372036854775744}}
"plan.fill"() {target = #plan.buffer<"t", 9223372036854775744, 64, write>} : () -> ()

// -----

// 2^62 elements of four bytes are 2^64 bytes.
plan.program @p events = 0 {
  // constraint: plan.all_gather: data has `count`
  // expected-error @below {{expected data of `count` elements; got: 0 bytes for 4611686018427387904 elements of 'f32'}}
  plan.all_gather #plan.buffer<"t", 0, 0, read_write> group @dp dtype f32 ring count = 4611686018427387904 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: the buffer has
  // expected-error @below {{expected data of `count` elements; got: 0 bytes for 4611686018427387904 elements of 'f32'}}
  plan.send #plan.buffer<"t", 0, 0, read> peer "pp" 1 channel 0 dtype f32 count = 4611686018427387904 on "compute"
}

// -----

// The code knows one address for both: the buffers are in the same frame.
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>]
plan.program @p events = 0 {
  // constraint: plan.launch: an operand that is written
  // expected-error @+1 {{expected buffers 0 and 1 to be one, for kernel @k works in place; got: #plan.buffer<"t"[-1], 0, 64, read> and #plan.buffer<"t", 0, 64, write>}}
  plan.launch @k [#plan.buffer<"t"[-1], 0, 64, read>, #plan.buffer<"t", 0, 64, write>] on "compute"
}

// -----

// Frame -2 of a region of two frames is in the place of frame 0.
plan.region @t transient bytes = 64 frames = 2
plan.program @p events = 0 {
  // constraint: plan.copy: they do not
  // expected-error @+1 {{expected target and source not to overlap}}
  plan.copy #plan.buffer<"t", 0, 64, write>, #plan.buffer<"t"[-2], 0, 64, read> on "compute"
}

// -----

plan.region @t transient bytes = 64 frames = 2
plan.kernel @k generated "k" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
plan.program @p events = 0 {
  // constraint: plan.launch: an operand that is written
  // expected-error @+1 {{expected buffers 0 and 1 of kernel @k not to overlap; got: #plan.buffer<"t"[1], 0, 64, read> and #plan.buffer<"t"[-1], 0, 64, write>}}
  plan.launch @k [#plan.buffer<"t"[1], 0, 64, read>, #plan.buffer<"t"[-1], 0, 64, write>] on "compute"
}

// -----

// constraint: plan.header: sizes are from
// expected-error @below {{expected positive sizes below 2^32; got: 4294967296}}
plan.header target = "host" threads = 1 axes = ["dp"] sizes = [4294967296] streams = ["compute"]

// -----

// constraint: plan.header: `threads` is from
// expected-error @below {{expected a number of threads below 2^32; got: 4294967296}}
plan.header target = "host" threads = 4294967296 axes = ["dp"] sizes = [2] streams = ["compute"]

// -----

// constraint: plan.region: bytes is not
// expected-error @below {{frames from 1 to 2^32 - 1; got: 8 bytes, 4294967296 frames}}
plan.region @r transient bytes = 8 frames = 4294967296

// -----

// constraint: plan.program: `events` is from
// expected-error @below {{expected a number of events from 0 to 2^32 - 1; got: 4294967296}}
plan.program @p events = 4294967296 {
}

// -----

// constraint: plan.kernel: the scratch of other
// expected-error @below {{expected scratch of a library kernel only, and not negative; got: -8}}
plan.kernel @k library "matmul" params = [] {scratch = -8 : i64}

// -----

plan.region @persistent persistent bytes = 64 frames = 1
// constraint: plan.state: the rank's part has
// expected-error @below {{expected at most 2^63 - 1 bytes; got: 4611686018427387904 elements of 'f32'}}
plan.state @w : tensor<4611686018427387904xf32> parameter in "persistent" at 0 segments = []

// -----

// 2^62 elements of four bytes.
plan.region @input input bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.input: the port, if
  // expected-error @below {{expected at most 2^63 - 1 bytes; got: 4611686018427387904 elements of 'f32'}}
  plan.input "x" : tensor<4611686018427387904xf32> in "input" at 0
}

// -----

plan.header target = "host" threads = 1 axes = ["dp"] sizes = [2] streams = ["compute"]
plan.region @output output bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.output: `split_axes` are
  // expected-error @below {{expected split_axes to be axes of the header; got: ["fsdp"]}}
  plan.output "y" : tensor<16xf32> in "output" at 0 {split_axes = ["fsdp"]}
}

// -----

plan.region @output output bytes = 64 frames = 1
plan.program @p events = 0 {
  // constraint: plan.output: the port, if
  // expected-error @below {{expected at most 2^63 - 1 elements; got: 'tensor<4294967296x4294967296xf32>'}}
  plan.output "y" : tensor<4294967296x4294967296xf32> in "output" at 0
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype index ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_reduce: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.all_reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 on "compute" {reason = {tensor = "@w", made = "as terms", used = 0 : i64}}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype index ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce_scatter: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.reduce_scatter sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 on "compute" {reason = "@w"}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_gather: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.all_gather #plan.buffer<"t", 0, 64, read_write> group @dp dtype index ring count = 16 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.all_gather: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.all_gather #plan.buffer<"t", 0, 64, read_write> group @dp dtype f32 ring count = 16 on "compute" {reason = {tensor = "@w", made = "split over dp"}}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype index ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.reduce: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.reduce sum #plan.buffer<"t", 0, 64, read_write> staging #plan.buffer<"t", 64, 32, write> group @dp dtype f32 ring count = 16 root = 0 on "compute" {reason = {tensor = "@w", used = "whole"}}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.broadcast: `dtype` is
  // expected-error @below {{expected an integer or float type; got: 'index'}}
  plan.broadcast #plan.buffer<"t", 0, 64, read> group @dp dtype index ring count = 16 root = 0 on "compute"
}

// -----

plan.program @p events = 0 {
  // constraint: plan.broadcast: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.broadcast #plan.buffer<"t", 0, 64, read> group @dp dtype f32 ring count = 16 root = 0 on "compute" {reason = {made = "on one rank", used = "whole"}}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.send: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.send #plan.buffer<"t", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute" {reason = {tensor = @w, made = "by stage 0", used = "by stage 1"}}
}

// -----

plan.program @p events = 0 {
  // constraint: plan.recv: `reason`, if
  // expected-error @below {{attribute 'reason' failed to satisfy constraint: dictionary of the texts tensor, made and used}}
  plan.recv #plan.buffer<"t", 0, 64, write> peer "pp" 1 channel 0 dtype f32 count = 16 on "compute" {reason = {tensor = "%1", made = 0 : i64, used = "by stage 1"}}
}
