// Builds losses in the form that training recognizes: `div(sum, count)`. The count is a constant, or computed only from
// the labels.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_LOSS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_LOSS_H

#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/File/Proto.h"

namespace cleave::onnx_import {

// Returns the type of the labels that `--loss KIND` adds for predictions of this type. If the kind does not fit them,
// adds an error and returns null. `mse` uses the predictions' own type. Class losses use i64 and the predictions' shape
// without `classDim`.
mlir::Type labelsTypeFor(llvm::StringRef kind, RankedTensorType predictions, std::optional<int64_t> classDim,
                         ErrorList &errors);
// Returns the dimension of the classes. This is `chosen`, counted from the end if it is negative. Without a choice, it
// is the last dimension for rank 2 and 3 (samples, or positions of a language model), and dimension 1 for higher ranks
// (images). PyTorch's cross_entropy uses dimension 1 for rank 3, too.
int64_t classDimOf(RankedTensorType predictions, std::optional<int64_t> chosen);
// Returns the mean loss of all labels except those that equal `ignored`, which `mse` does not use. The result is 0 / 0
// if no label counts.
Value emitLoss(Emitter &emit, llvm::StringRef kind, Value predictions, Value labels, std::optional<int64_t> ignored,
               std::optional<int64_t> classDim);

// The parts of a loss of class labels. An ignored label picks no class, has weight 0 and does not count:
//   labels           2, -100, 1       of which -100 is ignored
//   emitCounted      1,    0, 1
//   emitPickable     2,   -1, 1
//   emitPickedLoss   a,    0, b       the loss: (a + 0 + b) / (1 + 0 + 1)

// Returns which labels count (i1), or null if all count.
Value emitCounted(Emitter &emit, Value labels, std::optional<int64_t> ignored);
// Replaces ignored labels, so that they pick no class. The logarithm of a class may be -inf, and weight 0 would make it
// NaN.
Value emitPickable(Emitter &emit, Value labels, Value counted);
// Returns -logProbabilities[label] for every label. It is a selection among the classes along `dim`, so its gradient
// needs no scatter.
Value emitPickedLoss(Emitter &emit, Value logProbabilities, Value labels, int64_t dim);
// Returns the weight of every label: its entry in `weights` (null: 1 each, of this type), or 0 if the label does not
// count. Returns null if all weights are 1.
Value emitLabelWeights(Emitter &emit, Value weights, Value counted, RankedTensorType type);
// Returns sum(losses) / sum(weights). `losses` has the loss of each label times its weight (null weights: all are 1).
Value emitMeanLoss(Emitter &emit, Value losses, Value weights);

// Returns the index of the result to minimize. If `name` is empty, this is the output `loss`, or the only scalar
// floating-point output.
std::optional<size_t> findLoss(const onnx::GraphProto &graph, llvm::ArrayRef<Value> results, llvm::StringRef name,
                               ErrorList &errors);

} // namespace cleave::onnx_import

#endif
