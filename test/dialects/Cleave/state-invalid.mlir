// RUN: cleave-opt %s --split-input-file --verify-diagnostics

// constraint: cleave.state: There is at least one segment
// expected-error @+1 {{needs at least one segment}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, segments = []}

// -----
// constraint: cleave.state: There is at least one segment
// expected-error @+1 {{segments have the state's element type; got: 'tensor<4xf16>' in 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf16>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: A state has one segment
// expected-error @+1 {{holds one tensor of its own type at offset 0, or has rank 1 and is a bucket}}
cleave.state @w : tensor<2x2xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: `storage` lists axes
// expected-error @+1 {{storage lists axes for every dimension}}
cleave.state @w : tensor<2x2xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
  segments = [#cleave.segment<"w", tensor<2x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: The segments of a bucket
// expected-error @+1 {{segments ascend without overlap; got: "b" at 32 where the one before ends at 33}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<33xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
  #cleave.segment<"b", tensor<4xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: The segments of a bucket
// expected-error @+1 {{a segment begins on a multiple of 128 bytes; got: "b" at byte 16}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
  #cleave.segment<"b", tensor<4xf32>, offset = 4, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: The segments of a bucket
// expected-error @+1 {{segments lie inside the state; got: "a" of 'tensor<65xf32>' at 0 of 'tensor<64xf32>'}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<65xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// constraint: cleave.state: The segments of a bucket
// expected-error @+1 {{segments lie inside the state; got: "a" of 'tensor<4xf32>' at 9223372036854775776 of 'tensor<64xf32>'}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<4xf32>, offset = 9223372036854775776, group = 0, init = #cleave.init<zeros>>]}

// -----
// The elements of this segment are 2^64.
// constraint: cleave.state: The segments of a bucket
// expected-error @+1 {{segments lie inside the state; got: "a" of 'tensor<4294967296x4294967296xf32>' at 0 of 'tensor<64xf32>'}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<4294967296x4294967296xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{type attribute of statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes}}
cleave.state @w : tensor<4294967296x4294967296xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4294967296x4294967296xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
func.func @f() {
  // constraint: cleave.read: `state` names
  // expected-error @+1 {{names a cleave.state of this module; got: @nowhere}}
  %0 = cleave.read @nowhere : tensor<4xf32>
  return
}

// -----
// expected-note @+1 {{the state is 'tensor<4xf32>', a rank stores 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @f(%x: tensor<2xf32>) {
  // constraint: cleave.write: The value has
  // expected-error @+1 {{has the state's type, or the type that one rank stores; got: 'tensor<2xf32>'}}
  cleave.write %x, @w : tensor<2xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // constraint: cleave.kernel: The body's arguments
  // expected-error @+1 {{the body's arguments have the inputs' types; got: 'tensor<2xf32>', 'tensor<4xf32>' for 'tensor<4xf32>'}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<2xf32>, %z: tensor<4xf32>):
    cleave.yield %z : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<2xf32> {
  // constraint: cleave.kernel: The body's arguments
  // expected-error @+1 {{the body yields values of the results' types; got: 'tensor<4xf32>' for 'tensor<2xf32>'}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<2xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // constraint: cleave.kernel: `tied` has one entry
  // expected-error @+1 {{tied names an input, or is -1; got: 1}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> attributes {tied = array<i64: 1>} {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // constraint: cleave.kernel: `tied` has one entry
  // expected-error @+1 {{tied has one entry for every result; got: 2 for 1}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> attributes {tied = array<i64: 0, 0>} {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @constant_type() {
  // constraint: cleave.constant: `value` is a ranked tensor
  // expected-error @below {{inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cleave.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<8xf32>
  return
}

// -----

func.func @constant_vector() {
  // constraint: cleave.constant: `value` is a ranked tensor
  // expected-error @below {{holds a ranked tensor; got: 'vector<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cleave.constant"() <{value = dense<1.0> : vector<4xf32>}> : () -> tensor<4xf32>
  return
}

// -----

func.func @constant_int() {
  // expected-error @below {{invalid properties {value = 1 : i64} for op cleave.constant: Invalid attribute `value` in property conversion: 1 : i64}}
  %0 = "cleave.constant"() <{value = 1 : i64}> : () -> tensor<i64>
  return
}

// -----

func.func @constant_index() {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.constant"() <{value = dense<1> : tensor<4xindex>}> : () -> tensor<4xindex>
  return
}

// -----

func.func @constant_dynamic() {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<?xf32>
  return
}

// -----

// expected-note @below {{the state is 'tensor<4xf32>', a rank stores 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @read_type() {
  // constraint: cleave.read: The result has
  // expected-error @below {{has the state's type, or the type that one rank stores; got: 'tensor<2xf32>'}}
  %0 = cleave.read @w : tensor<2xf32>
  return
}

