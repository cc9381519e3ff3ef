// Losses in the form that training recognizes: `div(sum, count)`, with the count a constant or computed from the labels
// alone.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_LOSS_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_LOSS_H

#include "compiler/Import/ONNX/Emitter.h"
#include "compiler/Import/ONNX/File/Proto.h"

namespace cleave::onnx_import {

// The type of the labels that `--loss KIND` adds for predictions of this type; null, with an error added, when it does
// not fit. `mse` takes the predictions' own type. Class losses take i64 of the predictions' shape without `classDim`.
mlir::Type labelsTypeFor(llvm::StringRef kind, RankedTensorType predictions, std::optional<int64_t> classDim,
                         ErrorList &errors);
// The dimension of the classes: the `chosen` one, counted from the end if it is negative. Without a choice it is the
// last one of rank 2 and 3 (samples, or positions of a language model), and dimension 1 of higher ranks (images).
// PyTorch's cross_entropy takes dimension 1 of rank 3, too.
int64_t classDimOf(RankedTensorType predictions, std::optional<int64_t> chosen);
// The mean loss of all labels but those that are `ignored`, which `mse` does not read. 0 / 0 where no label counts.
Value emitLoss(Emitter &emit, llvm::StringRef kind, Value predictions, Value labels, std::optional<int64_t> ignored,
               std::optional<int64_t> classDim);

// The parts of a loss of class labels. A label that is ignored picks no class, weighs nothing and does not count:
//   labels           2, -100, 1       of which -100 is ignored
//   emitCounted      1,    0, 1
//   emitPickable     2,   -1, 1
//   emitPickedLoss   a,    0, b       the loss: (a + 0 + b) / (1 + 0 + 1)

// Which labels count (i1); null where all do.
Value emitCounted(Emitter &emit, Value labels, std::optional<int64_t> ignored);
// An ignored label picks no class: its logarithm may be -inf, which weight 0 would make NaN.
Value emitPickable(Emitter &emit, Value labels, Value counted);
// -logProbabilities[label] for every label: a selection among the classes along `dim`, whose gradient needs no scatter.
Value emitPickedLoss(Emitter &emit, Value logProbabilities, Value labels, int64_t dim);
// What every label weighs: `weights` (null: 1 each, of this type), and 0 where it is not counted. Null where all
// weigh 1.
Value emitLabelWeights(Emitter &emit, Value weights, Value counted, RankedTensorType type);
// sum(losses) / sum(weights): `losses` are those of each label, times its weight (null: all weigh 1).
Value emitMeanLoss(Emitter &emit, Value losses, Value weights);

// The index of the result to minimize. An empty `name` means the output `loss`, or the only scalar floating-point one.
std::optional<size_t> findLoss(const onnx::GraphProto &graph, llvm::ArrayRef<Value> results, llvm::StringRef name,
                               ErrorList &errors);

} // namespace cleave::onnx_import

#endif
