// RUN: cleave-opt %s -split-input-file -verify-diagnostics

func.func @rank(%q: tensor<2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects query, key and value of rank 4}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 : (tensor<2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @element(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf16>, %v: tensor<1x2x5x6xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects query, key and value of one element type}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf16>, tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @heads(%q: tensor<1x2x4x8xf32>, %k: tensor<1x3x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects query, key and value to agree in batch and heads}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x3x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @depth(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x7xf32>, %v: tensor<1x2x5x6xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects query and key of one depth, their last dimension}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x7xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @columns(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x6x6xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects as many keys as values}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x6x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @mask(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %mask: tensor<1x2x3x5xf32>) {
  // constraint: cleave.attention: The mask has rank 4
  // expected-error @below {{'cleave.attention' op expects a mask of rank 4 whose sizes are the scores' [batch, heads, rows, columns] or 1}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v mask %mask, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x3x5xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @mask_rank(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %mask: tensor<4x5xf32>) {
  // constraint: cleave.attention: The mask has rank 4
  // expected-error @below {{'cleave.attention' op expects a mask of rank 4 whose sizes are the scores' [batch, heads, rows, columns] or 1}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v mask %mask, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<4x5xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @mask_type(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %mask: tensor<1x1x4x5xf16>) {
  // constraint: cleave.attention: The mask is of i1
  // expected-error @below {{'cleave.attention' op expects a mask of i1 or of the type that scores are computed in}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v mask %mask, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x1x4x5xf16>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @no_fill(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %mask: tensor<1x1x4x5xi1>) {
  // constraint: cleave.attention: The mask is of i1
  // expected-error @below {{'cleave.attention' op expects a fill for a mask of i1}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v mask %mask, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x1x4x5xi1>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @fill(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %mask: tensor<1x1x4x5xf32>) {
  // constraint: cleave.attention: The mask is of i1
  // expected-error @below {{'cleave.attention' op expects no fill for a mask that is added}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v mask %mask, scale = 1.0 {fill = 0.0} : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x1x4x5xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @fill_alone(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>) {
  // constraint: cleave.attention: The mask is of i1
  // expected-error @below {{'cleave.attention' op expects a mask of i1 where there is a fill}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %k, %v, scale = 1.0 {fill = 0.0} : (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @result_grad(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %delta: tensor<1x2x4xf32>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{'cleave.attention_grad' op expects a result_grad of type 'tensor<1x2x4x6xf32>'; got: 'tensor<1x2x4x8xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %m, %delta, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>)
  return
}

// -----

func.func @delta(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x6xf32>, %dy: tensor<1x2x4x6xf32>, %m: tensor<1x2x4xf32>, %delta: tensor<1x2x5xf32>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{'cleave.attention_grad' op expects maximum, sum and delta of type 'tensor<1x2x4xf32>'; got: 'tensor<1x2x5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %m, %delta, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x4x6xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x5xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>)
  return
}

// -----

func.func @attention_grad_dy(%q: tensor<1x1x4x8xf32>, %d: tensor<1x1x4x4xf32>, %m: tensor<1x1x4xf32>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{expects a result_grad of type 'tensor<1x1x4x8xf32>'; got: 'tensor<1x1x4x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention_grad %q, %q, %q, %d, %m, %m, %m, scale = 1.0 : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
  return
}

// -----

func.func @attention_grad_sum(%q: tensor<1x1x4x8xf32>, %m: tensor<1x1x4xf32>, %s: tensor<1x1x5xf32>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{expects maximum, sum and delta of type 'tensor<1x1x4xf32>'; got: 'tensor<1x1x5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention_grad %q, %q, %q, %q, %m, %s, %m, scale = 1.0 : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4xf32>, tensor<1x1x5xf32>, tensor<1x1x4xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
  return
}

// -----

func.func @attention_grad_delta(%q: tensor<1x1x4x8xf32>, %m: tensor<1x1x4xf32>, %s: tensor<1x1x4xf16>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{expects maximum, sum and delta of type 'tensor<1x1x4xf32>'; got: 'tensor<1x1x4xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention_grad %q, %q, %q, %q, %m, %m, %s, scale = 1.0 : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf16>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
  return
}

// -----

func.func @attention_grad_result(%q: tensor<1x1x4x8xf32>, %m: tensor<1x1x4xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<1x1x4x8xf32>', 'tensor<1x1x4x8xf32>', 'tensor<1x1x4x8xf32>' are incompatible with return type(s) of operation 'tensor<1x1x4x8xf32>', 'tensor<1x1x4x8xf16>', 'tensor<1x1x4x8xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention_grad %q, %q, %q, %q, %m, %m, %m, scale = 1.0 : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf16>, tensor<1x1x4x8xf32>)
  return
}

// -----

func.func @attention_grad_rank(%q: tensor<1x4x8xf32>, %m: tensor<1x4xf32>) {
  // constraint: cleave.attention_grad: Query, key and value have
  // expected-error @below {{expects query, key and value of rank 4; got: tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention_grad %q, %q, %q, %q, %m, %m, %m, scale = 1.0 : (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> (tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8xf32>)
  return
}

// -----

func.func @attention_fillnomask(%q: tensor<1x1x4x8xf32>) {
  // constraint: cleave.attention: The mask is of i1
  // expected-error @below {{expects a mask of i1 where there is a fill; got: tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>}}
  // expected-error @below {{failed to infer returned types}}
  %0, %1, %2 = cleave.attention %q, %q, %q, scale = 1.0 {fill = -1.0 : f64} : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>)
  return
}

// -----

func.func @dropout_rate_zero(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %f), scale = 1.0 {rate = 0.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_rate_one(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %f), scale = 1.0 {rate = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_rate_negative(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %f), scale = 1.0 {rate = -0.5 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_rate_nan(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %f), scale = 1.0 {rate = 0x7FF8000000000000 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_no_rate(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %f), scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @rate_no_dropout(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `rate` is given if
  // expected-error @below {{'cleave.attention' op expects no rate without dropout}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q, scale = 1.0 {rate = 0.1} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_seed(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention' op expects a seed and a stream that are scalars}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%t, %s, %f), scale = 1.0 {rate = 0.1} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1xi64>, tensor<i64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_stream(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention' op expects a seed and a stream that are scalars}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %t, %f), scale = 1.0 {rate = 0.1} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<1xi64>, tensor<1x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_first(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>, %t: tensor<1xi64>, %f: tensor<1x2xi64>, %g: tensor<2x2xi64>) {
  // constraint: cleave.attention: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention' op expects first indices of the shape [batch, heads]}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %q dropout(%s, %s, %g), scale = 1.0 {rate = 0.1} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<2x2xi64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @dropout_half(%q: tensor<1x2x4x8xf32>, %s: tensor<i64>) {
  // constraint: cleave.attention: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention' op expects seed, stream and first indices together}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = "cleave.attention"(%q, %q, %q, %s) <{scale = 1.0 : f64, rate = 0.1 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>}> :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
  return
}

// -----

func.func @random_at_seed(%s: tensor<1xi64>, %t: tensor<i64>, %i: tensor<4xi64>) {
  // constraint: cleave.random_uniform_at: `seed` and `stream`
  // expected-error @below {{'cleave.random_uniform_at' op seed and stream are scalars; got: 'tensor<1xi64>' and 'tensor<i64>'}}
  %u = cleave.random_uniform_at %s, %t, %i : tensor<1xi64>, tensor<i64>, tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @random_at_index(%t: tensor<i64>, %i: tensor<4xi64>) {
  // constraint: cleave.random_uniform_at: `index` has
  // expected-error @below {{'cleave.random_uniform_at' op index has the result's shape; got: 'tensor<4xi64>' for 'tensor<2x2xf32>'}}
  %u = cleave.random_uniform_at %t, %t, %i : tensor<i64>, tensor<i64>, tensor<4xi64> -> tensor<2x2xf32>
  return
}

// -----

func.func @random_at_stream(%s: tensor<2xi64>, %t: tensor<i64>, %i: tensor<4xi64>) {
  // constraint: cleave.random_uniform_at: `seed` and `stream`
  // expected-error @below {{'cleave.random_uniform_at' op seed and stream are scalars; got: 'tensor<i64>' and 'tensor<2xi64>'}}
  %u = cleave.random_uniform_at %t, %s, %i : tensor<i64>, tensor<2xi64>, tensor<4xi64> -> tensor<4xf32>
  return
}

// -----

func.func @random_at_index_type(%t: tensor<i64>, %i: tensor<4xi32>) {
  // expected-error @below {{'cleave.random_uniform_at' op operand #2 must be statically shaped tensor of 64-bit signless integer values, of at most 2^63 - 1 bytes, but got 'tensor<4xi32>'}}
  %u = cleave.random_uniform_at %t, %t, %i : tensor<i64>, tensor<i64>, tensor<4xi32> -> tensor<4xf32>
  return
}

// -----

func.func @attention_batch(%q: tensor<2x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) {
  // constraint: cleave.attention: Query, key and value have
  // expected-error @below {{'cleave.attention' op expects query, key and value to agree in batch and heads}}
  // expected-error @below {{failed to infer returned types}}
  %y, %m, %l = cleave.attention %q, %q, %v, scale = 1.0 : (tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<2x2x4x8xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>)
  return
}

// -----

func.func @grad_element(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf16>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>) {
  // constraint: cleave.attention_grad: Query, key and value have
  // expected-error @below {{'cleave.attention_grad' op expects query, key and value of one element type}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %m, %m, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf16>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf16>)
  return
}

// -----

func.func @grad_columns(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>) {
  // constraint: cleave.attention_grad: Query, key and value have
  // expected-error @below {{'cleave.attention_grad' op expects as many keys as values}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %m, %m, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_mask(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %mask: tensor<1x2x3x4xf32>) {
  // constraint: cleave.attention_grad: The mask has rank 4
  // expected-error @below {{'cleave.attention_grad' op expects a mask of rank 4 whose sizes are the scores' [batch, heads, rows, columns] or 1}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v mask %mask, %dy, %m, %m, %m, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x3x4xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_no_fill(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %mask: tensor<1x1x4x4xi1>) {
  // constraint: cleave.attention_grad: The mask is of i1
  // expected-error @below {{'cleave.attention_grad' op expects a fill for a mask of i1}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v mask %mask, %dy, %m, %m, %m, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xi1>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_fill(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %mask: tensor<1x1x4x4xf32>) {
  // constraint: cleave.attention_grad: The mask is of i1
  // expected-error @below {{'cleave.attention_grad' op expects no fill for a mask that is added}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v mask %mask, %dy, %m, %m, %m, scale = 1.0 {fill = 0.0} :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_mask_type(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %mask: tensor<1x1x4x4xf16>) {
  // constraint: cleave.attention_grad: The mask is of i1
  // expected-error @below {{'cleave.attention_grad' op expects a mask of i1 or of the type that scores are computed in}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v mask %mask, %dy, %m, %m, %m, scale = 1.0 :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x4x4xf16>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_rate(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %s: tensor<i64>, %f: tensor<1x2xi64>) {
  // constraint: cleave.attention_grad: `rate` is given if
  // expected-error @below {{'cleave.attention_grad' op expects a rate above 0 and below 1 where there is dropout}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v dropout(%s, %s, %f), %dy, %m, %m, %m, scale = 1.0 {rate = 1.0} :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<1x2xi64>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_rate_alone(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>) {
  // constraint: cleave.attention_grad: `rate` is given if
  // expected-error @below {{'cleave.attention_grad' op expects no rate without dropout}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v, %dy, %m, %m, %m, scale = 1.0 {rate = 0.1} :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_seed(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %s: tensor<1xi64>, %t: tensor<i64>, %f: tensor<1x2xi64>) {
  // constraint: cleave.attention_grad: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention_grad' op expects a seed and a stream that are scalars}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v dropout(%s, %t, %f), %dy, %m, %m, %m, scale = 1.0 {rate = 0.1} :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1xi64>, tensor<i64>, tensor<1x2xi64>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_first(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %dy: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %s: tensor<i64>, %f: tensor<2x2xi64>) {
  // constraint: cleave.attention_grad: `seed`, `stream` and `first`
  // expected-error @below {{'cleave.attention_grad' op expects first indices of the shape [batch, heads]}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %k, %v dropout(%s, %s, %f), %dy, %m, %m, %m, scale = 1.0 {rate = 0.1} :
    (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<i64>, tensor<i64>, tensor<2x2xi64>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
    -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}

// -----

func.func @grad_maximum(%q: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>, %s: tensor<1x2x5xf32>) {
  // constraint: cleave.attention_grad: `result_grad` has the type
  // expected-error @below {{expects maximum, sum and delta of type 'tensor<1x2x4xf32>'; got: 'tensor<1x2x5xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %dq, %dk, %dv = cleave.attention_grad %q, %q, %q, %q, %s, %m, %m, scale = 1.0 : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x5xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
  return
}
