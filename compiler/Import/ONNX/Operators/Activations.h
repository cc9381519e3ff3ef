// Activation functions that other operators are rewritten to.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ACTIVATIONS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ACTIVATIONS_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// log(1 + e^x), which neither overflows nor loses small results.
Value emitSoftplus(Emitter &emit, Value x);

// log(p) of a probability p that the graph has just computed, from its scores: a sigmoid, one minus a sigmoid, a
// softmax. Null for any other value. Where p underflows, log(p) is -inf and its gradient NaN; these are neither.
Value emitLogProbability(Emitter &emit, Value probability);

} // namespace cleave::onnx_import

#endif
