// Makes neighbouring accesses of a thread recognizable to LLVM's load-store vectorizer.
//
// If an index has 32 bits and an address 64, the second of four neighbours is at ext(x + 1). LLVM takes the constant
// out of it (separate-const-offset-from-gep) by extending each term of x by itself, but leaves the first neighbour at
// ext(x). Then the two have no common base, and 16 bytes are read by three loads. Here both get the base ext(x), and
// the rest is a constant.
#ifndef CLEAVE_COMPILER_CODEGEN_CUDA_CONSTANTOFFSETS_H
#define CLEAVE_COMPILER_CODEGEN_CUDA_CONSTANTOFFSETS_H

#include "llvm/IR/Function.h"

namespace cleave {

// Rewrites an address (base + ext(x + constant)) to ((base + ext(x)) + constant) if the sum does not overflow.
void splitConstantOffsets(llvm::Function &function);

} // namespace cleave

#endif
