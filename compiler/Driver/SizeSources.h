// Sizes that a graph reads off an input of which it needs nothing else.
//
//   before   n = Shape(labels)[0]    logits = Reshape(x, [n, -1])       inputs x [batch, 8], labels [batch]
//   after    n = Shape(x)[0]         logits = Reshape(x, [n, -1])       labels is needed no more
//
// torch.export writes the size of the batch as a `Shape` of any input that has it, often of the labels. In ONNX, one
// symbol is one size in the whole graph, so another input with the same symbol gives the same number.
#ifndef CLEAVE_COMPILER_DRIVER_SIZESOURCES_H
#define CLEAVE_COMPILER_DRIVER_SIZESOURCES_H

#include "compiler/Import/ONNX/File/Proto.h"

namespace cleave {

// Rewrites each `Shape` node that alone keeps an input, where the outputs need another input with the same symbols. All
// other nodes stay as they are. Nodes that nothing needs any more stay, too.
void takeSizesOfNeededInputs(onnx::GraphProto &graph);

} // namespace cleave

#endif
