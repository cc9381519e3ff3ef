// What --tie joins must be one weight that was written twice: of unequal ones, one would silently be lost.
#ifndef CLEAVE_COMPILER_DRIVER_TIES_H
#define CLEAVE_COMPILER_DRIVER_TIES_H

#include "compiler/Import/ONNX/File/Weights.h"

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace cleave {

// Checks that the weights of every pair KEPT=TIED are equal, or, where the shapes say so, transposes of each other.
// Names that the model lacks, and other shapes, are left to the pass tie-parameters.
llvm::Error checkTies(const WeightMap &weights, llvm::ArrayRef<std::string> pairs);

} // namespace cleave

#endif
