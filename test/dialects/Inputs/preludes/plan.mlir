plan.header target = "host" threads = 2 axes = ["dp", "pp"] sizes = [2, 4] streams = ["compute", "reduce", "gather", "send", "recv"]
plan.region @persistent persistent bytes = 65536 frames = 1
plan.region @transient transient bytes = 4096 frames = 1
plan.region @communication communication bytes = 4096 frames = 1
plan.region @residual residual bytes = 4096 frames = 4
plan.region @input input bytes = 4096 frames = 4
plan.region @output output bytes = 65536 frames = 1
plan.group @dp axes = ["dp"]
plan.event @sent frames = 4
plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 64, read>, #plan.operand<f32, 64, write over 0>]
plan.program @micro events = 0 {}
plan.program @layer events = 0 {}
plan.program @round events = 0 {}
PLACE
plan.program @train_step events = 4 {
  PLACE
}
plan.program @evaluate events = 4 {
  plan.record 0 on "compute"
  PLACE
}
