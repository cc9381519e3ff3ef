// RUN: cleave-opt %s --verify-plan --split-input-file --verify-diagnostics

// What a kernel of the library touches follows from its definition: matmul of 2x4 and 4x2, in 32, 32 and 16 bytes.
// expected-error @+1 {{program 'infer', instruction 0 (launch): kernel matmul touches 16 bytes of buffer 2 (c); got: 12}}
module {
  plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
  plan.region @persistent persistent bytes = 256 frames = 1
  plan.kernel @matmul library "matmul" params = [0, 0, 1, 1, 1, 2, 2, 4, 0, 0, 0] {scratch = 64 : i64}
  plan.program @infer entry events = 0 {
    plan.launch @matmul [#plan.buffer<"persistent", 0, 32, read>, #plan.buffer<"persistent", 64, 32, read>, #plan.buffer<"persistent", 128, 12, write>, #plan.buffer<"persistent", 192, 64, write>] on "compute"
  }
}

// -----

// expected-error @+1 {{program 'infer', instruction 0 (launch): kernel matmul cannot work in place: buffer 0 (a) and buffer 2 (c) overlap}}
module {
  plan.header target = "host" threads = 1 axes = [] sizes = [] streams = ["compute"]
  plan.region @persistent persistent bytes = 256 frames = 1
  plan.kernel @matmul library "matmul" params = [0, 0, 1, 1, 1, 2, 2, 4, 0, 0, 0] {scratch = 64 : i64}
  plan.program @infer entry events = 0 {
    plan.launch @matmul [#plan.buffer<"persistent", 0, 32, read>, #plan.buffer<"persistent", 64, 32, read>, #plan.buffer<"persistent", 0, 16, write>, #plan.buffer<"persistent", 192, 64, write>] on "compute"
  }
}

// -----

// Shares of two groups: how far one reaches depends on the ranks, which the op's own verifier does not know.
// expected-error @+1 {{program 'infer', instruction 0 (launch): kernel relu cannot work in place: buffer 0 and buffer 1 overlap}}
module {
  plan.header target = "host" threads = 1 axes = ["dp"] sizes = [4] streams = ["compute"]
  plan.region @persistent persistent bytes = 256 frames = 1
  plan.group @dp axes = ["dp"]
  plan.kernel @relu generated "relu" params = [] operands = [#plan.operand<f32, 32, read>, #plan.operand<f32, 32, write>]
  plan.program @infer entry events = 0 {
    plan.launch @relu [#plan.buffer<"persistent", 0, 32, read, share of @dp by 32>, #plan.buffer<"persistent", 96, 32, write>] on "compute"
  }
}
