// The last stage works on the micro-batch after the one that has arrived: @work reads one frame too far.
module {
  plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute", "reduce", "send", "recv"]
    {kind = "stage0", where = {pp = array<i64: 0, 1>}, micro_batches = 4 : i64}
  plan.region @persistent persistent bytes = 64 frames = 1
  plan.region @input input bytes = 64 frames = 4
  plan.region @residual residual bytes = 128 frames = 2
  plan.region @communication communication bytes = 64 frames = 1
  plan.event @made frames = 2
  plan.event @sent frames = 2
  plan.event @arrived frames = 2
  plan.event @used frames = 2
  plan.group @stages axes = ["pp"]
  plan.state @sum : tensor<16xf32> scalar in "persistent" at 0
    segments = [#plan.segment<"sum", tensor<16xf32>, offset = 0, group = 0, init = zeros>]
  plan.kernel @forward_0 generated "forward_0" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]
  plan.kernel @add generated "add" params = []
    operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 1>]

  // y = forward_0(x), sent to stage 1. The frame of y is free when the micro-batch two before has been sent.
  plan.program @forward events = 0 {
    plan.wait @sent[-2] on "compute"
    plan.launch @forward_0 [#plan.buffer<"input", 0, 64, read>, #plan.buffer<"residual", 0, 64, write>] on "compute"
    plan.record @made on "compute"
    plan.wait @made on "send"
    plan.send #plan.buffer<"residual", 0, 64, read> peer "pp" 1 channel 0 dtype f32 count = 16 on "send"
    plan.record @sent on "send"
  }
  // What comes back is added up.
  plan.program @backward events = 0 {
    plan.wait @used[-2] on "recv"
    plan.recv #plan.buffer<"residual", 64, 64, write> peer "pp" 1 channel 1 dtype f32 count = 16 on "recv"
    plan.record @arrived on "recv"
    plan.wait @arrived on "compute"
    plan.launch @add [#plan.buffer<"residual", 64, 64, read>, #plan.buffer<"persistent", 0, 64, read>,
                      #plan.buffer<"persistent", 0, 64, write>] on "compute"
    plan.record @used on "compute"
  }
  plan.program @steady events = 0 {
    plan.call @backward times = 1 first_frame = 0 on "compute"
    plan.call @forward times = 1 first_frame = 2 on "compute"
  }
  // One micro-batch forward and one backward by turns (1F1B): F0 F1 | B0 F2 | B1 F3 | B2 B3.
  plan.program @train_step entry events = 2 {
    plan.input "x" : tensor<16xf32> in "input" at 0
    plan.call @forward times = 2 first_frame = 0 on "compute"
    plan.call @steady times = 2 first_frame = 0 on "compute"
    plan.call @backward times = 2 first_frame = 2 on "compute"
    plan.record 0 on "compute"
    plan.wait 0 on "reduce"
    plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
      group @stages dtype f32 ring count = 16 on "reduce"
    plan.record 1 on "reduce"
    plan.wait 1 on "compute"
  }

  module @stage1 {
    plan.header target = "host" threads = 1 axes = ["pp"] sizes = [2] streams = ["compute", "reduce", "send", "recv"]
      {kind = "stage1", where = {pp = array<i64: 1, 2>}, micro_batches = 4 : i64}
    plan.region @persistent persistent bytes = 64 frames = 1
    plan.region @input input bytes = 64 frames = 4
    plan.region @residual residual bytes = 128 frames = 2
    plan.region @communication communication bytes = 64 frames = 1
    plan.event @made frames = 2
    plan.event @sent frames = 2
    plan.event @arrived frames = 2
    plan.event @used frames = 2
    plan.group @stages axes = ["pp"]
    plan.state @sum : tensor<16xf32> scalar in "persistent" at 0
      segments = [#plan.segment<"sum", tensor<16xf32>, offset = 0, group = 0, init = zeros>]
    plan.kernel @both_1 generated "both_1" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write>]

    plan.program @receive events = 0 {
      plan.wait @used[-2] on "recv"
      plan.recv #plan.buffer<"residual", 0, 64, write> peer "pp" -1 channel 0 dtype f32 count = 16 on "recv"
      plan.record @arrived on "recv"
    }
    // Forward and backward of the last stage: dy = both_1(y), sent back.
    plan.program @work events = 0 {
      plan.wait @arrived on "compute"
      plan.wait @sent[-2] on "compute"
      plan.launch @both_1 [#plan.buffer<"residual"[1], 0, 64, read>, #plan.buffer<"residual", 64, 64, write>] on "compute"
      plan.record @used on "compute"
      plan.record @made on "compute"
      plan.wait @made on "send"
      plan.send #plan.buffer<"residual", 64, 64, read> peer "pp" -1 channel 1 dtype f32 count = 16 on "send"
      plan.record @sent on "send"
    }
    // The next micro-batch is received before this one is sent back.
    plan.program @steady events = 0 {
      plan.call @receive times = 1 first_frame = 1 on "compute"
      plan.call @work times = 1 first_frame = 0 on "compute"
    }
    plan.program @train_step entry events = 2 {
      plan.input "x" : tensor<16xf32> in "input" at 0
      plan.call @receive times = 1 first_frame = 0 on "compute"
      plan.call @steady times = 3 first_frame = 0 on "compute"
      plan.call @work times = 1 first_frame = 3 on "compute"
      plan.fill #plan.buffer<"persistent", 0, 64, write> pattern = 0 width = 4 on "compute"
      plan.record 0 on "compute"
      plan.wait 0 on "reduce"
      plan.all_reduce sum #plan.buffer<"persistent", 0, 64, read_write> staging #plan.buffer<"communication", 0, 32, write>
        group @stages dtype f32 ring count = 16 on "reduce"
      plan.record 1 on "reduce"
      plan.wait 1 on "compute"
    }
  }
}
