// RUN: cleave-opt %s --build-plan --split-input-file --verify-diagnostics

func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x"}) -> tensor<8x4xf32> attributes {cleave.entry} {
  // expected-error @+1 {{'cleave.exp' op cannot be planned; expected the kernels form}}
  %0 = cleave.exp %x : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x"}) -> tensor<8x4xf32> attributes {cleave.entry} {
  // expected-error @+1 {{expected a kernel with a label; got: none}}
  %0 = cleave.kernel ins(%x : tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %1 = cleave.exp %a : tensor<8x4xf32>
    cleave.yield %1 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----

func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x"}) -> tensor<8x2xf32> attributes {cleave.entry} {
  // expected-error @+1 {{cannot be planned; expected the kernels form}}
  %0 = cleave.slice %x, [0, 1], [8, 2], [1, 1] : tensor<8x4xf32> -> tensor<8x2xf32>
  return %0 : tensor<8x2xf32>
}

// -----

func.func @infer() -> tensor<2xf32> attributes {cleave.entry} {
  // expected-error @+1 {{a constant is left outside of kernels, and the weights cannot take it}}
  %0 = cleave.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

module attributes {cleave.mesh = #cleave.mesh<["tp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x"}) -> tensor<8x8xf32> attributes {cleave.entry} {
    // expected-error @+1 {{expected parts whose bytes lie together, along the outermost dimension; got: dimension 1 of 'tensor<8x8xf32>'}}
    %0 = shard.all_gather %x on @mesh grid_axes = [0] gather_axis = 1 : tensor<8x4xf32> -> tensor<8x8xf32>
    return %0 : tensor<8x8xf32>
  }
}

// -----

module attributes {cleave.mesh = #cleave.mesh<["tp"], [2]>} {
  shard.grid @mesh(shape = 2)
  func.func @infer(%x: tensor<8x4xf32> {cleave.name = "x"}) -> tensor<4x8xf32> attributes {cleave.entry} {
    // expected-error @+1 {{cannot be planned; expected the kernels form}}
    %0 = shard.all_to_all %x on @mesh grid_axes = [0] split_axis = 0 concat_axis = 1 : tensor<8x4xf32> -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
}

// -----

// What crosses bodies lies in stage buffers: ports have the number of its frames, and events are of stage buffers that the body has.
// expected-error @below {{expected cleave.frames with cleave.stage_buffer; got: none with "c0:0"}}
func.func @body(%x: tensor<8xf32> {cleave.stage_buffer = "c0:0"}) {
  return
}

// -----

// expected-error @below {{expected stage buffers of its arguments and results in cleave.waits; got: "c0:1"}}
func.func @body(%x: tensor<8xf32> {cleave.stage_buffer = "c0:0", cleave.frames = 1 : i64}) attributes {
    cleave.waits = [{event = "arrived c0:1", frames = 1, frame = 0, stage_buffer = "c0:1"}]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op calls itself: @train_step -> @train_step}}
func.func @train_step() attributes {cleave.entry, cleave.calls = [{program = "train_step", times = 1, first_frame = 0}]} {
  return
}

// -----

func.func @train_step() attributes {cleave.entry, cleave.calls = [{program = "a", times = 1, first_frame = 0}]} {
  return
}
// expected-error @+1 {{'func.func' op calls itself: @a -> @b -> @c -> @a}}
func.func @a() attributes {cleave.calls = [{program = "leaf", times = 1, first_frame = 0}, {program = "b", times = 1, first_frame = 0}]} {
  return
}
func.func @b() attributes {cleave.calls = [{program = "c", times = 1, first_frame = 0}]} {
  return
}
func.func @c() attributes {cleave.calls = [{program = "a", times = 1, first_frame = 0}]} {
  return
}
func.func @leaf() {
  return
}

// -----

// expected-error @+1 {{'func.func' op calls @micro, which is not a function of the module}}
func.func @train_step() attributes {cleave.entry, cleave.calls = [{program = "micro", times = 1, first_frame = 0}]} {
  return
}

// -----

// expected-error @+1 {{'func.func' op calls @micro with times = 4611686018427387904; expected 0 to 1048576}}
func.func @train_step() attributes {cleave.entry, cleave.calls = [{program = "micro", times = 4611686018427387904, first_frame = 0}]} {
  return
}
func.func @micro() {
  return
}

// -----

// No circle, and yet each function runs the next one nine times.
module {
  // expected-error @+1 {{'func.func' op runs more than 1048576 programs; expected calls of fewer}}
  func.func @train_step() attributes {cleave.entry, cleave.calls = [{program = "a", times = 3, first_frame = 0}, {program = "a", times = 3, first_frame = 0}, {program = "a", times = 3, first_frame = 0}]} {
    return
  }
  func.func @a() attributes {cleave.calls = [{program = "b", times = 3, first_frame = 0}, {program = "b", times = 3, first_frame = 0}, {program = "b", times = 3, first_frame = 0}]} {
    return
  }
  func.func @b() attributes {cleave.calls = [{program = "c", times = 3, first_frame = 0}, {program = "c", times = 3, first_frame = 0}, {program = "c", times = 3, first_frame = 0}]} {
    return
  }
  func.func @c() attributes {cleave.calls = [{program = "d", times = 3, first_frame = 0}, {program = "d", times = 3, first_frame = 0}, {program = "d", times = 3, first_frame = 0}]} {
    return
  }
  func.func @d() attributes {cleave.calls = [{program = "e", times = 3, first_frame = 0}, {program = "e", times = 3, first_frame = 0}, {program = "e", times = 3, first_frame = 0}]} {
    return
  }
  func.func @e() attributes {cleave.calls = [{program = "f", times = 3, first_frame = 0}, {program = "f", times = 3, first_frame = 0}, {program = "f", times = 3, first_frame = 0}]} {
    return
  }
  func.func @f() attributes {cleave.calls = [{program = "g", times = 3, first_frame = 0}, {program = "g", times = 3, first_frame = 0}, {program = "g", times = 3, first_frame = 0}]} {
    return
  }
  func.func @g() {
    return
  }
}

// -----

// expected-error @+1 {{'func.func' op must have a body of one block}}
func.func private @infer() attributes {cleave.entry}

// -----

// expected-error @+1 {{'func.func' op expects statically shaped tensors as arguments and results; got: 'f32'}}
func.func @infer(%x: f32) attributes {cleave.entry} {
  return
}