// -----

// expected-note @below {{the state is 'tensor<4xf32>', a rank stores 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @read_elements() {
  // constraint: cleave.read: The result has
  // expected-error @below {{has the state's type, or the type that one rank stores; got: 'tensor<4xf16>'}}
  %0 = cleave.read @w : tensor<4xf16>
  return
}

// -----

func.func @read_dynamic() {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = cleave.read @w : tensor<?xf32>
  return
}

// -----

func.func @function() {
  // constraint: cleave.read: `state` names
  // expected-error @below {{names a cleave.state of this module; got: @function}}
  %0 = cleave.read @function : tensor<4xf32>
  return
}

// -----

func.func @write_nowhere(%x: tensor<4xf32>) {
  // constraint: cleave.write: `state` names
  // expected-error @below {{names a cleave.state of this module; got: @nowhere}}
  cleave.write %x, @nowhere : tensor<4xf32>
  return
}

// -----

// expected-note @below {{the state is 'tensor<4xf32>', a rank stores 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @write_elements(%x: tensor<4xf16>) {
  // constraint: cleave.write: The value has
  // expected-error @below {{has the state's type, or the type that one rank stores; got: 'tensor<4xf16>'}}
  cleave.write %x, @w : tensor<4xf16>
  return
}

// -----

func.func @write_dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  cleave.write %x, @w : tensor<?xf32>
  return
}

// -----

func.func @write_function(%x: tensor<4xf32>) {
  // constraint: cleave.write: `state` names
  // expected-error @below {{names a cleave.state of this module; got: @write_function}}
  cleave.write %x, @write_function : tensor<4xf32>
  return
}

// -----

func.func @yield_elsewhere(%x: tensor<4xf32>) {
  // constraint: cleave.yield: Its parent is
  // expected-error @below {{expects parent op 'cleave.kernel'}}
  cleave.yield %x : tensor<4xf32>
}

// -----

func.func @yield_in_the_middle(%a: tensor<4xf32>) -> tensor<4xf32> {
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @below {{must be the last operation in the parent block}}
    cleave.yield %x : tensor<4xf32>
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @yield_of_another_kernel(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{required by region isolation constraints}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @below {{using value defined outside the region}}
    cleave.yield %a : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @yield_with_result(%a: tensor<4xf32>) -> tensor<4xf32> {
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    // expected-error @below {{requires zero results}}
    %z = "cleave.yield"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @yield_type(%a: tensor<4xf32>) {
  // constraint: cleave.yield at cleave.kernel: The values have the types
  // expected-error @below {{the body yields values of the results' types; got: 'tensor<4xf32>' for 'tensor<4xf32>', 'tensor<4xf32>'}}
  %y:2 = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return
}

// -----

func.func @tied_below(%a: tensor<4xf32>) {
  // constraint: cleave.kernel: `tied` has one entry
  // expected-error @below {{tied names an input, or is -1; got: -2}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> attributes {tied = array<i64: -2>} {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return
}

// -----

// constraint: cleave.state: The segments of a bucket
// expected-error @below {{segments ascend without overlap; got: "b" at 0 where the one before ends at 64}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<32xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>,
  #cleave.segment<"b", tensor<32xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
