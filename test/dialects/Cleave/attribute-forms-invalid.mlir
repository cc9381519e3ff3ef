// The forms of the attributes that passes leave for each other (dialects/Cleave/IR/Attributes.def): the dialect's verifier refuses all others, wherever
// they stand, so that no pass has to check what it reads.
// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// What Attributes.def allows: no optional keys, any axes, an empty list where it may be, and each kind of triangle.
module attributes {cleave.evaluation = {}, cleave.loss_guards = [], cleave.pipeline = {axis = "pp"}, cleave.kind = {name = "a", where = {}},
                   cleave.kinds = [{name = "a", where = {dp = array<i64: 0, 1>, pp = array<i64: 1, 2>}}],
                   cleave.param_groups = [{name = "default", lr_scale = 1.0}, {name = "b", lr_scale = 1.0, weight_decay = 0.5}]} {
  cleave.state @t : tensor<2x2xi1> {role = #cleave.role<constant>, cleave.triangle = true, segments = [#cleave.segment<"t", tensor<2x2xi1>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @u : tensor<2x2xf32> {role = #cleave.role<constant>, cleave.triangle = -1.0e30, segments = [#cleave.segment<"u", tensor<2x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  cleave.state @v : tensor<2x2xf32> {role = #cleave.role<constant>, cleave.triangle = array<f64: 1.0, 0.0>, segments = [#cleave.segment<"v", tensor<2x2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}
  func.func @f(%x: tensor<2xi64> {cleave.labels = [3, -100]}) attributes {cleave.calls = [], cleave.waits = []} {
    // An attribute that stands on something else is a matter of the level's verify pass.
    %0 = cleave.neg %x {cleave.labels = 1} : tensor<2xi64>
    return
  }
}

// -----

// expected-error @below {{cleave.evaluation expects the form {divisor?: string, count?: string, batches?: string}; got: }}
module attributes {cleave.evaluation = {divisor = 1.0}} {}

// -----

// expected-error @below {{cleave.evaluation expects the form {divisor?: string, count?: string, batches?: string}; got: }}
module attributes {cleave.evaluation = {divider = "plus 1"}} {}

// -----

// expected-error @below {{cleave.param_groups expects the form [{name: string, lr_scale: f64, weight_decay?: f64}+]; got: }}
module attributes {cleave.param_groups = []} {}

// -----

// expected-error @below {{cleave.param_groups expects the form [{name: string, lr_scale: f64, weight_decay?: f64}+]; got: }}
module attributes {cleave.param_groups = [{name = "a"}]} {}

// -----

// expected-error @below {{cleave.param_groups expects the form [{name: string, lr_scale: f64, weight_decay?: f64}+]; got: }}
module attributes {cleave.param_groups = [{name = "a", lr_scale = 1 : i64}]} {}

// -----

// expected-error @below {{cleave.loss_scale expects the form {unit: f64, growth: f64, backoff: f64, interval: f64}; got: }}
module attributes {cleave.loss_scale = {unit = 1.0, growth = 2.0, backoff = 0.5}} {}

// -----

// expected-error @below {{cleave.loss_guards expects the form [{kind: i64, number: f64, predicate: predicate, other: f64}]; got: }}
module attributes {cleave.loss_guards = [{kind = 0, number = 1.0, predicate = "lt", other = 1.0}]} {}

// -----

// expected-error @below {{cleave.kinds expects the form [{name: string, where: {*: array<2xi64>}}+]; got: }}
module attributes {cleave.kinds = []} {}

// -----

// expected-error @below {{cleave.kinds expects the form [{name: string, where: {*: array<2xi64>}}+]; got: }}
module attributes {cleave.kinds = [{name = "a", where = {dp = array<i64: 0>}}]} {}

// -----

// expected-error @below {{cleave.kinds expects the form [{name: string, where: {*: array<2xi64>}}+]; got: }}
module attributes {cleave.kinds = {name = "a", where = {}}} {}

// -----

// expected-error @below {{cleave.kind expects the form {name: string, where: {*: array<2xi64>}}; got: }}
module attributes {cleave.kind = {name = "a"}} {}

// -----

// expected-error @below {{cleave.kind expects the form {name: string, where: {*: array<2xi64>}}; got: }}
module attributes {cleave.kind = {name = "a", where = {dp = [0, 1]}}} {}

// -----

// expected-error @below {{cleave.pipeline expects the form {axis: string, schedule?: string, file?: string}; got: }}
module attributes {cleave.pipeline = "pp"} {}

// -----

// expected-error @below {{cleave.pipeline expects the form {axis: string, schedule?: string, file?: string}; got: }}
module attributes {cleave.pipeline = {schedule = "gpipe"}} {}

// -----

// expected-error @below {{cleave.calls expects the form [{program: string, times: i64, first_frame: i64, skip?: i64}]; got: }}
func.func @f() attributes {cleave.calls = [{program = @g, times = 1, first_frame = 0}]} {
  return
}

// -----

// expected-error @below {{cleave.calls expects the form [{program: string, times: i64, first_frame: i64, skip?: i64}]; got: }}
func.func @f() attributes {cleave.calls = ["g"]} {
  return
}

// -----

// expected-error @below {{cleave.waits expects the form [{event: string, frames: i64, frame: i64, stage_buffer: string}]; got: }}
func.func @f() attributes {cleave.waits = [{event = "e", frames = 1, frame = 0}]} {
  return
}

// -----

// expected-error @below {{cleave.records expects the form [{event: string, frames: i64, frame: i64, stage_buffer: string}]; got: }}
func.func @f() attributes {cleave.records = [{event = "e", frames = 1, frame = 0.0, stage_buffer = "s"}]} {
  return
}

// -----

// expected-error @below {{cleave.loss_reductions of result 0 expects the form [string]; got: }}
func.func @f(%x: tensor<f32>) -> (tensor<f32> {cleave.loss_reductions = [0]}) {
  return %x : tensor<f32>
}

// -----

// expected-error @below {{cleave.labels of argument 0 expects the form [i64+]; got: }}
func.func @f(%x: tensor<2xi64> {cleave.labels = []}) {
  return
}

// -----

// expected-error @below {{cleave.labels of argument 0 expects the form [i64+]; got: }}
func.func @f(%x: tensor<2xi64> {cleave.labels = ["cat"]}) {
  return
}

// -----

// expected-error @below {{cleave.indices of argument 0 expects the form [i64+]; got: }}
func.func @f(%x: tensor<2xi64> {cleave.indices = []}) {
  return
}

// -----

// expected-error @below {{cleave.indices of argument 0 expects the form [i64+]; got: }}
func.func @f(%x: tensor<2xi64> {cleave.indices = 4}) {
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.uses expects the form [sharding]; got: }}
  %0 = cleave.neg %x {cleave.uses = ["dp"]} : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.owner_axes expects the form [string]; got: }}
  %0 = cleave.neg %x {cleave.owner_axes = [0]} : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.statistics expects the form {mean: string, variance: string, momentum: f64, count: i64, use: i64}; got: }}
  %0 = cleave.neg %x {cleave.statistics = {variance = "v", momentum = 0.9, count = 2, use = 1}} : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.statistics expects the form {mean: string, variance: string, momentum: f64, count: i64, use: i64}; got: }}
  %0 = cleave.neg %x {cleave.statistics = {mean = @m, variance = "v", momentum = 0.9, count = 2, use = 1}} : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.statistics expects the form {mean: string, variance: string, momentum: f64, count: i64, use: i64}; got: }}
  %0 = cleave.neg %x {cleave.statistics = {mean = "m", variance = "v", momentum = 0.9, count = 2 : i32, use = 1}} : tensor<2xf32>
  return
}

