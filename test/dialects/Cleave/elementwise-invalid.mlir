// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// Elementwise ops keep their operands' type; what they compute on is checked by type.

func.func @abs(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.abs"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @ceil(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.ceil"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @cos(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.cos"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @erf(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.erf"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @exp(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.exp"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @floor(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.floor"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @log(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.log"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @neg(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.neg"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @relu(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.relu"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @round(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.round"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @rsqrt(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.rsqrt"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @expm1(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.expm1"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @log1p(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.log1p"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sigmoid(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sigmoid"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sign(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sign"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sin(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sin"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @asin(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.asin"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @acos(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.acos"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @atan(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.atan"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sqrt(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sqrt"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @tanh(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @add(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.add"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sub(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sub"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mul(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.mul"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @div(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.div"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @max(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.max"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @min(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.min"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rem(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.rem"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pow(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.pow"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @and(%a: tensor<4xf32>) {
  // expected-error @+1 {{must be statically shaped tensor of integer values}}
  %0 = "cleave.and"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @or(%a: tensor<4xf32>) {
  // expected-error @+1 {{must be statically shaped tensor of integer values}}
  %0 = "cleave.or"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @xor(%a: tensor<4xf32>) {
  // expected-error @+1 {{must be statically shaped tensor of integer values}}
  %0 = "cleave.xor"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @not(%a: tensor<4xi64>) {
  // expected-error @+1 {{must be statically shaped tensor of 1-bit signless integer values}}
  %0 = "cleave.not"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @compare(%a: tensor<4xf32>, %b: tensor<4xf64>) {
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = "cleave.compare"(%a, %b) <{predicate = #cleave<predicate lt>}> : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

func.func @select(%c: tensor<8xi1>, %a: tensor<4xf32>) {
  // expected-error @+1 {{failed to verify that all of {condition, result} have same shape}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<8xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast(%a: tensor<4xf32>) {
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = "cleave.cast"(%a) : (tensor<4xf32>) -> tensor<8xf64>
  return
}

// -----

func.func @constant() {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s)}}
  %0 = "cleave.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<8xf32>
  return
}
