// Replaces random masks in the ONNX file that `cleave export` writes, as a framework's eval() does.
//
//   before   u = RandomUniformLike(s)    m = Cast(u < 0.8)    y = Mul(x, Div(m, 0.8))
//   after    m = Cast(ConstantOfShape(Shape(s), 0.8))         y = Mul(x, Div(m, 0.8))
//
// Modules that drop whole samples or paths (stochastic depth) are exported as arithmetic on random numbers, which a
// runtime would draw in inference, too. RandomMasks.h of the importer has the same rule for compiled programs. A test
// compares the two.
#ifndef CLEAVE_COMPILER_DRIVER_EXPORT_MASKFORM_H
#define CLEAVE_COMPILER_DRIVER_EXPORT_MASKFORM_H

#include "compiler/Import/ONNX/File/Proto.h"

#include <string>

namespace cleave {

// Replaces each mask that is only used as a factor by its expectation, and removes nodes that only such masks needed.
// Returns a sentence about the nodes that still draw random numbers, or an empty string.
std::string takeExpectedMasks(onnx::GraphProto &graph);

} // namespace cleave

#endif
