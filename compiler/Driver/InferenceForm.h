// A graph as one that trains has it, turned into the form in which others run it.
//
//   BatchNormalization(x, ..., training_mode=1) -> y, mean, variance     BatchNormalization(x, ...) -> y
//   Dropout(x, ratio, training)                                          Dropout(x, ratio)
//   x * (mask / 0.8) with a random mask                                  x * (0.8 / 0.8)
//
// Exports of trained models are for inference: in training form another runtime would normalize by the statistics of
// its own batch. `cleave compile --train` finds what it needs in this form as well.
#ifndef CLEAVE_COMPILER_DRIVER_INFERENCEFORM_H
#define CLEAVE_COMPILER_DRIVER_INFERENCEFORM_H

#include "compiler/Import/ONNX/File/Proto.h"

#include <string>

namespace cleave {

// In the graph, its subgraphs and the model's functions. A BatchNormalization whose new statistics are used stays as it
// is. Random masks of the graph become their expectations (MaskForm.h). Returns a sentence about the nodes that draw
// random numbers all the same; empty where there are none. Initializers that nothing reads any more are gone.
std::string setInferenceForm(onnx::ModelProto &model);

} // namespace cleave

#endif
