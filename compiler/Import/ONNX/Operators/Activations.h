// Builds activation functions that several operators use.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ACTIVATIONS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_ACTIVATIONS_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Returns log(1 + e^x), without overflow, and without losing small results.
Value emitSoftplus(Emitter &emit, Value x);

// Returns log(p) of a probability p that the graph has just computed from its scores: a sigmoid, one minus a sigmoid,
// or a softmax. Returns null for any other value. If p underflows, log(p) would be -inf and its gradient NaN. The
// returned value and its gradient stay finite.
Value emitLogProbability(Emitter &emit, Value probability);

} // namespace cleave::onnx_import

#endif
