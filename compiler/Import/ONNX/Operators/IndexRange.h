// Ensures that indices out of range are reported. Indices in the file are checked when it is read, and kernels that
// read and write by index check the others (kernels/indexing). In addition, operators that take indices note two things
// here:
//
// - The numbers that an integer input may contain. The runtime checks the data against this range before a step begins
//   (runtime/session/IndexRange.h), and names the sample. The range is an attribute of the function's argument, and
//   contains the numbers that all of its uses permit. Nothing is noted for computed indices, or if only a part of an
//   input is used (a slice).
// - Losses are lowered to comparisons. A label out of range would match no class, and its loss would be zero without an
//   error. So computed labels pass through a kernel that only checks them.
#ifndef CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXRANGE_H
#define CLEAVE_COMPILER_IMPORT_ONNX_OPERATORS_INDEXRANGE_H

#include "compiler/Import/ONNX/Emitter.h"

namespace cleave::onnx_import {

// Checks the class labels of a loss: 0 to classes - 1, or `ignored`. If the labels are a whole input, `cleave.labels =
// [classes]` or `[classes, ignored]` is added to it. For computed labels, returns the result of a kernel that checks
// them (cleave.check_index). If the labels are in the file, the caller must check them.
Value checkLabels(Emitter &emit, Value labels, int64_t classes, std::optional<int64_t> ignored);
// Notes that positions in a dimension of this size must be in -size to size - 1, as `cleave.indices = [size,
// other...]`. The other numbers are permitted, too: they are replaced before use, `where(x == other, 0, x)`. Losses do
// this with ignored labels. In ONNX, negative indices count from the end. If `refusesNegative`, they do not: the
// positions must be in 0 to size - 1, as `cleave.rows = [size, other...]`.
void noteIndices(Value indices, int64_t size, bool refusesNegative);
// True if the call of PyTorch that the node stands for refuses negative indices: an embedding, gather or index_select.
bool refusesNegativeIndices(const onnx::NodeProto &node);

} // namespace cleave::onnx_import

#endif
