// RUN: cleave-opt %s -split-input-file -verify-diagnostics

// Elementwise ops keep their operands' type; what they compute on is checked by type.

func.func @abs(%a: tensor<4xf32>) {
  // constraint: cleave.abs: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.abs"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @ceil(%a: tensor<4xf32>) {
  // constraint: cleave.ceil: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.ceil"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @cos(%a: tensor<4xf32>) {
  // constraint: cleave.cos: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.cos"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @erf(%a: tensor<4xf32>) {
  // constraint: cleave.erf: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.erf"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @exp(%a: tensor<4xf32>) {
  // constraint: cleave.exp: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.exp"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @floor(%a: tensor<4xf32>) {
  // constraint: cleave.floor: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.floor"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @log(%a: tensor<4xf32>) {
  // constraint: cleave.log: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.log"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @neg(%a: tensor<4xf32>) {
  // constraint: cleave.neg: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.neg"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @relu(%a: tensor<4xf32>) {
  // constraint: cleave.relu: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.relu"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @round(%a: tensor<4xf32>) {
  // constraint: cleave.round: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.round"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @rsqrt(%a: tensor<4xf32>) {
  // constraint: cleave.rsqrt: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.rsqrt"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @expm1(%a: tensor<4xf32>) {
  // constraint: cleave.expm1: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.expm1"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @log1p(%a: tensor<4xf32>) {
  // constraint: cleave.log1p: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.log1p"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sigmoid(%a: tensor<4xf32>) {
  // constraint: cleave.sigmoid: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sigmoid"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sign(%a: tensor<4xf32>) {
  // constraint: cleave.sign: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sign"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sin(%a: tensor<4xf32>) {
  // constraint: cleave.sin: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sin"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @asin(%a: tensor<4xf32>) {
  // constraint: cleave.asin: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.asin"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @acos(%a: tensor<4xf32>) {
  // constraint: cleave.acos: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.acos"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @atan(%a: tensor<4xf32>) {
  // constraint: cleave.atan: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.atan"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @sqrt(%a: tensor<4xf32>) {
  // constraint: cleave.sqrt: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sqrt"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @tanh(%a: tensor<4xf32>) {
  // constraint: cleave.tanh: The operand and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.tanh"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  return
}

// -----

func.func @add(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.add: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.add"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sub(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.sub: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.sub"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @mul(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.mul: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.mul"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @div(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.div: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.div"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @max(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.max: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.max"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @min(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.min: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.min"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @rem(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.rem: The operands and the result have the same shape
  // expected-error @+1 {{requires the same type for all operands and results}}
  %0 = "cleave.rem"(%a, %b) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pow(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.pow: The operands and the result have the same shape
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
  // constraint: cleave.compare: The operands have the same shape
  // expected-error @+1 {{requires all operands to have the same type}}
  %0 = "cleave.compare"(%a, %b) <{predicate = #cleave<predicate lt>}> : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xi1>
  return
}

// -----

func.func @select(%c: tensor<8xi1>, %a: tensor<4xf32>) {
  // constraint: cleave.select: The operands and the result have the same shape
  // expected-error @+1 {{failed to verify that all of {condition, result} have same shape}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<8xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast(%a: tensor<4xf32>) {
  // constraint: cleave.cast: The operand and the result have the same shape
  // expected-error @+1 {{requires the same shape for all operands and results}}
  %0 = "cleave.cast"(%a) : (tensor<4xf32>) -> tensor<8xf64>
  return
}

// -----

func.func @constant() {
  // constraint: cleave.constant: `value` is a ranked tensor
  // expected-error @below {{inferred type(s)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = "cleave.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<8xf32>
  return
}

// -----

func.func @exp_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.exp"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @exp_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.exp"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @exp_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.exp"(%a) : (f32) -> f32
  return
}

// -----

func.func @expm1_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.expm1"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @expm1_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.expm1"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @expm1_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.expm1"(%a) : (f32) -> f32
  return
}

// -----

func.func @log_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.log"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @log_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.log"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @log_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.log"(%a) : (f32) -> f32
  return
}

// -----

func.func @log1p_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.log1p"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @log1p_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.log1p"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @log1p_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.log1p"(%a) : (f32) -> f32
  return
}

// -----

func.func @sqrt_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.sqrt"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @sqrt_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.sqrt"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sqrt_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.sqrt"(%a) : (f32) -> f32
  return
}

// -----

func.func @rsqrt_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.rsqrt"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @rsqrt_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.rsqrt"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @rsqrt_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.rsqrt"(%a) : (f32) -> f32
  return
}

// -----

func.func @tanh_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.tanh"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @tanh_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.tanh"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @tanh_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.tanh"(%a) : (f32) -> f32
  return
}

