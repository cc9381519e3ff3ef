// Which numbers an integer input may hold, as the operators that use it as indices say. The runtime checks the data
// against it (runtime/train/IndexRange.h): some operators are lowered to comparisons, in which a number out of range
// would silently pick nothing, and a loss be zero.
//
// The range stands on the function's argument that the indices come from: what all of its uses allow. Nothing is noted
// where they are computed, or where only some of them are used (a slice).
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_INDEXRANGE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_INDEXRANGE_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Class labels of a loss: 0 to classes - 1, or `ignored`. `cleave.labels = [classes]` or `[classes, ignored]`.
void noteLabels(Value labels, int64_t classes, std::optional<int64_t> ignored);
// Positions of a dimension of this size: -size to size - 1. `cleave.indices = [size, other...]`, where the others are
// replaced before they are used: `where(x == other, 0, x)`, as losses do it with labels that are not to be counted.
void noteIndices(Value indices, int64_t size);

} // namespace cleave::onnx_import

#endif
