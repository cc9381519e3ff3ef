// Random masks in the ONNX file that `cleave export` writes: what a framework's eval() makes of them.
//
//   before   u = RandomUniformLike(s)    m = Cast(u < 0.8)    y = Mul(x, Div(m, 0.8))
//   after    m = Cast(ConstantOfShape(Shape(s), 0.8))         y = Mul(x, Div(m, 0.8))
//
// Modules that drop whole samples or paths (stochastic depth) are exported as arithmetic on random numbers, which a
// framework would draw in inference too. RandomMasks.h of the importer has the same rule for compiled programs; a test
// compares the two.
#ifndef CLEAVE_COMPILER_DRIVER_MASKFORM_H
#define CLEAVE_COMPILER_DRIVER_MASKFORM_H

#include "compiler/Import/ONNX/File/Proto.h"

#include <string>

namespace cleave {

// Replaces each mask that is a factor, and nothing else, by its expectation. Nodes that only such masks needed go.
// Returns a sentence about the nodes that still draw random numbers; empty where there are none.
std::string takeExpectedMasks(onnx::GraphProto &graph);

} // namespace cleave

#endif
