// Converts a graph from training form to the form in which others run it.
//
//   BatchNormalization(x, ..., training_mode=1) -> y, mean, variance     BatchNormalization(x, ...) -> y
//   Dropout(x, ratio, training)                                          Dropout(x, ratio)
//   x * (mask / 0.8) with a random mask                                  x * (0.8 / 0.8)
//
// Exported models are for inference. In training form, another runtime would normalize by the statistics of its own
// batch. `cleave compile --train` accepts the inference form, too.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_INFERENCEFORM_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_INFERENCEFORM_H

#include "compiler/Import/ONNX/File/Proto.h"

#include <string>

namespace cleave {

// Converts the graph, its subgraphs and the model's functions. A BatchNormalization whose new statistics are used is
// not changed. Random masks of the graph are replaced by their expectations (MaskForm.h). Initializers that are not
// read any more are removed, and so is the statement that the file is in training form (ExportSignature.h). Returns a
// sentence about the nodes that still draw random numbers, or an empty string.
std::string setInferenceForm(onnx::ModelProto &model);

} // namespace cleave

#endif
