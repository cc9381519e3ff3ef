// `cleave export --outputs` writes only the part of a model that some of its outputs need.
//
//   inputs tokens, labels -> outputs logits, loss      --outputs logits      input tokens -> output logits
//
// Models are trained with their loss as an output, which needs labels. Users of the trained model have none.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_KEPTOUTPUTS_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_KEPTOUTPUTS_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Keeps the named outputs in the order of the model. Removes the other outputs, and then each node, input and
// initializer that no kept output needs. Returns a sentence about the removed inputs and outputs, or an empty string if
// there are none. If a name is not an output of the model, returns a usage error of --outputs.
llvm::Expected<std::string> keepOutputs(onnx::ModelProto &model, llvm::ArrayRef<std::string> names);

} // namespace cleave

#endif
