// Replaces inputs from which a graph only reads a size.
//
//   before   n = Shape(labels)[0]    logits = Reshape(x, [n, -1])       inputs x [batch, 8], labels [batch]
//   after    n = Shape(x)[0]         logits = Reshape(x, [n, -1])       labels is not needed any more
//
// torch.export writes the batch size as a `Shape` of any input that has it, often of the labels. In ONNX, a symbol is
// one size in the whole graph, so another input with the same symbol gives the same number.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_SIZESOURCES_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_SIZESOURCES_H

#include "compiler/Import/ONNX/File/Proto.h"

namespace cleave {

// Changes each `Shape` node that is the only use of an input, if the outputs need another input with the same symbols.
// All other nodes are kept, even if they are not needed any more.
void takeSizesOfNeededInputs(onnx::GraphProto &graph);

} // namespace cleave

#endif