// -----

func.func @erf_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.erf"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @erf_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.erf"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @erf_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.erf"(%a) : (f32) -> f32
  return
}

// -----

func.func @sigmoid_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.sigmoid"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @sigmoid_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.sigmoid"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sigmoid_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.sigmoid"(%a) : (f32) -> f32
  return
}

// -----

func.func @sin_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.sin"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @sin_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.sin"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sin_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.sin"(%a) : (f32) -> f32
  return
}

// -----

func.func @cos_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.cos"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @cos_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.cos"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @cos_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.cos"(%a) : (f32) -> f32
  return
}

// -----

func.func @floor_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.floor"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @floor_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.floor"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @floor_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.floor"(%a) : (f32) -> f32
  return
}

// -----

func.func @ceil_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.ceil"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @ceil_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.ceil"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @ceil_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.ceil"(%a) : (f32) -> f32
  return
}

// -----

func.func @round_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.round"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @round_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.round"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @round_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.round"(%a) : (f32) -> f32
  return
}

// -----

func.func @relu_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.relu"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @relu_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.relu"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @relu_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.relu"(%a) : (f32) -> f32
  return
}

// -----

func.func @neg_elements(%a: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.neg"(%a) : (tensor<4xindex>) -> tensor<4xindex>
  return
}

// -----

func.func @neg_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.neg"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @neg_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.neg"(%a) : (f32) -> f32
  return
}

// -----

func.func @abs_elements(%a: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.abs"(%a) : (tensor<4xindex>) -> tensor<4xindex>
  return
}

// -----

func.func @abs_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.abs"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @abs_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.abs"(%a) : (f32) -> f32
  return
}

// -----

func.func @sign_elements(%a: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.sign"(%a) : (tensor<4xindex>) -> tensor<4xindex>
  return
}

// -----

func.func @sign_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.sign"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sign_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.sign"(%a) : (f32) -> f32
  return
}

// -----

func.func @not_elements(%a: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xf32>'}}
  %0 = "cleave.not"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @not_dynamic(%a: tensor<?xi1>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xi1>'}}
  %0 = "cleave.not"(%a) : (tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @not_number(%a: i1) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'i1'}}
  %0 = "cleave.not"(%a) : (i1) -> i1
  return
}

// -----

func.func @add_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.add"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @add_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.add"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @add_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.add"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @sub_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.sub"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @sub_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.sub"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @sub_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.sub"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @mul_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.mul"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @mul_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.mul"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @mul_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.mul"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @div_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.div"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @div_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.div"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @div_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.div"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @pow_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.pow"(%a, %a) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @pow_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.pow"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @pow_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.pow"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @max_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.max"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @max_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.max"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @max_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.max"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @min_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.min"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @min_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.min"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @min_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.min"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @rem_elements(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = "cleave.rem"(%a, %a) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @rem_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.rem"(%a, %a) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @rem_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.rem"(%a, %a) : (f32, f32) -> f32
  return
}

// -----

func.func @and_elements(%a: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xf32>'}}
  %0 = "cleave.and"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @and_dynamic(%a: tensor<?xi1>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xi1>'}}
  %0 = "cleave.and"(%a, %a) : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @and_number(%a: i1) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'i1'}}
  %0 = "cleave.and"(%a, %a) : (i1, i1) -> i1
  return
}

// -----

func.func @or_elements(%a: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xf32>'}}
  %0 = "cleave.or"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @or_dynamic(%a: tensor<?xi1>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xi1>'}}
  %0 = "cleave.or"(%a, %a) : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @or_number(%a: i1) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'i1'}}
  %0 = "cleave.or"(%a, %a) : (i1, i1) -> i1
  return
}

// -----