// -----

// expected-error @below {{cleave.deferred expects the form {mean: string, variance: string, momentum: f64, count: i64, terms: count, sum: string, squares: string}; got: }}
cleave.state @s : tensor<2xf32> {role = #cleave.role<constant>, cleave.deferred = {mean = "m", variance = "v", momentum = 0.9, count = 2}, segments = [#cleave.segment<"s", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// -----

// expected-error @below {{cleave.triangle expects the form bool or f64 or array<2xf64>; got: }}
cleave.state @s : tensor<2xf32> {role = #cleave.role<constant>, cleave.triangle = "lower", segments = [#cleave.segment<"s", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// -----

// expected-error @below {{cleave.triangle expects the form bool or f64 or array<2xf64>; got: }}
cleave.state @s : tensor<2xf32> {role = #cleave.role<constant>, cleave.triangle = array<f64: 1.0>, segments = [#cleave.segment<"s", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// -----

// expected-error @below {{cleave.triangle expects the form bool or f64 or array<2xf64>; got: }}
cleave.state @s : tensor<2xf32> {role = #cleave.role<constant>, cleave.triangle = 1 : i64, segments = [#cleave.segment<"s", tensor<2xf32>, offset = 0, group = 0, init = #cleave.init<weights>>]}

// -----

// Counts and numbers of things have bounds, far from where arithmetic with them would overflow.
// expected-error @below {{cleave.micro_batches expects the form count (1 to 1048576); got: 0 : i64}}
module attributes {cleave.micro_batches = 0 : i64} {}

// -----

// expected-error @below {{cleave.micro_batches expects the form count (1 to 1048576); got: 4611686018427387904 : i64}}
module attributes {cleave.micro_batches = 4611686018427387904 : i64} {}

// -----

// expected-error @below {{cleave.stages expects the form count (1 to 1048576); got: 1048577 : i64}}
module attributes {cleave.stages = 1048577 : i64} {}

// -----

// expected-error @below {{cleave.blocks expects the form index (0 to 2147483647); got: -1 : i64}}
module attributes {cleave.blocks = -1 : i64} {}

// -----

// expected-error @below {{cleave.batch_dim of argument 0 expects the form index (0 to 2147483647); got: -1 : i64}}
func.func @f(%x: tensor<2xf32> {cleave.batch_dim = -1 : i64}) {
  return
}

// -----

// expected-error @below {{cleave.residual of argument 0 expects the form index (0 to 2147483647); got: 2147483648 : i64}}
func.func @f(%x: tensor<2xf32> {cleave.residual = 2147483648 : i64}) {
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.instance expects the form index (0 to 2147483647); got: -1 : i64}}
  %0 = cleave.neg %x {cleave.instance = -1 : i64} : tensor<2xf32>
  return
}

// -----

func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{cleave.block expects the form index (0 to 2147483647); got: 1 : i32}}
  %0 = cleave.neg %x {cleave.block = 1 : i32} : tensor<2xf32>
  return
}
