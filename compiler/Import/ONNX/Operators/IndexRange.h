// Indices are never out of range unnoticed. Those that the file holds are checked when it is read. Kernels that read
// and write by index check the others (kernels/indexing). Two things are noted here, where an operator takes indices:
//
//  - Which numbers an integer input may hold. The runtime checks the data against it before a step begins
//    (runtime/session/IndexRange.h), and names the sample. The range stands on the function's argument that the indices
//    come from: what all of its uses allow. Nothing is noted of computed indices, or where only some of an input's
//    numbers are used (a slice).
//  - Losses are lowered to comparisons, in which a label out of range would silently pick nothing, and a loss be zero.
//    So computed labels pass through a kernel that only checks them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXRANGE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXRANGE_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// The class labels of a loss: 0 to classes - 1, or `ignored`. Where they are all of an input,
// `cleave.labels = [classes]` or `[classes, ignored]` is noted of it; computed ones become those that a kernel has
// checked (cleave.check_index). Those that the file holds are the caller's to check.
Value checkLabels(Emitter &emit, Value labels, int64_t classes, std::optional<int64_t> ignored);
// Positions of a dimension of this size: -size to size - 1. `cleave.indices = [size, other...]`, where the others are
// replaced before they are used: `where(x == other, 0, x)`, as losses do it with labels that are not to be counted.
void noteIndices(Value indices, int64_t size);

} // namespace cleave::onnx_import

#endif