func.func @xor_elements(%a: tensor<4xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xf32>'}}
  %0 = "cleave.xor"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @xor_dynamic(%a: tensor<?xi1>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xi1>'}}
  %0 = "cleave.xor"(%a, %a) : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @xor_number(%a: i1) {
  // expected-error @below {{operand #0 must be statically shaped tensor of integer values, of at most 2^63 - 1 bytes, but got 'i1'}}
  %0 = "cleave.xor"(%a, %a) : (i1, i1) -> i1
  return
}

// -----

func.func @compare_shapes(%a: tensor<4xf32>, %b: tensor<8xf32>) {
  // constraint: cleave.compare: The operands have the same shape
  // expected-error @below {{requires all operands to have the same type}}
  %0 = "cleave.compare"(%a, %b) <{predicate = #cleave<predicate lt>}> : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_result(%a: tensor<4xf32>) {
  // constraint: cleave.compare: The operands have the same shape
  // expected-error @below {{result #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xi8>'}}
  %0 = "cleave.compare"(%a, %a) <{predicate = #cleave<predicate lt>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @compare_result_shape(%a: tensor<4xf32>) {
  // constraint: cleave.compare: The operands have the same shape
  // expected-error @below {{requires the same shape for all operands and results}}
  %0 = "cleave.compare"(%a, %a) <{predicate = #cleave<predicate lt>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xi1>
  return
}

// -----

func.func @compare_elements(%a: tensor<4xindex>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.compare"(%a, %a) <{predicate = #cleave<predicate lt>}> : (tensor<4xindex>, tensor<4xindex>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.compare"(%a, %a) <{predicate = #cleave<predicate lt>}> : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  return
}

// -----

func.func @select_condition(%c: tensor<4xi8>, %a: tensor<4xf32>) {
  // constraint: cleave.select: `on_true`, `on_false` and the result
  // expected-error @below {{operand #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xi8>'}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<4xi8>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_shape(%c: tensor<8xi1>, %a: tensor<4xf32>) {
  // constraint: cleave.select: The operands and the result have the same shape
  // expected-error @below {{failed to verify that all of {condition, result} have same shape}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<8xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_result(%c: tensor<4xi1>, %a: tensor<4xf32>) {
  // constraint: cleave.select: `on_true`, `on_false` and the result
  // expected-error @below {{failed to verify that all of {on_true, on_false, result} have same type}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf16>
  return
}

// -----

func.func @select_dynamic(%c: tensor<?xi1>, %a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of 1-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xi1>'}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<?xi1>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @select_elements(%c: tensor<4xi1>, %a: tensor<4xindex>) {
  // expected-error @below {{operand #1 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = "cleave.select"(%c, %a, %a) : (tensor<4xi1>, tensor<4xindex>, tensor<4xindex>) -> tensor<4xindex>
  return
}

// -----

func.func @cast_index(%a: tensor<4xf32>) {
  // expected-error @below {{result #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xindex>'}}
  %0 = cleave.cast %a : tensor<4xf32> -> tensor<4xindex>
  return
}

// -----

func.func @cast_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.cast"(%a) : (f32) -> tensor<f32>
  return
}

// -----

func.func @cast_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = cleave.cast %a : tensor<?xf32> -> tensor<?xf16>
  return
}

// -----

func.func @cast_complex(%a: tensor<4xcomplex<f32>>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point or integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xcomplex<f32>>'}}
  %0 = cleave.cast %a : tensor<4xcomplex<f32>> -> tensor<4xf32>
  return
}

// -----

func.func @asin_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.asin"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @asin_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.asin"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @asin_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.asin"(%a) : (f32) -> f32
  return
}

// -----

func.func @acos_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.acos"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @acos_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.acos"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @acos_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.acos"(%a) : (f32) -> f32
  return
}

// -----

func.func @atan_elements(%a: tensor<4xi64>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<4xi64>'}}
  %0 = "cleave.atan"(%a) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @atan_dynamic(%a: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'tensor<?xf32>'}}
  %0 = "cleave.atan"(%a) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @atan_number(%a: f32) {
  // expected-error @below {{operand #0 must be statically shaped tensor of floating-point values, of at most 2^63 - 1 bytes, but got 'f32'}}
  %0 = "cleave.atan"(%a) : (f32) -> f32
  return
}

// -----

// The class refuses unequal shapes: of the result, of its rank alone, and of a result whose operands agree.

func.func @abs_shape(%a: tensor<4xf32>) {
  // constraint: cleave.abs: The operand and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.abs"(%a) : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @log_rank(%a: tensor<4xf32>) {
  // constraint: cleave.log: The operand and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.log"(%a) : (tensor<4xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @mul_result_shape(%a: tensor<4xf32>) {
  // constraint: cleave.mul: The operands and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.mul"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @and_type(%a: tensor<4xi1>, %b: tensor<8xi1>) {
  // constraint: cleave.and: The operands and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.and"(%a, %b) : (tensor<4xi1>, tensor<8xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @or_type(%a: tensor<4xi1>, %b: tensor<8xi1>) {
  // constraint: cleave.or: The operands and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.or"(%a, %b) : (tensor<4xi1>, tensor<8xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @xor_type(%a: tensor<4xi1>, %b: tensor<8xi1>) {
  // constraint: cleave.xor: The operands and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.xor"(%a, %b) : (tensor<4xi1>, tensor<8xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @not_type(%a: tensor<4xi1>) {
  // constraint: cleave.not: The operand and the result have the same shape
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "cleave.not"(%a) : (tensor<4xi1>) -> tensor<8xi1>
  return
}
