// `cleave export --outputs`: the part of a model that some of its outputs need.
//
//   inputs tokens, labels -> outputs logits, loss      --outputs logits      input tokens -> output logits
//
// Models are trained with their loss as an output, which needs labels. Whoever runs the trained model has none.
#ifndef CLEAVE_COMPILER_DRIVER_KEPTOUTPUTS_H
#define CLEAVE_COMPILER_DRIVER_KEPTOUTPUTS_H

#include "compiler/Import/ONNX/File/Proto.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace cleave {

// Keeps the named outputs in the order of the model, and drops the other outputs, then each node, input and initializer
// that no kept output needs. Returns a sentence about the inputs and outputs that are gone; empty where all stay.
// A name that is no output of the model is an error of the option --outputs.
llvm::Expected<std::string> keepOutputs(onnx::ModelProto &model, llvm::ArrayRef<std::string> names);

} // namespace cleave

#endif
