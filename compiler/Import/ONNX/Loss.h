// Losses in the form that training recognizes: `div(sum, count)`, with the count a constant or computed from the labels
// alone.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_LOSS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_LOSS_H

#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/Proto.h"

namespace cleave::onnx_import {

// The type of the labels that `--loss KIND` adds for predictions of this type; null, with an error added, when it does
// not fit. `mse` takes the predictions' own type. Class losses take i64 of the predictions' shape without the class
// dimension, which is the last one of rank 2 and 3 (samples or tokens) and dimension 1 of higher ranks (images).
mlir::Type labelsTypeFor(llvm::StringRef kind, RankedTensorType predictions, ErrorList &errors);
// The mean loss.
Value emitLoss(Emitter &emit, llvm::StringRef kind, Value predictions, Value labels);

// -logProbabilities[label] for every label: a selection among the classes along `dim`, whose gradient needs no scatter.
Value emitPickedLoss(Emitter &emit, Value logProbabilities, Value labels, int64_t dim);

// The index of the result to minimize. An empty `name` means the output `loss`, or the only scalar floating-point one.
std::optional<size_t> findLoss(const onnx::GraphProto &graph, llvm::ArrayRef<Value> results, llvm::StringRef name,
                               ErrorList &errors);

} // namespace cleave::onnx_import

#endif
