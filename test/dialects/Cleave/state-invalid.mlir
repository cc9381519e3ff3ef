// RUN: cleave-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{needs at least one segment}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>, segments = []}

// -----
// expected-error @+1 {{segments have the state's element type; got: 'tensor<4xf16>' in 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf16>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{holds one tensor of its own type at offset 0, or has rank 1 and is a bucket}}
cleave.state @w : tensor<2x2xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{storage lists axes for every dimension}}
cleave.state @w : tensor<2x2xf32> {role = #cleave.role<parameter>, storage = #cleave.sharding<[[]]>,
  segments = [#cleave.segment<"w", tensor<2x2xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{segments ascend without overlap; got: "b" at 32 where the one before ends at 33}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<33xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
  #cleave.segment<"b", tensor<4xf32>, offset = 32, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{a segment begins on a multiple of 128 bytes; got: "b" at byte 16}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>,
  #cleave.segment<"b", tensor<4xf32>, offset = 4, group = 0, init = #cleave.init<zeros>>]}

// -----
// expected-error @+1 {{segments lie inside the state; got: "a" ending at 65}}
cleave.state @w : tensor<64xf32> {role = #cleave.role<parameter>, segments = [
  #cleave.segment<"a", tensor<65xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}

// -----
func.func @f() {
  // expected-error @+1 {{names a cleave.state of this module; got: @nowhere}}
  %0 = cleave.read @nowhere : tensor<4xf32>
  return
}

// -----
// expected-note @+1 {{the state is 'tensor<4xf32>', a rank stores 'tensor<4xf32>'}}
cleave.state @w : tensor<4xf32> {role = #cleave.role<parameter>,
  segments = [#cleave.segment<"w", tensor<4xf32>, offset = 0, group = 0, init = #cleave.init<zeros>>]}
func.func @f(%x: tensor<2xf32>) {
  // expected-error @+1 {{has the state's type, or the type that one rank stores; got: 'tensor<2xf32>'}}
  cleave.write %x, @w : tensor<2xf32>
  return
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{the body's arguments have the inputs' types}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%x: tensor<2xf32>, %z: tensor<4xf32>):
    cleave.yield %z : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<2xf32> {
  // expected-error @+1 {{the body yields values of the results' types}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<2xf32> {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<2xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{tied names an input, or is -1; got: 1}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> attributes {tied = array<i64: 1>} {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----
func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{tied has one entry for every result; got: 2 for 1}}
  %y = cleave.kernel ins(%a : tensor<4xf32>) -> tensor<4xf32> attributes {tied = array<i64: 0, 0>} {
  ^bb0(%x: tensor<4xf32>):
    cleave.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}
